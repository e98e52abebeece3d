//! Paths as text for records, and back.
//!
//! Paths are bytes on Unix, and JSON is Unicode. A byte that is not part of a character becomes U+0000 and two hexadecimal digits.
//! No path contains U+0000, so every text represents one path. Does not access the disk.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Precedes the digits of a byte that is not part of a character.
pub(super) const RAW: char = '\0';

/// The text of a path; `None` if the system's paths are neither bytes nor Unicode.
pub(super) fn to_text(path: &Path) -> Option<Cow<'_, str>> {
    if let Some(text) = path.to_str() {
        return Some(Cow::Borrowed(text));
    }
    raw::to_text(path).map(Cow::Owned)
}

/// The path of a text. A text that [`to_text`] cannot have written is used as it is.
pub(super) fn to_path(text: &str) -> PathBuf {
    if text.contains(RAW) {
        raw::to_path(text)
    } else {
        PathBuf::from(text)
    }
}

#[cfg(unix)]
mod raw {
    use std::ffi::OsString;
    use std::fmt::Write;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use super::RAW;

    pub(super) fn to_text(path: &Path) -> Option<String> {
        let mut text = String::new();
        for chunk in path.as_os_str().as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                write!(text, "{RAW}{byte:02x}").ok()?;
            }
        }
        Some(text)
    }

    pub(super) fn to_path(text: &str) -> PathBuf {
        let mut bytes = Vec::with_capacity(text.len());
        let mut pieces = text.split(RAW);
        bytes.extend(pieces.next().unwrap_or_default().as_bytes());
        for piece in pieces {
            let byte = piece
                .get(..2)
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            match byte {
                Some(byte) => {
                    bytes.push(byte);
                    bytes.extend(&piece.as_bytes()[2..]);
                }
                None => {
                    bytes.push(0);
                    bytes.extend(piece.as_bytes());
                }
            }
        }
        PathBuf::from(OsString::from_vec(bytes))
    }
}

#[cfg(not(unix))]
mod raw {
    use std::path::{Path, PathBuf};

    pub(super) fn to_text(_: &Path) -> Option<String> {
        None
    }

    pub(super) fn to_path(text: &str) -> PathBuf {
        PathBuf::from(text)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_path_has_a_text_of_its_own(bytes in proptest::collection::vec(1..=255_u8, 0..40)) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            let text = to_text(&path).unwrap().into_owned();
            prop_assert_eq!(to_path(&text), path);
        }
    }

    #[test]
    fn only_what_is_not_unicode_is_escaped() {
        let path = PathBuf::from(OsString::from_vec(b"a/\xc3\xa4\xff\xfe.jsonl".to_vec()));
        assert_eq!(to_text(&path).unwrap(), "a/ä\0ff\0fe.jsonl");
        assert_eq!(to_path("a\0.jsonl").as_os_str().len(), 8);
    }
}
