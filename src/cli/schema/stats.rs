//! The report of `stats`.

use serde_json::Value;

use super::build::{
    Form, Key, Schema, count, counts, counts_or_null, from_one, key, list, object, one_of, or_null,
    share, text, to,
};
use super::common::{
    EXAMINING, conversation_id, coverage, estimator, examined, not_read, policy, policy_key,
    run_timings, usage, version,
};
use super::words::{every, words};
use crate::error::Result;
use crate::policy::Compare;
use crate::transcript::{BlockKind, Role};

pub(super) fn schema(form: Form) -> Result<Schema> {
    let mut head = version();
    let mut totals = counts([
        ("files", "All inputs."),
        ("counted", "Files that were counted."),
        ("unsupported", "Files whose format is not supported."),
        ("failed", "Files that could not be read."),
    ]);
    totals.extend(counted(Of::All));
    head.extend([
        policy_key(),
        key(
            "estimator",
            estimator(),
            "The estimator that counted the tokens.",
        ),
        key(
            "threshold",
            or_null(count()),
            "The tokens above which the policy summarises, or null.",
        ),
        key(
            "thresholds",
            thresholds(),
            "The limits of the policy; null where their layer is off.",
        ),
        key("top", count(), "The most consumers that are named."),
        key("totals", object(totals), "Sums over all files."),
        not_read(),
        run_timings(&EXAMINING),
    ]);
    let mut file = examined(&["counted"])?;
    file.extend(counted(Of::One));
    file.push(key(
        "conversations",
        list(to("conversation")),
        "Conversations with messages, in the order of the transcript.",
    ));
    let schema = Schema {
        title: "ctxpack stats",
        about: "What stats has counted: ctxpack help measuring.",
        root: Value::Null,
        parts: vec![
            policy()?,
            ("share", share_of_blocks()),
            ("estimates", estimates()),
            ("window", window()),
            ("results", results()),
            ("turn", turn()),
            ("conversation", conversation()),
        ],
    };
    let files = ("files", "One entry per input, in path order.");
    Ok(schema.of_entries(form, files, ("file", object(file)), head))
}

/// Whether one input or all of them were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    One,
    All,
}

fn thresholds() -> Value {
    let mut keys = counts_or_null([(
        "trigger",
        "The live tokens that make it summarise, by `compare`.",
    )]);
    keys.push(compare());
    keys.extend(counts_or_null([
        (
            "min_savings",
            "The fewest tokens that a summary must save; 0 for no limit.",
        ),
        ("target", "The most live tokens of the result."),
    ]));
    let about = "The same in percent of the live tokens before; it wins over `target`.";
    keys.push(key("target_percent", or_null(share()), about));
    keys.extend(counts_or_null([
        (
            "offload",
            "The live tokens that make it offload, by `compare`.",
        ),
        ("demote", "A result with more tokens is demoted."),
        ("clear", "An old result with more tokens is cleared."),
        (
            "clear_chars",
            "In characters: an old result with more is cleared, if it is also over `clear`.",
        ),
        (
            "clear_keep",
            "How many of the newest results are never cleared.",
        ),
    ]));
    object(keys)
}

fn compare() -> Key {
    let about = "Whether a limit of live tokens is reached only by more tokens than it (`>`), or already by as many (`>=`).";
    key("compare", one_of(words::<Compare>()), about)
}

/// The counts for an input, or for all inputs.
fn counted(of: Of) -> Vec<Key> {
    let live = object(counts([
        ("conversations", "Conversations that have messages."),
        ("messages", "Their messages."),
        (
            "turns",
            "Typed messages, without summaries of earlier compactions.",
        ),
        ("tokens", "Tokens, as compact reports them."),
        ("bytes", "Bytes of their lines, without mirrors."),
    ]));
    let dead = object(counts([
        ("lines", "Lines."),
        ("bytes", "Their bytes."),
        ("tokens", "Tokens of their blocks."),
    ]));
    let mirrors = object(counts([
        ("lines", "Lines that contain nothing else."),
        ("bytes", "Their bytes, and those of mirrors on live lines."),
    ]));
    vec![
        key("bytes", count(), "Bytes, unpacked."),
        key(
            "live",
            live,
            "What a model would see now: all live windows together.",
        ),
        key("dead", dead, "Message lines outside of every live window."),
        key(
            "mirrors",
            mirrors,
            "Copies of results for a viewer, which no model sees.",
        ),
        key(
            "coverage",
            coverage(),
            "How much of the lines and of the calls is understood.",
        ),
        key(
            "roles",
            list(to("share")),
            "Live tokens by role, the largest first.",
        ),
        key(
            "blocks",
            list(to("share")),
            "Live tokens by kind of block, the largest first.",
        ),
        key(
            "tools",
            list(tool()),
            "Live tokens of calls and results by the tool's name, the largest first.",
        ),
        key(
            "paths",
            list(path()),
            "Live tokens of calls and results by the path that a call names, the largest first.",
        ),
        key(
            "largest",
            list(consumer(of)),
            "The largest live blocks, the largest first.",
        ),
        key(
            "estimates",
            to("estimates"),
            "Live tokens by each estimator.",
        ),
        key(
            "presets",
            list(preset()),
            "The live windows as presets count them.",
        ),
    ]
}

fn share_of_blocks() -> Value {
    let mut keys = vec![key("name", text(), "The role, or the kind of block.")];
    keys.extend(counts([("blocks", "Blocks."), ("tokens", "Their tokens.")]));
    object(keys)
}

