//! OpenAI chat completions: one message or one conversation per line.

mod line;

use super::{Dialect, Plain, ToolNames};
use crate::format::detect::Part;
use crate::format::{Format, Opening, Summaries};
use crate::scan::{Cursor, Parse};
use crate::transcript::{LineKind, Record};
use crate::verify::{Findings, Provider, openai};

/// The dialect.
pub(in crate::format) struct OpenAi;

impl Dialect for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn understands(&self, part: Part<'_>) -> bool {
        match part {
            Part::Role(role) => matches!(
                role,
                b"user" | b"assistant" | b"system" | b"developer" | b"tool" | b"function"
            ),
            Part::CallKey(key) => matches!(key, "tool_calls" | "tool_call_id" | "function_call"),
            Part::Block(kind) => matches!(
                kind,
                b"text"
                    | b"refusal"
                    | b"input_text"
                    | b"output_text"
                    | b"image"
                    | b"image_url"
                    | b"input_image"
                    | b"document"
                    | b"file"
            ),
            Part::BareString | Part::ObjectResult => true,
            Part::ObjectContent | Part::Piece => false,
        }
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        line::line(c, record)
    }

    fn summaries(&self) -> Summaries {
        Summaries::Message(Opening::Any)
    }

    fn provider(&self) -> Option<Provider> {
        Some(Provider::OpenAi)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.unreadable_lines();
        findings.conversations(openai::check);
    }

    /// The API has no tools of its own; these are tools of agents that write such files.
    fn tools(&self) -> ToolNames {
        ToolNames {
            shell: &["run_terminal_cmd"],
            read: &["read_file"],
            write: &["write_file"],
            edit: &["edit_file"],
            ..ToolNames::default()
        }
    }

    fn plain(&self) -> Plain {
        Plain::Objects(Format::OpenAi)
    }
}
