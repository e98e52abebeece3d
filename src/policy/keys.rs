//! The complete list of keys with what each takes and whether a file that was only found may set it, in the order of a
//! policy's struct: what `--set` knows, what errors name, and what every preset must set.
//!
//! One line a key, so that types and ranges can be read off; what a key means stands at its field.

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::text::{nearest, printable};

use self::Found::{Any, Named, Unless, UpTo};
use super::takes::{MOST, Takes};
use super::template::Slot::{Name, Preview, Summary, Tool};
use super::{
    Archive, Compare, Encoding, Extra, History, Input, Layer, Method, OnFailure, Per, Prompt,
    Redact, Role, Rounding, Scope, Shape, Skip, Source, SummaryWhen, TargetKind, TooLarge,
    ToolKind, TriggerOn, Unit, UserWords, Wait,
};

/// Tokens, characters, messages: any whole number, 0 included.
const COUNT: Takes = Takes::Whole {
    least: 0,
    most: MOST,
};
/// A share of a whole.
const SHARE: Takes = Takes::UpTo { most: 1.0 };

/// What a policy file may set that nobody named, only found: it may have come with somebody else's repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// Anything: it says how a transcript is compacted, and no more.
    Any,
    /// Nothing but ""; else it would do this.
    Named(&'static str),
    /// Anything but these; with them it would do this.
    Unless(&'static [&'static str], &'static str),
    /// No more than this, so that nobody waits or pays for a file that he has not seen.
    UpTo(u64),
}

