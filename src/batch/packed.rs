//! Converts a tree of files to records, one per line, and records back to files, byte for byte.
//!
//! A record is `{"path":…,"text":…}`, or has `base64` if the bytes are not UTF-8. Paths are relative and have `/` on every system.
//! A record is not trusted: its file goes below the folder that the user named, through no link, into no store, and replaces no
//! other file unless the user says so.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::{Value, json};

use super::{FileSource, Overwrite};
use crate::error::{Error, ErrorKind, Result};
use crate::store::atomic::{self, Existing, Mode};
use crate::store::folder::Durability;
use crate::store::{FOLDER, Missing, OpenPath, open_transcript};

/// The member with the file's path.
pub(super) const PATH: &str = "path";
/// The member that holds its text.
pub(super) const TEXT: &str = "text";
/// The member that holds its bytes.
pub(super) const BASE64: &str = "base64";

/// The path of a file's record.
///
/// # Errors
/// [`ErrorKind::Usage`] if the path is not Unicode, so that no record can contain it; [`ErrorKind::BadLine`] if it would be
/// rejected on unpacking.
pub fn packed_path(file: &FileSource) -> Result<String> {
    let relative = file.relative();
    let parts: Option<Vec<&str>> = relative
        .components()
        .map(|part| part.as_os_str().to_str())
        .collect();
    let path = parts.map(|parts| parts.join("/")).ok_or_else(|| {
        let message = "the path is not Unicode and cannot be written to a record";
        Error::new(ErrorKind::Usage, message)
            .at(&file.path)
            .hint("rename the file")
    })?;
    // Reported here rather than on unpacking.
    match safe_path(&path) {
        Ok(_) => Ok(path),
        Err(error) => Err(error.at(&file.path).hint("rename the file")),
    }
}

/// The record of a file, with a line end.
///
/// # Errors
/// If it cannot be read, or has no valid path ([`packed_path`]).
pub fn pack_line(file: &FileSource) -> Result<Vec<u8>> {
    let path = packed_path(file)?;
    let (mut open, _) = open_transcript(&file.path)?;
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes)
        .map_err(|e| Error::io(&file.path, "read", e))?;
    let record = match String::from_utf8(bytes) {
        Ok(text) => json!({PATH: path, TEXT: text}),
        Err(e) => json!({PATH: path, BASE64: STANDARD.encode(e.as_bytes())}),
    };
    let mut line = record.to_string().into_bytes();
    line.push(b'\n');
    Ok(line)
}

/// A file that a record holds.
#[derive(Debug)]
pub struct Packed {
    /// Its path below an output folder.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The kind and message of the error with which `filter` returned it, if it did.
    pub error: Option<(String, String)>,
}

/// What became of the file of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpacked {
    /// It was written.
    Written,
    /// It already exists, with these bytes.
    There,
}

impl Packed {
    /// The file of a record.
    ///
    /// # Errors
    /// [`ErrorKind::BadLine`] if the line is not a record of `pack-lines`, or its path leads out of the output folder or into a
    /// store.
    pub fn of(line: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Record {
            path: String,
            text: Option<String>,
            base64: Option<String>,
            #[serde(default)]
            error: Value,
        }
        let no_record = |why: String| {
            Error::new(
                ErrorKind::BadLine,
                format!("no record of pack-lines: {why}"),
            )
        };
        let Record {
            path,
            text,
            base64,
            error,
        } = serde_json::from_slice(line).map_err(|e| no_record(why_unread(&e)))?;
        let bytes = match (text, base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(base64)) => STANDARD
                .decode(base64)
                .map_err(|e| no_record(format!("{BASE64:?} is no base64: {e}")))?,
            (Some(_), Some(_)) | (None, None) => {
                return Err(no_record(format!(
                    "it needs one of {TEXT:?} and {BASE64:?}"
                )));
            }
        };
        let said = |name: &str| error.get(name)?.as_str().map(str::to_owned);
        Ok(Packed {
            path: safe_path(&path)?,
            bytes,
            error: said("kind").zip(said("message")),
        })
    }

    /// Writes the file below `folder`.
    ///
    /// # Errors
    /// [`ErrorKind::Exists`] if another file has its name and may not be replaced; [`ErrorKind::Store`] if a link is on the way;
    /// those of the system.
    pub fn write(&self, folder: &Path, overwrite: Overwrite) -> Result<Unpacked> {
        let path = folder.join(&self.path);
        let spot = OpenPath::below(folder, &path, Missing::Make)?;
        let existing = match spot.look()? {
            None => Existing::Refuse,
            Some(seen) if seen.is_file() && self.is_in(&spot, seen.len())? => {
                return Ok(Unpacked::There);
            }
            Some(seen) if !seen.is_file() => {
                let message = "what has that name is not a regular file, and is not replaced";
                return Err(Error::new(ErrorKind::Exists, message)
                    .at(&path)
                    .hint("move it away; --out-dir names another folder"));
            }
            Some(_) if overwrite == Overwrite::Any => Existing::Overwrite,
            Some(_) => {
                let message = "another file of that name exists";
                return Err(Error::new(ErrorKind::Exists, message)
                    .at(&path)
                    .hint("--overwrite replaces it; --out-dir names another folder"));
            }
        };
        atomic::write(spot, &self.bytes, existing, Mode::Default, Durability::Lazy)?;
        Ok(Unpacked::Written)
    }

    /// Whether the existing file, of this size, has these bytes.
    fn is_in(&self, spot: &OpenPath, size: u64) -> Result<bool> {
        if size != self.bytes.len() as u64 {
            return Ok(false);
        }
        let mut there = Vec::with_capacity(self.bytes.len());
        let read = spot.read()?.take(size + 1).read_to_end(&mut there);
        read.map_err(|e| Error::io(spot.path(), "read", e))?;
        Ok(there == self.bytes)
    }
}

