//! Anthropic messages, one message or one conversation per line.

mod line;

use super::{Dialect, Plain, ToolNames};
use crate::format::detect::Part;
use crate::format::shapes::blocks;
use crate::format::{Format, Opening, Summaries};
use crate::scan::{Cursor, Parse};
use crate::transcript::{LineKind, Record};
use crate::verify::anthropic::{self, Sender};
use crate::verify::{Findings, Provider};

/// The dialect.
pub(in crate::format) struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn understands(&self, part: Part<'_>) -> bool {
        blocks::understands(part)
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        line::line(c, record)
    }

    fn summaries(&self) -> Summaries {
        Summaries::Message(Opening::User)
    }

    fn provider(&self) -> Option<Provider> {
        Some(Provider::Anthropic)
    }

    fn plain(&self) -> Plain {
        Plain::Objects(Format::Anthropic)
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.unreadable_lines();
        findings.conversations(|f, c| anthropic::check(f, c, Sender::Api));
    }

    /// The commands of the editor tool that the API itself defines.
    fn tools(&self) -> ToolNames {
        ToolNames {
            read: &["view"],
            write: &["create"],
            edit: &["str_replace", "str_replace_based_edit_tool"],
            steering: &["compact", "think"],
            ..ToolNames::default()
        }
    }
}