fn tool() -> Value {
    let mut keys = vec![key("name", text(), "The tool's name.")];
    keys.extend(counts([
        ("calls", "Calls."),
        ("call_tokens", "Tokens of the calls."),
        ("results", "Results."),
        ("result_tokens", "Tokens of the results."),
        ("failed", "Results that report a failure."),
    ]));
    object(keys)
}

fn path() -> Value {
    let mut keys = vec![key("name", text(), "The path.")];
    keys.extend(counts([
        ("reads", "Calls that read it."),
        ("edits", "Calls that write it or change a part of it."),
        ("call_tokens", "Tokens of these calls."),
        ("result_tokens", "Tokens of their results."),
    ]));
    object(keys)
}

fn consumer(of: Of) -> Value {
    let kinds = every!(BlockKind.name: Text Image Document Thinking Redacted Call Result Server Attachment Other);
    // Results and attachments are counted separately from the roles of the messages that contain them.
    let roles = every!(Role.name: System User Assistant Tool);
    let apart = [BlockKind::Result.name(), BlockKind::Attachment.name()];
    let roles = roles.into_iter().filter(|role| *role != Role::Tool.name());
    let mut keys = match of {
        Of::One => Vec::new(),
        Of::All => vec![key("path", text(), "Its file.")],
    };
    keys.extend([
        key("line", from_one(), "Its line."),
        conversation_id("conversation"),
        key("message", from_one(), "Its message in that conversation."),
        key("role", one_of(roles.chain(apart)), "Its role."),
        key("kind", one_of(kinds), "Its kind of block."),
        key(
            "tool",
            or_null(text()),
            "The tool that was called, or null.",
        ),
        key("tokens", count(), "Its tokens."),
        key(
            "hint",
            or_null(text()),
            "The path that the call names, or the first words of its command.",
        ),
    ]);
    object(keys)
}

fn estimates() -> Value {
    object(counts_or_null([
        (
            "chars",
            "One token for four characters; null if it did not count.",
        ),
        (
            "classes",
            "Characters weighed by class; null if it did not count.",
        ),
        (
            "o200k_base",
            "The vocabulary of newer models; null if it did not count.",
        ),
        (
            "cl100k_base",
            "The vocabulary of older models; null if it did not count.",
        ),
    ]))
}

fn preset() -> Value {
    object(vec![
        key("policy", text(), "The preset's name."),
        key("estimator", estimator(), "What it counts tokens with."),
        key(
            "tokens",
            or_null(count()),
            "Live tokens; null if it did not count.",
        ),
        key(
            "threshold",
            or_null(count()),
            "The live tokens that make it summarise, by `compare`; null if nothing does.",
        ),
        compare(),
        key(
            "over",
            or_null(count()),
            "How many conversations it would summarise; null if it did not count.",
        ),
    ])
}

fn conversation() -> Value {
    let standing = object(vec![
        key(
            "trigger",
            to("window"),
            "By the threshold; null if there is none.",
        ),
        key(
            "target",
            to("window"),
            "By the target; null if there is none.",
        ),
        key(
            "offload",
            to("window"),
            "By the limit of offloading; null if there is none.",
        ),
        key(
            "demote",
            to("results"),
            "By the limit of demoting; null if there is none.",
        ),
        key(
            "clear",
            to("results"),
            "By the limit of clearing; null if there is none.",
        ),
    ]);
    let mut keys = vec![conversation_id("id")];
    keys.extend(counts([
        ("messages", "Its messages."),
        ("turns", "Typed messages."),
        ("tokens", "Its tokens."),
    ]));
    keys.extend([
        key(
            "usage",
            usage(),
            "What the provider counted, if enough requests are recorded.",
        ),
        key(
            "estimates",
            to("estimates"),
            "Its tokens by each estimator.",
        ),
        key(
            "standing",
            standing,
            "How it compares with the limits of the policy.",
        ),
        key("timeline", list(to("turn")), "How it grew."),
        key(
            "compactions",
            list(recorded_compaction()),
            "The agent's own compactions whose summaries are in the window.",
        ),
    ]);
    object(keys)
}

fn recorded_compaction() -> Value {
    object(vec![
        key("line", from_one(), "The line of its summary."),
        key("turn", count(), "The turn that its summary is a part of."),
        key(
            "context",
            count(),
            "Tokens of the window up to its summary.",
        ),
    ])
}

fn window() -> Value {
    or_null(object(vec![
        key("limit", count(), "The limit, in tokens."),
        since(),
    ]))
}

fn results() -> Value {
    or_null(object(vec![
        key("limit", count(), "The limit, in tokens of one result."),
        key("results", count(), "How many results are over it."),
        since(),
    ]))
}

fn since() -> Key {
    let about = "The first turn that is over it, or null.";
    key("since", or_null(count()), about)
}

fn turn() -> Value {
    object(vec![
        key(
            "turn",
            count(),
            "Its number, from 1; 0 is what comes before the first typed message.",
        ),
        key("line", from_one(), "The line on which it begins."),
        key("messages", count(), "Its messages."),
        key("tokens", count(), "What it added to the window."),
        key("context", count(), "The window at its end."),
        key(
            "recorded",
            or_null(count()),
            "The tokens of the request for its last answer, as the provider counted them.",
        ),
    ])
}