/// Why a line cannot be read, without the parser's place: it would be a second line number.
fn why_unread(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Syntax | Category::Eof => "it is not JSON".to_owned(),
        Category::Data | Category::Io => {
            let text = error.to_string();
            let text = text.split_once(" at line ").map_or(&*text, |(why, _)| why);
            text.to_owned()
        }
    }
}

/// The path of a record, if a file may have that path below an output folder.
///
/// # Errors
/// [`ErrorKind::BadLine`] if it is absolute, leads upwards, contains parts with a special meaning on some system, or leads into a
/// store.
pub(super) fn safe_path(text: &str) -> Result<PathBuf> {
    let refused = |why: &str| {
        Err(Error::new(
            ErrorKind::BadLine,
            format!("the path {text:?} {why}"),
        ))
    };
    let parts: Vec<&str> = text.split('/').collect();
    // `a//b`, `a/./b` and `a/` are alternative spellings of a path, which would give one file two records.
    if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return refused("does not lead to a file below the output folder");
    }
    let is_other = |part: &&str| is_another_on_windows(part);
    if text.contains(['\\', '\0']) || cfg!(windows) && parts.iter().any(is_other) {
        return refused("contains characters with a special meaning on some systems");
    }
    // Some systems drop trailing dots and blanks from names.
    let is_store = |part: &&str| trimmed(part).eq_ignore_ascii_case(FOLDER);
    if parts.iter().any(is_store) {
        return refused("leads into a store");
    }
    let path: PathBuf = parts.iter().collect();
    let is_plain = |part| matches!(part, Component::Normal(_));
    match path.components().all(is_plain) {
        true => Ok(path),
        false => refused("does not lead to a file below the output folder"),
    }
}

/// A name as Windows reads it.
fn trimmed(name: &str) -> &str {
    name.trim_end_matches(['.', ' '])
}

/// Whether Windows takes a name for that of another file, or of a device.
fn is_another_on_windows(name: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    let stem = name.split('.').next().unwrap_or_default();
    let stem = trimmed(stem).to_ascii_lowercase();
    let port = stem
        .strip_prefix("com")
        .or_else(|| stem.strip_prefix("lpt"));
    let is_port = port.is_some_and(|number| number.chars().count() == 1 && !number.eq("0"));
    trimmed(name) != name || name.contains(':') || DEVICES.contains(&&stem[..]) || is_port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_reads_otherwise_are_known() {
        for name in [
            "a.",
            "a ",
            ".ctxpack.",
            "CON",
            "nul.jsonl",
            "com1",
            "LPT9.txt",
            "a:b",
            "aux .x",
        ] {
            assert!(is_another_on_windows(name), "{name}");
        }
        for name in [
            "a.jsonl", "console", "com", "com10", "lpt.x", "..a", ".hidden", "null",
        ] {
            assert!(!is_another_on_windows(name), "{name}");
        }
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        for good in [
            "a.jsonl",
            "a/b/c.jsonl.gz",
            "a b/ü…",
            "..a",
            ".hidden/x",
            "con",
        ] {
            assert!(safe_path(good).is_ok(), "{good}");
        }
        for wrong in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../x",
            "a/..",
            "./a",
            "a/./b",
            "a//b",
            "a/",
            "a\\b",
            "..\\x",
            "a\0b",
            ".ctxpack/journal/x",
            "a/.ctxpack/x",
            ".CTXPACK/x",
            "a/.ctxpack",
            ".ctxpack./manifests/1-x.jsonl",
            "a/.ctxpack /x",
            ".CTXPACK. ./x",
        ] {
            let error = safe_path(wrong).unwrap_err();
            assert_eq!(error.kind, ErrorKind::BadLine, "{wrong:?}");
        }
    }
}
