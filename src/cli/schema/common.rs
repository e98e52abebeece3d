//! The common parts of reports of several commands: the policy, errors, what was not read, the entry of an input.
//!
//! Knows nothing about commands.

use serde_json::{Value, json};

use super::build::{
    Key, amount, count, counts, from_one, key, list, object, object_told_by, one_of, or_null, part,
    text, text_like, to,
};
use super::words::{Table, every, words};
use crate::batch::SkipReason;
use crate::cli::topics::Topic;
use crate::error::{ErrorKind, Result};
use crate::outcome::{Phase, Rejection};
use crate::policy::{Method, ToolKind};

/// The first keys of every report.
pub(super) fn version() -> Vec<Key> {
    vec![
        key(
            "schema_version",
            json!({"const": 1}),
            "It rises when a field changes its meaning or is removed.",
        ),
        key("version", text(), "The version of ctxpack."),
    ]
}

/// The policy in effect.
pub(super) fn policy() -> Result<(&'static str, Value)> {
    let setting = object(vec![
        key("key", text(), "The key's full name, such as `clear.keep`."),
        key("value", json!({}), "The value in force."),
        key(
            "origin",
            text_like("^(flag|library|eval|replay|diff|env .+|file .+)$"),
            "Where it was set: `flag`, `env NAME`, `file PATH`, or the command that sets it.",
        ),
    ]);
    let keys = vec![
        key("name", text(), ""),
        key("hash", text_like(r"^[0-9a-f]{32}( \+ [0-9a-f]{32})*$"), ""),
        key("overrides", list(setting), ""),
    ];
    let table = Table::of(Topic::Reports, "policy")?;
    Ok(("policy", object_told_by(&table, keys)))
}

/// What was not read, if anything.
pub(super) fn not_read() -> Key {
    let skipped = every!(SkipReason.kind: FolderLink Store NoFile BrokenLink SameFile OtherExtension Output Excluded Ignored Older Newer OtherProject NotDegraded Vanished ToPrune Pruned VanishedButChanged);
    let entry = object(vec![
        key(
            "kind",
            one_of(skipped.into_iter().chain(["unsupported"])),
            "Why it was not read.",
        ),
        key(
            "format",
            text(),
            "The format, of files whose format is not supported.",
        )
        .sometimes(),
        key(
            "extension",
            text(),
            "How the names of these files end, if that is why, and an extension.",
        )
        .sometimes(),
        key(
            "count",
            from_one(),
            "How many files, or folders, which count once.",
        ),
        key(
            "examples",
            list(text()),
            "The first of them, in path order, up to 5.",
        ),
    ]);
    let about = "What was not read, one entry per kind; only if there is any.";
    key("not_read", list(entry), about).sometimes()
}

/// How much of the lines and of the calls is understood.
pub(super) fn coverage() -> Value {
    let unknown = object(vec![
        key("tool", text(), "Its name."),
        key("calls", from_one(), "Its calls."),
        key(
            "kind",
            one_of(words::<ToolKind>()),
            "What it does, if that is known: then it is the arguments that are not understood.",
        )
        .sometimes(),
    ]);
    let mut keys = vec![
        key(
            "lines",
            or_null(part()),
            "The part of the lines that is JSON of a known type, to 4 decimals; null without lines.",
        ),
        key(
            "calls",
            or_null(part()),
            "The part of the calls that is understood, to 4 decimals; null without calls.",
        ),
    ];
    keys.extend(counts([
        ("lines_read", "Lines of a known type."),
        ("lines_total", "All lines."),
        ("calls_understood", "Calls with a known effect."),
        (
            "calls_total",
            "All calls, each id once, live or not, counted without the format's reader.",
        ),
    ]));
    let about = "The tools whose calls are not understood. Calls that are neither here nor understood are on lines that no reader reads.";
    keys.push(key("unknown", list(unknown), about));
    object(keys)
}

