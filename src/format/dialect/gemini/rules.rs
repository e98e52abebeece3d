//! What the agent requires of a session. It generates ids for calls that have none, and begins every request with a context of its
//! own.

use crate::scan::Value;
use crate::transcript::LineKind;
use crate::verify::{Findings, Rule};

/// Checks that there is a header (in a document, around the messages): the agent reads no session without one.
pub(super) fn session(f: &mut Findings<'_, '_>) {
    let transcript = f.transcript;
    let has_ids = |header: &[u8]| {
        let ids = Value::of(header).fields(["sessionId", "projectHash"]);
        ids.iter().all(|id| id.string().is_some())
    };
    let around = transcript.around_messages();
    let mut lines = (0u32..).zip(transcript.lines());
    let is_header = lines.any(|(number, line)| {
        let may_be = match line.kind {
            LineKind::Session | LineKind::Message | LineKind::Control => true,
            LineKind::Mirror | LineKind::Unknown | LineKind::Bad => false,
        };
        may_be && has_ids(transcript.line(number))
    }) || around.is_some_and(|around| has_ids(&around));
    if !is_header && !transcript.lines().is_empty() {
        f.error(Rule::HeaderMissing, 0, b"");
    }
}
