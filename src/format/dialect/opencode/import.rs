//! How opencode takes back a session that it exported.
//!
//! PURE. Sessions are kept in a database. An import adds to a session that is there already, and replaces none of its messages:
//! that session has to be deleted first.

use std::ffi::OsString;
use std::path::Path;

use crate::format::agent::{Import, text_of};
use crate::scan::Value;

/// The beginning of every id of a session.
const SESSION: &str = "ses";

/// The commands for a document, which is in this file.
pub(super) fn import(document: &[u8], file: &Path) -> Option<Import> {
    let [id, directory] = Value::of(document)
        .field("info")
        .fields(["id", "directory"]);
    let id = text_of(id).filter(|id| id.starts_with(SESSION))?;
    let mut taken: Vec<OsString> = ["opencode", "import"].map(OsString::from).into();
    taken.push(file.into());
    Some(Import {
        directory: text_of(directory),
        replace: vec![
            ["opencode", "session", "delete", &id]
                .map(OsString::from)
                .into(),
            taken,
        ],
        resume: ["opencode", "--session", &id].map(OsString::from).into(),
    })
}
