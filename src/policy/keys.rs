//! The complete list of keys with what each takes, in the order of a policy's struct: what `--set` knows, what errors
//! name, and what every preset must set.
//!
//! One line a key, so that types and ranges can be read off; what a key means stands at its field.

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::text::{nearest, printable};

use super::takes::{MOST, Takes};
use super::template::Slot::{Name, Preview, Summary, Tool};
use super::{
    Archive, Compare, Encoding, Extra, History, Input, Layer, Method, OnFailure, Per, Prompt,
    Redact, Role, Rounding, Scope, Shape, Skip, Source, SummaryWhen, TooLarge, ToolKind, TriggerOn,
    Unit, UserWords, Wait,
};

/// Tokens, characters, messages: any whole number, 0 included.
const COUNT: Takes = Takes::Whole {
    least: 0,
    most: MOST,
};
/// A share of a whole.
const SHARE: Takes = Takes::UpTo { most: 1.0 };

/// Every key and what it takes.
pub(super) const KEYS: &[(&str, Takes)] = &[
    ("schema", Takes::Whole { least: 1, most: 1 }),
    ("name", Takes::Text),
    ("aliases", Takes::Texts),
    (EXTENDS, Takes::Text),
    ("layers", Takes::Any(Layer::NAMES)),
    ("history", Takes::One(History::NAMES)),
    ("archive", Takes::One(Archive::NAMES)),
    ("redact", Takes::One(Redact::NAMES)),
    ("tokens.method", Takes::One(Method::NAMES)),
    ("tokens.encoding", Takes::One(Encoding::NAMES)),
    ("tokens.unit", Takes::One(Unit::NAMES)),
    ("tokens.chars_per_token", Takes::Positive),
    ("tokens.rounding", Takes::One(Rounding::NAMES)),
    ("tokens.per", Takes::One(Per::NAMES)),
    ("tokens.scope", Takes::One(Scope::NAMES)),
    ("tokens.image_tokens", COUNT),
    ("tokens.document_tokens", COUNT),
    ("window.context", COUNT),
    ("window.max_output", COUNT),
    ("window.output_cap", COUNT),
    ("window.buffer", COUNT),
    ("trigger.on", Takes::One(TriggerOn::NAMES)),
    ("trigger.tokens", COUNT),
    ("trigger.share", SHARE),
    ("trigger.compare", Takes::One(Compare::NAMES)),
    ("trigger.cap_share", SHARE),
    ("trigger.min_savings", COUNT),
    ("trigger.offload_freed_below", COUNT),
    ("trigger.max_compactions", COUNT),
    ("trigger.manual_tool", Takes::Text),
    ("trigger.force_on_finish", Takes::Texts),
    ("trigger.skip", Takes::Any(Skip::NAMES)),
    ("target.tokens", COUNT),
    ("target.percent", Takes::UpTo { most: 100.0 }),
    (
        "superseded.placeholder",
        Takes::Template {
            must: &[],
            may: &[Tool],
        },
    ),
    ("demote.min_tokens", COUNT),
    ("demote.preview_chars", COUNT),
    (
        "demote.text",
        Takes::Template {
            must: &[Name],
            may: &[Preview, Tool],
        },
    ),
    ("clear.keep", COUNT),
    ("clear.tools", Takes::Any(ToolKind::NAMES)),
    ("clear.min_tokens", COUNT),
    ("clear.min_chars", COUNT),
    ("clear.shapes", Takes::Any(Shape::NAMES)),
    (
        "clear.placeholder",
        Takes::Template {
            must: &[],
            may: &[Tool],
        },
    ),
    ("offload.tokens", COUNT),
    ("offload.share", SHARE),
    ("offload.min_chars", COUNT),
    (
        "offload.text",
        Takes::Template {
            must: &[Name],
            may: &[Tool],
        },
    ),
    ("offload.restore_before_summary", Takes::Flag),
    (
        "offload.unavailable",
        Takes::Template {
            must: &[],
            may: &[Name],
        },
    ),
    ("offload.cleanup", Takes::Flag),
    ("summary.when", Takes::One(SummaryWhen::NAMES)),
    ("summary.instructions", Takes::Text),
    ("summary.source", Takes::One(Source::NAMES)),
    ("summary.model", Takes::Text),
    ("summary.base_url", Takes::Text),
    ("summary.prompt", Takes::One(Prompt::NAMES)),
    ("summary.system", Takes::Text),
    ("summary.input", Takes::One(Input::NAMES)),
    ("summary.input_chars", COUNT),
    ("summary.keep_messages", COUNT),
    ("summary.keep_turns", COUNT),
    ("summary.keep_tokens", COUNT),
    ("summary.role", Takes::One(Role::NAMES)),
    (
        "summary.text",
        Takes::Template {
            must: &[Summary],
            may: &[Name],
        },
    ),
    ("summary.ack", Takes::Text),
    ("summary.tokens", COUNT),
    ("summary.share", SHARE),
    ("summary.min_tokens", COUNT),
    ("summary.max_tokens", COUNT),
    ("summary.output_factor", Takes::Positive),
    ("summary.user_words", Takes::One(UserWords::NAMES)),
    ("summary.user_message_max", COUNT),
    (
        "summary.tries",
        Takes::Whole {
            least: 1,
            most: MOST,
        },
    ),
    ("summary.wait_ms", COUNT),
    ("summary.wait", Takes::One(Wait::NAMES)),
    ("summary.drop_rounds", COUNT),
    ("summary.breaker", COUNT),
    ("summary.on_failure", Takes::One(OnFailure::NAMES)),
    ("summary.too_large", Takes::One(TooLarge::NAMES)),
    ("summary.too_large_share", SHARE),
    (
        "summary.max_invented",
        Takes::Whole {
            least: -1,
            most: MOST,
        },
    ),
    ("summary.must_keep", Takes::Flag),
    ("restore.files", COUNT),
    ("restore.tokens_per_file", COUNT),
    ("restore.tokens_total", COUNT),
    ("restore.skip_visible", Takes::Flag),
    ("restore.root", Takes::Text),
    ("restore.extras", Takes::Any(Extra::NAMES)),
    ("tools.shell", Takes::Texts),
    ("tools.read", Takes::Texts),
    ("tools.write", Takes::Texts),
    ("tools.edit", Takes::Texts),
    ("tools.search", Takes::Texts),
    ("tools.web", Takes::Texts),
    (ENV, Takes::Table),
];

/// The key that names the policy a file starts from.
pub(super) const EXTENDS: &str = "extends";
/// The key whose value is a table of the user's own names.
pub(super) const ENV: &str = "env";

/// The key as the list has it, with what it takes.
pub(super) fn find(key: &str) -> Option<(&'static str, Takes)> {
    KEYS.iter().copied().find(|(name, _)| *name == key)
}

/// Whether keys begin with this and a dot.
pub(super) fn is_table(key: &str) -> bool {
    KEYS.iter()
        .any(|(name, _)| name.split_once('.').is_some_and(|(table, _)| table == key))
}

/// The error for a key that does not exist.
pub(super) fn unknown(key: &str) -> Error {
    let shown = printable(key);
    let error = Error::new(ErrorKind::Config, format!("unknown policy key {shown}"));
    if is_table(key) {
        return error.hint(format!("{shown} is a table of keys: set one of them"));
    }
    match nearest(key, KEYS.iter().map(|(name, _)| *name)) {
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
