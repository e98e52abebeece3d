//! The report of `replay`.

use serde_json::Value;

use super::build::{
    Form, Key, Schema, count, counts, from_one, key, list, object, one_of, or_null, text, to,
};
use super::common::{
    EXAMINING, conversation_id, estimator, examined, not_read, policy, run_timings, version,
};
use super::words::words;
use crate::error::Result;
use crate::policy::Layer;
use crate::replay::Verdict;

pub(super) fn schema(form: Form) -> Result<Schema> {
    let mut head = version();
    head.extend([
        key(
            "policies",
            list(to("policy")),
            "The policies, in the order in which each session has them.",
        ),
        key(
            "estimator",
            estimator(),
            "The estimator that counted tokens for all policies.",
        ),
        key("totals", totals(), "Sums over all files."),
        not_read(),
        run_timings(&EXAMINING),
    ]);
    let mut file = examined(&["replayed"])?;
    file.push(key(
        "sessions",
        list(to("session")),
        "Its sessions, in the order of the transcript.",
    ));
    let schema = Schema {
        title: "ctxpack replay",
        about: "What policies would have done to recorded sessions: ctxpack help measuring.",
        root: Value::Null,
        parts: vec![
            policy()?,
            ("figures", figures()),
            ("session", session()),
            ("played", played()),
            ("turn", turn()),
            ("step", step()),
        ],
    };
    let files = ("files", "One entry per input, in path order.");
    Ok(schema.of_entries(form, files, ("file", object(file)), head))
}

fn totals() -> Value {
    let mut keys = counts([
        ("files", "All inputs."),
        ("replayed", "Files that were replayed."),
        ("unsupported", "Files whose format is not supported."),
        ("failed", "Files that could not be read."),
        ("sessions", "Sessions."),
        ("requests", "Model requests."),
    ]);
    keys.push(key("whole", to("figures"), "The cost without compaction."));
    keys.push(key(
        "policies",
        list(object(done())),
        "The sums for each policy.",
    ));
    object(keys)
}

/// What a policy did, and what it cost.
fn done() -> Vec<Key> {
    let mut keys = vec![key("policy", text(), "The policy's name.")];
    keys.extend(counts([
        (
            "compactions",
            "Summaries, and times that messages were removed without one.",
        ),
        ("failures", "Times that no summary could be written."),
        ("edits", "Results that were cleared, demoted or offloaded."),
    ]));
    keys.push(key(
        "tokens",
        to("figures"),
        "Tokens by the estimator that is the same for all policies.",
    ));
    keys.push(key(
        "own",
        to("figures"),
        "Tokens by the policy's own estimator.",
    ));
    keys
}

fn figures() -> Value {
    object(counts([
        ("sent", "Tokens of all requests."),
        (
            "cache_lost",
            "Tokens that a prompt cache held and could not serve.",
        ),
        ("peak", "Tokens of the largest request."),
        ("final", "Tokens at the end."),
    ]))
}

fn session() -> Value {
    let mut keys = vec![conversation_id("id")];
    keys.extend(counts([
        ("messages", "Recorded messages."),
        ("turns", "Typed messages."),
        ("requests", "Model requests."),
    ]));
    keys.push(key("whole", to("figures"), "The cost without compaction."));
    keys.push(key(
        "policies",
        list(to("played")),
        "The result of each policy, in their order.",
    ));
    object(keys)
}

fn played() -> Value {
    let mut keys = done();
    keys.extend([
        key("estimator", estimator(), "The policy's own estimator."),
        key(
            "threshold",
            or_null(count()),
            "The tokens above which it summarises, or null.",
        ),
        key(
            "windows",
            list(count()),
            "The tokens of each request, as the policy counts.",
        ),
        key(
            "turns",
            list(to("turn")),
            "The turns, as the policy counts.",
        ),
        key(
            "steps",
            list(to("step")),
            "The steps at which something happened, as the policy counts.",
        ),
    ]);
    object(keys)
}

fn turn() -> Value {
    let mut keys = vec![
        key(
            "turn",
            count(),
            "Its number, from 1; 0 is what comes before the first typed message.",
        ),
        key("line", from_one(), "The line on which it begins."),
    ];
    keys.extend(counts([
        ("requests", "Model requests."),
        ("sent", "Tokens of these requests."),
        ("context", "Tokens at its end."),
    ]));
    object(keys)
}

fn step() -> Value {
    let event = object(vec![
        key("layer", one_of(words::<Layer>()), "The layer."),
        key(
            "result",
            one_of(words::<Verdict>()),
            "Whether it did what it was due to do.",
        ),
        key(
            "count",
            count(),
            "Replaced results, summarised messages or restored files.",
        ),
        key("freed", count(), "Tokens that this freed."),
        key("reason", text(), "Why."),
    ]);
    object(vec![
        key(
            "request",
            from_one(),
            "The number of the model request; one more than the last for what follows the last answer.",
        ),
        key("turn", count(), "The number of its turn."),
        key("line", from_one(), "The line of the newest message in it."),
        key("before", count(), "Tokens before the layers ran."),
        key("after", count(), "Tokens afterwards."),
        key(
            "events",
            list(event),
            "What happened, in the order of the layers.",
        ),
    ])
}
