//! What `verify` prints for programs: a line for each rule that is broken in one place.

use super::build::{Schema, from_one, key, object, one_of, text};
use super::common::conversation_id;
use super::words::every;
use crate::verify::Rule;

pub(super) fn schema() -> Schema {
    let rules = every!(Rule.name:
        MissingResult OrphanResult DuplicateCall DuplicateResult InvalidId ResultsNotFirst MissingServerResult
        OrphanServerResult ArgumentsNotString EmptyText EmptyMessage UnsignedThinking ThinkingLast ThinkingNotFirst
        FirstNotUser LastNotUser MisplacedSystem InvalidJson NoConversation ChainParentMissing ChainBroken BoundaryAlone
        SummaryNotSent SummaryMalformed PreservedMissing DuplicateUuid LeafMissing HeaderMissing ContentNotList UsageMissing
    );
    let root = object(vec![
        key("path", text(), "The input; `-` is standard input."),
        key("line", from_one(), "The line."),
        key("rule", one_of(rules), "The rule's stable name."),
        key(
            "severity",
            one_of(["error", "warning"]),
            "Whether the exit code is 1 for it.",
        ),
        conversation_id("conversation"),
        key(
            "id",
            text(),
            "The id of the call, or the uuid of the line, that it is about; empty where there is none.",
        ),
        key("message", text(), "The same for people."),
    ]);
    Schema {
        title: "ctxpack verify",
        about: "A rule of a provider that a history breaks: a line of verify --json.",
        root,
        parts: Vec::new(),
    }
}
