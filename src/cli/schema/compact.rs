//! The report of `compact`. `ctxpack help reports` explains the meaning of its keys.

use serde_json::Value;

use super::build::{
    Form, Schema, amount, boolean, count, counts, from_one, key, list, object, object_told_by,
    one_of, or_null, text, to,
};
use super::common::{
    conversation_id, coverage, error, estimator, hash, last_message, not_read, policy, policy_key,
    project, run_timings, timings, usage, version, warning,
};
use super::words::{Table, words};
use crate::cli::topics::Topic;
use crate::error::Result;
use crate::outcome::{
    ActionKind, DegradedKind, Loss, MissReason, OriginalKind, Phase, RestoredFrom, Status, Voice,
};
use crate::policy::{Source, TargetKind};

/// The phases of a compaction.
const PHASES: [Phase; 6] = [
    Phase::Read,
    Phase::Plan,
    Phase::Artifacts,
    Phase::Apply,
    Phase::Verify,
    Phase::Write,
];

pub(super) fn schema(form: Form) -> Result<Schema> {
    let mut head = version();
    head.push(policy_key());
    head.push(
        key(
            "estimate",
            to("estimate"),
            "What a run would ask a server for, in a dry run that would.",
        )
        .sometimes(),
    );
    head.push(key("totals", to("totals"), "Sums over all files."));
    head.push(not_read());
    head.push(run_timings(&PHASES));
    let schema = Schema {
        title: "ctxpack report",
        about: "What compact did: ctxpack help reports.",
        root: Value::Null,
        parts: vec![
            policy()?,
            ("totals", totals()?),
            ("spent", spent()),
            ("estimate", estimate()),
            ("rounds", rounds()),
            ("conversation", conversation()?),
            ("role", role()),
            ("action", action()?),
            ("summary", summary()?),
        ],
    };
    let files = ("files", "One entry per input, in path order.");
    Ok(schema.of_entries(form, files, ("file", file()?), head))
}

fn totals() -> Result<Value> {
    let mut keys = counts([
        ("files", ""),
        ("compacted", "Inputs of this status."),
        ("unchanged", "Inputs of this status."),
        ("failed", "Inputs of this status."),
        ("unsupported", "Inputs of this status."),
        ("skipped", "Inputs of this status."),
        ("rejected", "Inputs of this status."),
        ("degraded", ""),
        ("bytes_before", ""),
        ("bytes_after", ""),
    ]);
    for name in ["stored_before", "stored_after"] {
        keys.push(key(name, count(), "").sometimes());
    }
    keys.extend(counts([
        ("messages_before", ""),
        ("messages_after", ""),
        ("tokens_before", ""),
        ("tokens_after", ""),
        ("tokens_saved", ""),
    ]));
    keys.push(key("ratio", amount(), ""));
    keys.push(key("spent", to("spent"), "").sometimes());
    let left = object(counts([(
        "left",
        "Inputs that are left for the next run; 0 where that is not known, as of a stream.",
    )]));
    keys.push(key("interrupted", left, "").sometimes());
    Ok(object_told_by(&Table::of(Topic::Reports, "totals")?, keys))
}

fn file() -> Result<Value> {
    let original = or_null(object(vec![
        key(
            "kind",
            one_of(words::<OriginalKind>()),
            "The untouched input, or a copy in the store's archive.",
        ),
        key(
            "path",
            text(),
            "Its path as given, or relative to the store.",
        ),
    ]));
    let mut keys = vec![
        key("input", text(), ""),
        key("output", or_null(text()), ""),
        key("format", or_null(text()), ""),
        project(),
        last_message(),
        key("status", one_of(words::<Status>()), ""),
        key("error", error(), ""),
        key("original", original, ""),
        key("findings_before", count(), ""),
        key("findings_after", count(), ""),
        key("hash_before", or_null(hash()), ""),
        key("hash_after", or_null(hash()), ""),
        key("bytes_before", count(), ""),
        key("bytes_after", count(), ""),
        key("stored_before", count(), "").sometimes(),
        key("stored_after", count(), "").sometimes(),
    ];
    keys.extend(counts([
        ("tokens_before", ""),
        ("tokens_after", ""),
        ("messages_before", ""),
        ("messages_after", ""),
    ]));
    keys.extend([
        key("coverage", or_null(coverage()), ""),
        key("degraded", list(degraded()), ""),
        key("warnings", list(warning()?), ""),
        key("conversations", list(to("conversation")), ""),
        timings(&PHASES),
    ]);
    let table = Table::of(Topic::Reports, "An entry of files")?;
    Ok(object_told_by(&table, keys))
}

fn degraded() -> Value {
    object(vec![
        key("kind", one_of(words::<DegradedKind>()), "What failed."),
        key("message", text(), "One sentence."),
    ])
}

