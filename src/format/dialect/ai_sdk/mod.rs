//! Model messages of the Vercel AI SDK, one per line.

mod line;
mod rules;

use super::{Dialect, Plain};
use crate::format::detect::Part;
use crate::format::{Format, Opening, Summaries};
use crate::scan::{Cursor, Parse};
use crate::transcript::{LineKind, Record};
use crate::verify::{Findings, Provider};

/// The dialect.
pub(in crate::format) struct AiSdk;

impl Dialect for AiSdk {
    fn name(&self) -> &'static str {
        "ai-sdk"
    }

    fn understands(&self, part: Part<'_>) -> bool {
        match part {
            Part::Role(role) => matches!(role, b"user" | b"assistant" | b"system" | b"tool"),
            Part::Block(kind) => matches!(
                kind,
                b"text" | b"reasoning" | b"image" | b"file" | b"tool-call" | b"tool-result"
            ),
            Part::ObjectResult => true,
            Part::CallKey(_) | Part::BareString | Part::ObjectContent | Part::Piece => false,
        }
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        line::line(c, record)
    }

    fn summaries(&self) -> Summaries {
        Summaries::Message(Opening::Any)
    }

    fn provider(&self) -> Option<Provider> {
        Some(Provider::AiSdk)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.unreadable_lines();
        findings.conversations(rules::check);
    }

    fn plain(&self) -> Plain {
        Plain::Objects(Format::AiSdk)
    }
}
