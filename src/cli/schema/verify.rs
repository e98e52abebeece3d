//! What `verify` prints for programs: one line for each rule violation, and one for each input that was not checked.

use super::build::{Schema, from_one, key, object, one_of, or_null, text};
use super::words::every;
use crate::verify::Rule;

pub(super) fn schema() -> Schema {
    let rules = every!(Rule.name:
        MissingResult OrphanResult DuplicateCall DuplicateResult InvalidId ResultsNotFirst MissingServerResult
        OrphanServerResult ArgumentsNotString MalformedCall MisplacedBlock EmptyText EmptyMessage UnsignedThinking ThinkingLast ThinkingNotFirst
        FirstNotUser LastNotUser MisplacedSystem InvalidJson NoConversation ChainParentMissing ChainBroken BoundaryAlone
        SummaryNotSent SummaryMalformed PreservedMissing DuplicateUuid LeafMissing HeaderMissing ContentNotList UsageMissing
    );
    let root = object(vec![
        key("path", text(), "The input; `-` is standard input."),
        key(
            "line",
            or_null(from_one()),
            "The line; null where the input was not checked.",
        ),
        key(
            "rule",
            one_of(rules.into_iter().chain(["not-checked"])),
            "The rule's stable name; `not-checked` where the input is of no format that ctxpack reads.",
        ),
        key(
            "severity",
            one_of(["error", "warning"]),
            "Whether the exit code is 1 for it.",
        ),
        key(
            "conversation",
            or_null(text()),
            "`main`, the id of a sidechain, or `line:7`; null where the input was not checked.",
        ),
        key(
            "id",
            text(),
            "The id of the call, or the uuid of the line, that it is about; empty where there is none.",
        ),
        key("message", text(), "The finding in words."),
    ]);
    Schema {
        title: "ctxpack verify",
        about: "A rule of a provider that a history breaks, or an input that was not checked: a line of verify --json.",
        root,
        parts: Vec::new(),
    }
}
