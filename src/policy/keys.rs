//! The list of all keys, and the errors for keys that do not exist and values that do not fit.

use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::text::{nearest, printable};

use super::Policy;
use super::key::Key;

/// Every key, in the order of a policy's file.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    Policy::TABLES.iter().flat_map(|table| table.keys)
}

/// The key with this name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| key.name == name)
}

/// Whether a table has this name.
pub(super) fn is_table(name: &str) -> bool {
    !name.is_empty() && Policy::TABLES.iter().any(|table| table.name == name)
}

/// The key and value that setting a key to `value` also sets, unless that key is itself set.
pub(super) fn implied(key: &Key, value: &Value) -> Option<(&'static Key, Value)> {
    let (name, implied) = key.implies?;
    let is_above_zero = value.as_f64().is_some_and(|value| value > 0.0);
    is_above_zero.then(|| Some((find(name)?, Value::from(implied))))?
}

/// The error for a key that does not exist.
pub(super) fn unknown(name: &str) -> Error {
    let shown = printable(name);
    let error = Error::new(ErrorKind::Config, format!("unknown policy key {shown}"));
    if is_table(name) {
        return error.hint(format!("{shown} is a table of keys: set one of them"));
    }
    match nearest(name, all().map(|key| key.name)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("a key is written like clear.keep; `ctxpack help keys` lists them"),
    }
}

/// The error for a value that a key does not accept; `given` as the user wrote it.
pub(super) fn misfit(key: &Key, given: &str) -> Error {
    /// Enough characters to recognise a value in one line of an error.
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
        format!(
            "{} takes {}, not {}",
            key.name,
            key.domain,
            printable(&shown)
        ),
    );
    let bare = given.trim_matches(|c: char| !c.is_alphanumeric());
    match nearest(bare, key.domain.words()) {
        Some(near) if near != bare => error.hint(format!("did you mean \"{near}\"?")),
        Some(_) | None => error,
    }
}

/// The error for a key that only a policy file may set.
pub(super) fn file_only(key: &Key) -> Error {
    let message = format!("{} is read from a policy file only", key.name);
    Error::new(ErrorKind::Config, message)
}

/// The error for a policy's JSON form that cannot be deserialised. Every value was checked before, so that this is a
/// mistake in the declarations.
pub(super) fn broken(error: serde_json::Error) -> Error {
    let message = format!("an incomplete policy: {error}");
    Error::new(ErrorKind::Internal, message)
}