/// Why an input failed, was rejected or was skipped.
pub(super) fn error() -> Value {
    let kinds = words::<ErrorKind>().iter().chain(words::<Rejection>());
    or_null(object(vec![
        key(
            "kind",
            one_of(kinds),
            "The stable name; `ctxpack help errors` explains each.",
        ),
        key("message", text(), "One sentence."),
        key(
            "line",
            or_null(from_one()),
            "The line of the input that caused it, if one did.",
        ),
    ]))
}

/// The name of the token estimator.
pub(super) fn estimator() -> Value {
    one_of(words::<Method>())
}

/// `blake3:` and a hash.
pub(super) fn hash() -> Value {
    text_like("^blake3:[0-9a-f]{64}$")
}

/// The relation to the provider's count, or null.
pub(super) fn usage() -> Value {
    or_null(object(vec![
        key(
            "recorded",
            count(),
            "Tokens that the provider counted last.",
        ),
        key(
            "overhead",
            count(),
            "Tokens that are not in the file: system prompt, tool schemas.",
        ),
        key(
            "factor",
            amount(),
            "The provider's tokens for each estimated one.",
        ),
    ]))
}

/// The first keys of the entry of an input in reports of commands that only examine; `examined` lists the statuses that the command
/// uses.
pub(super) fn examined(examined: &[&str]) -> Result<Vec<Key>> {
    let statuses = examined.iter().chain(&["unsupported", "failed"]);
    Ok(vec![
        key("path", text(), "The input; `-` is standard input."),
        key(
            "format",
            or_null(text()),
            "The detected format (`ctxpack help formats`), or null.",
        ),
        project(),
        last_message(),
        key("status", one_of(statuses), "Whether it was examined."),
        key("error", error(), "Why it could not be read, or null."),
        key("reason", text(), "Why its format is not supported.").sometimes(),
        key(
            "warnings",
            list(warning()?),
            "Lines that could not be read, and what follows from that; only if there are any.",
        )
        .sometimes(),
        timings(&EXAMINING),
    ])
}

/// A warning about an input.
pub(super) fn warning() -> Result<Value> {
    // An enum that contains another one does not have its own list of names.
    let [own, lines] = ["Warnings", "Odd lines"].map(|part| Table::of(Topic::Errors, part));
    let (own, lines) = (own?, lines?);
    Ok(object(vec![
        key(
            "kind",
            one_of(own.names().chain(lines.names())),
            "The stable name; `ctxpack help errors` explains each.",
        ),
        key(
            "line",
            or_null(from_one()),
            "The line, or null for the whole file.",
        ),
        key("message", text(), "One sentence."),
    ]))
}

/// The project of a session.
pub(super) fn project() -> Key {
    let about = "The folder in which the agent worked, as the session names it, or null.";
    key("project", or_null(text()), about)
}

/// The time of a session's last message.
pub(super) fn last_message() -> Key {
    let about = "The last time that the session names, as in RFC 3339 and in UTC, or null.";
    key("last_message", or_null(text()), about)
}

/// The times of the phases of one file.
pub(super) fn timings(of: &[Phase]) -> Key {
    let about = "With `--timings`: the seconds of each phase.";
    key("timings", object(phases(of)), about).sometimes()
}

/// The times of a run.
pub(super) fn run_timings(of: &[Phase]) -> Key {
    let mut keys = vec![key(
        "wall",
        amount(),
        "Seconds from its beginning to its report.",
    )];
    keys.extend(phases(of));
    let about = "With `--timings`: seconds; phases of all files and threads together.";
    key("timings", object(keys), about).sometimes()
}

/// The phases of commands that only examine.
pub(super) const EXAMINING: [Phase; 2] = [Phase::Read, Phase::Examine];

fn phases(of: &[Phase]) -> Vec<Key> {
    let phase = |phase: &Phase| key(phase.name(), amount(), "Seconds.").sometimes();
    of.iter().map(phase).collect()
}

/// A reference to the policy.
pub(super) fn policy_key() -> Key {
    key("policy", to("policy"), "The policy in effect.")
}

/// The id of a conversation.
pub(super) fn conversation_id(name: &'static str) -> Key {
    key(name, text(), "`main`, the id of a sidechain, or `line:7`.")
}