/// Every key, what it takes, and what a found file may set.
pub(super) const KEYS: &[(&str, Takes, Found)] = &[
    ("schema", Takes::Whole { least: 1, most: 1 }, Any),
    ("name", Takes::Text, Any),
    ("aliases", Takes::Texts, Any),
    (EXTENDS, Takes::Text, Any),
    ("layers", Takes::Any(Layer::NAMES), Any),
    ("history", Takes::One(History::NAMES), Any),
    ("archive", Takes::One(Archive::NAMES), Any),
    (
        "redact",
        Takes::One(Redact::NAMES),
        Unless(
            &["never"],
            "would let secrets through to whoever writes summaries",
        ),
    ),
    ("tokens.method", Takes::One(Method::NAMES), Any),
    ("tokens.encoding", Takes::One(Encoding::NAMES), Any),
    ("tokens.unit", Takes::One(Unit::NAMES), Any),
    ("tokens.chars_per_token", Takes::Positive, Any),
    ("tokens.rounding", Takes::One(Rounding::NAMES), Any),
    ("tokens.per", Takes::One(Per::NAMES), Any),
    ("tokens.scope", Takes::One(Scope::NAMES), Any),
    ("tokens.image_tokens", COUNT, Any),
    ("tokens.document_tokens", COUNT, Any),
    ("window.context", COUNT, Any),
    ("window.max_output", COUNT, Any),
    ("window.output_cap", COUNT, Any),
    ("window.buffer", COUNT, Any),
    ("trigger.on", Takes::One(TriggerOn::NAMES), Any),
    ("trigger.tokens", COUNT, Any),
    ("trigger.share", SHARE, Any),
    ("trigger.compare", Takes::One(Compare::NAMES), Any),
    ("trigger.cap_share", SHARE, Any),
    ("trigger.min_savings", COUNT, Any),
    ("trigger.offload_freed_below", COUNT, Any),
    ("trigger.max_compactions", COUNT, Any),
    ("trigger.manual_tool", Takes::Text, Any),
    ("trigger.force_on_finish", Takes::Texts, Any),
    ("trigger.skip", Takes::Any(Skip::NAMES), Any),
    ("target.tokens", COUNT, Any),
    ("target.percent", Takes::UpTo { most: 100.0 }, Any),
    (TARGET_KIND, Takes::One(TargetKind::NAMES), Any),
    (
        "superseded.placeholder",
        Takes::Template {
            must: &[],
            may: &[Tool],
        },
        Any,
    ),
    ("demote.min_tokens", COUNT, Any),
    ("demote.preview_chars", COUNT, Any),
    (
        "demote.text",
        Takes::Template {
            must: &[Name],
            may: &[Preview, Tool],
        },
        Any,
    ),
    ("clear.keep", COUNT, Any),
    ("clear.tools", Takes::Any(ToolKind::NAMES), Any),
    ("clear.min_tokens", COUNT, Any),
    ("clear.min_chars", COUNT, Any),
    ("clear.shapes", Takes::Any(Shape::NAMES), Any),
    (
        "clear.placeholder",
        Takes::Template {
            must: &[],
            may: &[Tool],
        },
        Any,
    ),
    ("offload.tokens", COUNT, Any),
    ("offload.share", SHARE, Any),
    ("offload.min_chars", COUNT, Any),
    (
        "offload.text",
        Takes::Template {
            must: &[Name],
            may: &[Tool],
        },
        Any,
    ),
    ("offload.restore_before_summary", Takes::Flag, Any),
    (
        "offload.unavailable",
        Takes::Template {
            must: &[],
            may: &[Name],
        },
        Any,
    ),
    ("offload.cleanup", Takes::Flag, Any),
    ("summary.when", Takes::One(SummaryWhen::NAMES), Any),
    ("summary.instructions", Takes::Text, Any),
    (
        "summary.source",
        Takes::One(Source::NAMES),
        Unless(
            &["anthropic", "openai", "scripted"],
            "would have others write summaries",
        ),
    ),
    (
        "summary.model",
        Takes::Text,
        Named("would choose the model that transcripts are sent to"),
    ),
    (
        "summary.base_url",
        Takes::Text,
        Named("would say where transcripts are sent"),
    ),
    ("summary.prompt", Takes::One(Prompt::NAMES), Any),
    ("summary.system", Takes::Text, Any),
    ("summary.input", Takes::One(Input::NAMES), Any),
    ("summary.input_chars", COUNT, Any),
    ("summary.keep_messages", COUNT, Any),
    ("summary.keep_turns", COUNT, Any),
    ("summary.keep_tokens", COUNT, Any),
    ("summary.role", Takes::One(Role::NAMES), Any),
    (
        "summary.text",
        Takes::Template {
            must: &[Summary],
            may: &[Name],
        },
        Any,
    ),
    ("summary.ack", Takes::Text, Any),
    ("summary.tokens", COUNT, Any),
    ("summary.share", SHARE, Any),
    ("summary.min_tokens", COUNT, Any),
    ("summary.max_tokens", COUNT, Any),
    ("summary.output_factor", Takes::Positive, Any),
    ("summary.user_words", Takes::One(UserWords::NAMES), Any),
    ("summary.user_message_max", COUNT, Any),
    (
        "summary.tries",
        Takes::Whole {
            least: 1,
            most: MOST,
        },
        UpTo(10),
    ),
    ("summary.wait_ms", COUNT, UpTo(60_000)),
    ("summary.wait", Takes::One(Wait::NAMES), Any),
    ("summary.drop_rounds", COUNT, UpTo(10)),
    ("summary.breaker", COUNT, Any),
    ("summary.on_failure", Takes::One(OnFailure::NAMES), Any),
    ("summary.too_large", Takes::One(TooLarge::NAMES), Any),
    ("summary.too_large_share", SHARE, Any),
    (
        "summary.max_invented",
        Takes::Whole {
            least: -1,
            most: MOST,
        },
        Any,
    ),
    ("summary.must_keep", Takes::Flag, Any),
    ("restore.files", COUNT, Any),
    ("restore.tokens_per_file", COUNT, Any),
    ("restore.tokens_total", COUNT, Any),
    ("restore.skip_visible", Takes::Flag, Any),
    (
        "restore.root",
        Takes::Text,
        Named("would read files from a folder"),
    ),
    ("restore.extras", Takes::Any(Extra::NAMES), Any),
    ("tools.shell", Takes::Texts, Any),
    ("tools.read", Takes::Texts, Any),
    ("tools.write", Takes::Texts, Any),
    ("tools.edit", Takes::Texts, Any),
    ("tools.search", Takes::Texts, Any),
    ("tools.web", Takes::Texts, Any),
    (ENV, Takes::Table, Any),
];

