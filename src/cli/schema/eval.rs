//! The report of `eval`.

use serde_json::{Value, json};

use super::build::{
    Form, Key, Schema, count, counts, from_one, key, list, object, one_of, or_null, pair, share,
    text, to,
};
use super::common::{EXAMINING, conversation_id, examined, not_read, policy, run_timings, version};
use super::words::words;
use crate::error::Result;
use crate::eval::{INTERVAL_METRICS, Kind, Metric, Skipped};

pub(super) fn schema(form: Form) -> Result<Schema> {
    let mut head = version();
    head.extend([
        key(
            "policies",
            list(to("policy")),
            "The policies, without their budgets.",
        ),
        key(
            "vocabulary",
            json!({"const": "cl100k_base"}),
            "The estimator that counted tokens for all policies.",
        ),
        key(
            "budgets",
            list(or_null(share())),
            "Percent of the tokens before a cut; null for policies as they are by themselves.",
        ),
        key("totals", totals(), "The means over all sessions."),
        not_read(),
        run_timings(&EXAMINING),
    ]);
    let mut file = examined(&["measured", "nothing_to_measure"])?;
    file.push(key(
        "sessions",
        list(to("session")),
        "Its sessions, in the order of the transcript.",
    ));
    let schema = Schema {
        title: "ctxpack eval",
        about: "What can still be found after compactions: ctxpack help measuring.",
        root: Value::Null,
        parts: vec![
            policy()?,
            ("scores", object(scores())),
            ("means", means()),
            ("round", round()),
            ("session", session()),
        ],
    };
    let files = ("files", "One entry per input, in path order.");
    Ok(schema.of_entries(form, files, ("file", object(file)), head))
}

fn totals() -> Value {
    let reasons = words::<Skipped>().iter();
    let reasons = reasons.map(|reason| key(reason, from_one(), "How many sessions.").sometimes());
    let mut keys = counts([
        ("sessions", "Sessions that were measured."),
        ("cuts", "Cuts in them."),
    ]);
    keys.push(key(
        "skipped",
        object(reasons.collect()),
        "Sessions that were not measured, by the reason.",
    ));
    keys.extend(counts([
        ("unsupported", "Inputs of a format that is not supported."),
        ("failed", "Inputs that could not be read."),
    ]));
    keys.extend([
        key(
            "scores",
            list(to("means")),
            "The scores of each method, budget by budget.",
        ),
        key(
            "formats",
            list(object(of_format())),
            "The same for the sessions of each format.",
        ),
        key(
            "rounds",
            list(to("round")),
            "With --rounds: what is left after each, over the sessions that have it.",
        )
        .sometimes(),
    ]);
    object(keys)
}

fn of_format() -> Vec<Key> {
    let mut keys = vec![key("format", text(), "The format's name.")];
    keys.extend(counts([
        ("sessions", "Sessions that were measured."),
        ("cuts", "Cuts in them."),
    ]));
    keys.push(key(
        "scores",
        list(to("means")),
        "The scores of each method, budget by budget.",
    ));
    keys
}

fn session() -> Value {
    let cut = object(vec![
        key("message", from_one(), "The first message after it."),
        key("line", from_one(), "The line on which that message begins."),
        key("tokens", count(), "Tokens before it."),
        key(
            "need",
            count(),
            "Names that are used after it before they are shown again.",
        ),
        key("user", count(), "Sentences of the user before it."),
        key("mod", count(), "Files that were changed before it."),
        key("cmd", count(), "Commands before it."),
        key("err", count(), "Error messages before it."),
    ]);
    object(vec![
        conversation_id("id"),
        key("messages", count(), "Messages before its first compaction."),
        key("tokens", count(), "Their tokens."),
        key(
            "skipped",
            or_null(one_of(words::<Skipped>())),
            "Why it was not measured, or null.",
        ),
        key(
            "cuts",
            list(cut),
            "Where it was cut, and how many things there were to find.",
        ),
        key(
            "scores",
            list(to("scores")),
            "The scores of each method, budget by budget.",
        ),
        key(
            "rounds",
            list(to("round")),
            "With --rounds: what is left after each.",
        )
        .sometimes(),
    ])
}

/// The scores of a method over several sessions.
fn means() -> Value {
    let intervals = INTERVAL_METRICS.map(|metric| {
        key(
            metric.name(),
            or_null(pair(share())),
            "Its lower and its upper end; null for fewer than two sessions.",
        )
    });
    let mut keys = scores();
    keys.push(
        key(
            "ci95",
            object(intervals.into()),
            "95 % confidence intervals of means over sessions, by a seeded bootstrap.",
        )
        .sometimes(),
    );
    object(keys)
}

/// The scores of a round.
fn round() -> Value {
    let kept = || {
        object(vec![
            key("of", count(), "How many there are."),
            key("kept", count(), "How many are left."),
            key("lost", list(text()), "The first ones that are lost."),
        ])
    };
    let mut keys = vec![
        key("round", from_one(), "The number of the round."),
        key("method", text(), "The name of a policy."),
        key("files", kept(), "Files that were changed before."),
        key("todos", kept(), "To-dos that are open."),
        key(
            "sentences",
            kept(),
            "Sentences of the user, but for those of messages that are too long to be quoted whole.",
        ),
    ];
    keys.extend(figures());
    object(keys)
}

fn scores() -> Vec<Key> {
    let mut keys = vec![
        key("method", text(), "The name of a policy or a baseline."),
        key(
            "kind",
            one_of(words::<Kind>()),
            "A policy, or a simple method to compare with.",
        ),
    ];
    keys.extend(figures());
    keys
}

/// The figures for a method with a budget.
fn figures() -> Vec<Key> {
    let mut keys = vec![
        key(
            "budget",
            or_null(share()),
            "The budget, in percent of the tokens before a cut; null for a policy with its own settings.",
        ),
        key("cuts", count(), "How many cuts the scores come from."),
    ];
    keys.extend(Metric::ALL.map(metric));
    keys.extend(counts([
        ("over", "Cuts at which the result was over the budget."),
        (
            "unreachable",
            "Cuts over the budget at which the policy must keep more than that.",
        ),
        ("invented", "Names that did not occur before the cut."),
    ]));
    keys.push(key(
        "invented_names",
        list(text()),
        "The first invented names.",
    ));
    keys
}

/// A metric, in percent.
fn metric(metric: Metric) -> Key {
    let about = match metric {
        Metric::Need => "The share of needed names that can still be found.",
        Metric::Grounded => {
            "The share of needed names that occur within three consecutive words of the original."
        }
        Metric::Far => {
            "The share of needed names that a sliding window of the same budget does not contain."
        }
        Metric::User => "The share of the user's sentences that are kept verbatim.",
        Metric::Modified => "The share of changed files.",
        Metric::Commands => "The share of commands.",
        Metric::Errors => "The share of error messages.",
        Metric::StateFiles => "How often a summary is right about what was last done to a file.",
        Metric::StateCommands => "How often a summary is right about how a command ended.",
        Metric::Used => "The share of tokens that is left.",
    };
    // More may be kept than there was before.
    let value = match metric {
        Metric::Used => super::build::amount(),
        Metric::Need
        | Metric::Grounded
        | Metric::Far
        | Metric::User
        | Metric::Modified
        | Metric::Commands
        | Metric::Errors
        | Metric::StateFiles
        | Metric::StateCommands => share(),
    };
    key(metric.name(), or_null(value), about)
}