fn conversation() -> Result<Value> {
    let mut keys = vec![
        conversation_id("id"),
        key("estimator", estimator(), ""),
        key("usage", usage(), ""),
    ];
    keys.extend(counts([
        ("tokens_before", ""),
        ("tokens_after", ""),
        ("messages_before", ""),
        ("messages_after", ""),
    ]));
    let restored = object(vec![
        key("path", text(), "Its path as the transcript names it."),
        key("tokens", count(), "Tokens of the restored content."),
        key(
            "source",
            one_of(words::<RestoredFrom>()),
            "Where the content came from.",
        ),
    ]);
    keys.extend([
        key("roles", list(to("role")), ""),
        key("threshold", or_null(count()), ""),
        key("target", target(), ""),
        key("reason", text(), ""),
        key("actions", list(to("action")), ""),
        key("summary", or_null(to("summary")), ""),
        key("restored", list(restored), ""),
        key("deleted_files", list(text()), ""),
        key("emitted", emitted(), "").sometimes(),
    ]);
    let table = Table::of(Topic::Reports, "An entry of conversations")?;
    Ok(object_told_by(&table, keys))
}

fn role() -> Value {
    let mut keys = vec![key("role", one_of(words::<Voice>()), "Who said it.")];
    keys.extend(counts([
        ("tokens_before", "Its tokens before."),
        ("tokens_after", "Its tokens after."),
    ]));
    object(keys)
}

fn emitted() -> Value {
    let loss = object(vec![
        key(
            "kind",
            one_of(words::<Loss>()),
            "What the messages do not hold.",
        ),
        key("count", from_one(), "How often."),
    ]);
    object(vec![
        key("messages", count(), "How many were written."),
        key("losses", list(loss), "What they do not hold."),
    ])
}

fn target() -> Value {
    or_null(object(vec![
        key("tokens", count(), "The target, in tokens."),
        key(
            "kind",
            one_of(words::<TargetKind>()),
            "A cap of the user's, or an aim of a preset, which gives way to the user's words.",
        ),
        key("reached", boolean(), "Whether the result is within it."),
        key(
            "reason",
            one_of(words::<MissReason>()),
            "Why an aim was missed, if it was.",
        )
        .sometimes(),
    ]))
}

fn action() -> Result<Value> {
    let keys = vec![
        key("kind", one_of(words::<ActionKind>()), "What was done."),
        key("line", from_one(), "The line of the input."),
        key(
            "message",
            count(),
            "The message in the conversation; 0 for lines that are not part of one.",
        ),
        key("tool", or_null(text()), ""),
        key("reason", text(), ""),
        key("tokens_before", count(), ""),
        key("tokens_after", count(), ""),
    ];
    let table = Table::of(Topic::Reports, "An entry of actions")?;
    Ok(object_told_by(&table, keys))
}

fn summary() -> Result<Value> {
    let mut keys = vec![
        key(
            "source",
            one_of(words::<Source>()),
            "The summariser that the policy asks for.",
        ),
        key("model", or_null(text()), "The model, if one was asked."),
        key("success", boolean(), ""),
    ];
    keys.extend(counts([
        ("messages", ""),
        ("preserved_messages", ""),
        ("tokens", ""),
        ("attempts", ""),
    ]));
    keys.push(key(
        "fallback",
        or_null(one_of(["extractive", "last_turns", "prune"])),
        "",
    ));
    keys.push(key("error", text(), "").sometimes());
    keys.extend(counts([
        ("invented", ""),
        ("sentences_dropped", ""),
        ("cut_moved", ""),
        ("user_verbatim", ""),
        ("user_clipped", ""),
    ]));
    keys.push(key("rounds", to("rounds"), "").sometimes());
    let narrative = object(counts([
        ("tokens", "Its size."),
        ("citations", "Lines that it cites rightly."),
        (
            "citations_removed",
            "Citations of lines that were taken out.",
        ),
    ]));
    keys.push(key("narrative", narrative, "").sometimes());
    keys.push(key("spent", to("spent"), "").sometimes());
    Ok(object_told_by(&Table::of(Topic::Reports, "summary")?, keys))
}

fn rounds() -> Value {
    object(counts([
        ("all", "Rounds that the summary replaces."),
        ("read", "Rounds that the model has read."),
        ("parts", "In how many parts they were sent."),
        (
            "shortened",
            "Rounds of which only the beginnings and the ends of long outputs were sent.",
        ),
    ]))
}

fn estimate() -> Value {
    let mut keys = counts([
        ("requests", "Requests that would be sent."),
        ("input_tokens", "Their tokens, estimated."),
        ("output_tokens", "The most tokens of their answers."),
    ]);
    let price = key(
        "price",
        amount(),
        "The most that they cost, by the prices given.",
    );
    keys.push(price.sometimes());
    object(keys)
}

fn spent() -> Value {
    object(counts([
        ("requests", "Requests that were sent."),
        ("cached", "Answers that were found in the store."),
        ("input_tokens", "Input tokens as the provider counted them."),
        (
            "output_tokens",
            "Output tokens as the provider counted them.",
        ),
    ]))
}
