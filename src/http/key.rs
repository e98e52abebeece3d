//! The key that requests carry: read only from the environment, never shown, and masked in everything a server returns, in whatever
//! encoding it is repeated there.

use std::fmt;
use std::mem::take;

use serde_json::Value;

use super::provider::Provider;
use crate::error::{Error, ErrorKind, Result};

/// What replaces a key.
const MASK: &str = "[key]";

/// An API key; never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    secret: String,
    /// The encodings in which it may be repeated.
    forms: Vec<String>,
}

impl Key {
    /// Creates a key from what the user gives, trimmed. `variable` is named in the error.
    ///
    /// # Errors
    /// [`ErrorKind::Config`]: it is empty, or contains characters that a header cannot. The message does not show them.
    pub fn new(text: &str, variable: &str) -> Result<Self> {
        let key = text.trim();
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "{variable} is not a valid key: it is empty, or has characters that a key cannot have"
                ),
            )
            .hint("set it to the key alone, without quotes, spaces or line breaks"));
        }
        Ok(Key {
            secret: key.to_owned(),
            forms: forms(key),
        })
    }

    /// The provider's key, if the environment has one.
    ///
    /// # Errors
    /// The errors of [`Key::new`], or if the variable is not valid Unicode.
    pub fn from_environment(provider: Provider) -> Result<Option<Self>> {
        let variable = provider.key_variable();
        let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let value = value.into_string().map_err(|_| {
            let message = format!("{variable} is not a valid key: it is not Unicode text");
            Error::new(ErrorKind::Config, message)
        })?;
        Key::new(&value, variable).map(Some)
    }

    /// The key, for the header that carries it.
    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    /// Masks the key in an error message, in case a server repeats it.
    pub(super) fn mask(&self, text: &str) -> String {
        self.masked(text.replace(&self.secret, MASK))
    }

    /// Masks the key in every string that a server sent. A key that is a plain word, as used for local servers (`ollama`, `none`),
    /// is not a secret, and may occur in a summary.
    pub(super) fn mask_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.masked(take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_all(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.mask_all(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn masked(&self, mut text: String) -> String {
        for form in self.forms.iter().filter(|_| is_secret(&self.secret)) {
            if text.contains(form) {
                text = text.replace(form, MASK);
            }
        }
        text
    }
}

/// Whether a key is more than a word.
fn is_secret(key: &str) -> bool {
    let has = |is: fn(&u8) -> bool| key.as_bytes().iter().any(is);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    key.len() >= 24 || key.len() >= 8 && (has(u8::is_ascii_digit) || is_mixed)
}

/// The encodings of a key: as it is, in hexadecimal digits, percent-encoded, and in base64, for each offset within a group of three
/// bytes at which the key may begin.
fn forms(key: &str) -> Vec<String> {
    let hex: String = key.bytes().map(|b| format!("{b:02x}")).collect();
    let percent = |escape: fn(u8) -> String| {
        let encoded = |b: u8| match b {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                char::from(b).to_string()
            }
            b => escape(b),
        };
        key.bytes().map(encoded).collect::<String>()
    };
    let mut forms = vec![
        key.to_owned(),
        percent(|b| format!("%{b:02X}")),
        percent(|b| format!("%{b:02x}")),
    ];
    forms.extend([hex.to_uppercase(), hex]);
    for before in 0..3 {
        let standard = base64(key.as_bytes(), before);
        forms.push(standard.replace('+', "-").replace('/', "_"));
        forms.push(standard);
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The base64 digits of `bytes` when `before` other bytes precede them, without the digits that depend on the surrounding bytes.
fn base64(bytes: &[u8], before: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |n: usize| {
        bytes
            .get(n / 8)
            .is_some_and(|byte| byte >> (7 - n % 8) & 1 == 1)
    };
    // The first digit that belongs to the key alone begins at a multiple of six bits after the group's start.
    let start = (6 - before * 8 % 6) % 6;
    let digits = (start..bytes.len() * 8).step_by(6);
    let whole = digits.take_while(|at| at + 6 <= bytes.len() * 8);
    let digit = |at: usize| (at..at + 6).fold(0, |digit, n| digit << 1 | usize::from(bit(n)));
    whole.map(|at| char::from(DIGITS[digit(at)])).collect()
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_and_never_shown() {
        let key = Key::new(" sk-123\n", "K").unwrap();
        assert_eq!(
            (key.secret(), format!("{key:?}").as_str()),
            ("sk-123", "Key(…)")
        );
        assert_eq!(key.mask("bad key sk-123."), "bad key [key].");
        for wrong in ["", " ", "a\nb", "a b", "é", "a\u{7f}"] {
            let error = Key::new(wrong, "K").unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config, "{wrong:?}");
        }
    }
    #[test]
    fn a_key_is_masked_however_it_is_written() {
        let key = Key::new("sk-proj-4Fq?>>/1zA", "K").unwrap();
        for (written, expected) in [
            ("key=sk-proj-4Fq?>>/1zA.", "key=[key]."),
            ("key=sk-proj-4Fq%3F%3E%3E%2F1zA", "key=[key]"),
            ("736b2d70726f6a2d3446713f3e3e2f317a41", "[key]"),
            // After nothing, after `x`, and after `Bearer ` in the URL-safe alphabet.
            ("c2stcHJvai00RnE/Pj4vMXpB", "[key]"),
            ("eHNrLXByb2otNEZxPz4+LzF6QQ==", "eH[key]Q=="),
            ("QmVhcmVyIHNrLXByb2otNEZxPz4-LzF6QQ", "QmVhcmVyIH[key]Q"),
        ] {
            let mut value = serde_json::json!([{"a": written}]);
            key.mask_all(&mut value);
            assert_eq!(value[0]["a"], expected, "{written}");
        }
        // A word is not a secret.
        for word in ["ollama", "none", "lm-studio", "sk-no-key-required"] {
            let mut value = Value::from(format!("It runs {word}."));
            Key::new(word, "K").unwrap().mask_all(&mut value);
            assert_eq!(value, format!("It runs {word}."));
        }
    }
}