/// The key that names the policy a file starts from.
pub(super) const EXTENDS: &str = "extends";
/// The key whose value is a table of the user's own names.
pub(super) const ENV: &str = "env";

/// Whether a target is a cap.
const TARGET_KIND: &str = "target.kind";

/// What comes with a key that somebody sets, unless they also set that: a target that somebody gave is a cap.
pub(super) fn implied(key: &str, value: &Value) -> Option<(&'static str, Value)> {
    let is_some = value.as_f64().is_some_and(|value| value > 0.0);
    let is_target = matches!(key, "target.tokens" | "target.percent") && is_some;
    is_target.then(|| (TARGET_KIND, Value::from(TargetKind::Cap.name())))
}

/// The key as the list has it, with what it takes.
pub(super) fn find(key: &str) -> Option<(&'static str, Takes)> {
    found(key).map(|(key, takes, _)| (key, takes))
}

/// The same, with what a found file may set.
pub(super) fn found(key: &str) -> Option<(&'static str, Takes, Found)> {
    KEYS.iter().copied().find(|(name, ..)| *name == key)
}

/// Whether keys begin with this and a dot.
pub(super) fn is_table(key: &str) -> bool {
    KEYS.iter()
        .any(|(name, ..)| name.split_once('.').is_some_and(|(table, _)| table == key))
}

/// The error for a key that does not exist.
pub(super) fn unknown(key: &str) -> Error {
    let shown = printable(key);
    let error = Error::new(ErrorKind::Config, format!("unknown policy key {shown}"));
    if is_table(key) {
        return error.hint(format!("{shown} is a table of keys: set one of them"));
    }
    match nearest(key, KEYS.iter().map(|(name, ..)| *name)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => {
            error.hint("a key is written like clear.keep; the README shows what a policy holds")
        }
    }
}

/// The error for a value that a key does not take; `given` as the user wrote it.
pub(super) fn misfit(key: &str, takes: Takes, given: &str) -> Error {
    /// Enough to recognise a value by, in one line of an error.
    const SHOWN: usize = 60;
    let mut shown: String = given.chars().take(SHOWN).collect();
    if shown.len() < given.len() {
        shown.push('…');
    }
    if shown.trim().is_empty() {
        shown = "an empty text".to_owned();
    }
    let error = Error::new(
        ErrorKind::Config,
        format!("{key} takes {takes}, not {}", printable(&shown)),
    );
    let bare = given.trim_matches(|c: char| !c.is_alphanumeric());
    match nearest(bare, takes.words().iter().copied()) {
        Some(near) if near != bare => error.hint(format!("did you mean \"{near}\"?")),
        Some(_) | None => error,
    }
}

/// The value of `key` in a policy written as JSON.
pub(super) fn get<'v>(policy: &'v Value, key: &str) -> &'v Value {
    match key.split_once('.') {
        Some((table, field)) => &policy[table][field],
        None => &policy[key],
    }
}

/// Sets `key` in a policy written as JSON. The user's environment names are added to those that are there.
pub(super) fn put(policy: &mut Value, key: &str, value: Value) {
    match (key.split_once('.'), value) {
        (Some((table, field)), value) => policy[table][field] = value,
        (None, Value::Object(names)) => match &mut policy[key] {
            Value::Object(known) => known.extend(names),
            unset => *unset = Value::Object(names),
        },
        (None, value) => policy[key] = value,
    }
}

/// A JSON form that does not deserialise: every value was checked before, so that only a preset with a key left out
/// comes here.
pub(super) fn broken(error: serde_json::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("a policy that is not whole: {error}"),
    )
}
