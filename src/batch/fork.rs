//! Forks: a compacted copy as a session of its own, beside the original where the agent looks for it, or as a document that the agent
//! takes.
//!
//! The new id follows from the old one and the bytes, so that the same session always gives the same fork. Never changes the
//! original.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::find::not_there;
use crate::error::{Error, ErrorKind, Result};
use crate::format::agent::{Names, id_of_copy, under_id};
use crate::format::{Detected, Format, Layout};
use crate::scan::begins_document;
use crate::store::{hash_of, open_transcript};

/// The session that an output becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The file of the new session.
    pub output: PathBuf,
    /// The formats of the agents that name their files like this.
    formats: Vec<Format>,
    /// The new id.
    id: String,
}

impl Fork {
    /// The fork of the session in a file.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such file; [`ErrorKind::Usage`] if it is neither named like a session nor a document that an
    /// agent takes; [`ErrorKind::Io`] where it cannot be read.
    pub fn of(path: &Path) -> Result<Fork> {
        if !path.exists() {
            return Err(not_there(path));
        }
        if let Some(fork) = Fork::of_document(path)? {
            return Ok(fork);
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let id_of = |format: &Format| format.agent()?.id_of_name(name?);
        let mut formats = Format::of_agents();
        let Some(id) = formats.iter().find_map(id_of) else {
            return Err(without_id(path, &formats));
        };
        formats.retain(|format| id_of(format) == Some(id));
        let (mut file, _) = open_transcript(path)?;
        let hash = hash_of(&mut file).map_err(|e| Error::io(path, "read", e))?;
        let new = id_of_copy(id, &hash);
        let renamed = name.unwrap_or_default().replace(id, &new);
        Ok(Fork {
            output: path.with_file_name(renamed),
            formats,
            id: new,
        })
    }

    /// The fork of the session in a document that an agent takes; `None` if the file is none.
    fn of_document(path: &Path) -> Result<Option<Fork>> {
        /// More than enough for the beginning of a document.
        const BEGINNING: u64 = 64 << 10;
        let read = |e| Error::io(path, "read", e);
        let (mut file, _) = open_transcript(path)?;
        let mut text = Vec::new();
        let begun = (&mut file).take(BEGINNING).read_to_end(&mut text);
        if begun.map_err(read)? as u64 == BEGINNING && !begins_document(&text) {
            return Ok(None);
        }
        file.read_to_end(&mut text).map_err(read)?;
        let hash = hash_of(&mut text.as_slice()).map_err(read)?;
        let mut formats = Format::ALL.into_iter();
        let new = formats.find_map(|format| {
            let id = format.importer()?.id_of_copy(&text, &hash)?;
            Some((format, id))
        });
        Ok(new.map(|(format, id)| Fork {
            output: path.with_file_name(format!("{id}.json")),
            formats: vec![format],
            id,
        }))
    }

    /// The format of the session; rejects an input that its agent does not read.
    pub(super) fn check(&self, detected: &Detected) -> Result<Format> {
        match detected {
            Detected::Known(format, Layout::File) if self.formats.contains(format) => Ok(*format),
            Detected::Known(..) | Detected::Unsupported(_) => {
                let message = format!(
                    "this is not a session of {}, although it is named like one",
                    in_a_list(&self.formats, " or ")
                );
                let error = Error::new(ErrorKind::Unsupported, message);
                Err(error.hint("-o FILE writes a copy of any file"))
            }
        }
    }

    /// The bytes of the original under the new id.
    pub(super) fn renamed<'p>(
        &self,
        format: Format,
        pieces: impl Iterator<Item = &'p [u8]>,
    ) -> Vec<u8> {
        let mut text = Vec::new();
        pieces.for_each(|piece| text.extend_from_slice(piece));
        match (format.agent(), format.importer()) {
            (Some(agent), _) => under_id(agent, &text, &self.id),
            (None, Some(importer)) => importer.under_id(&text, &self.id),
            (None, None) => text,
        }
    }
}

/// Why a file whose name has no id cannot be forked.
fn without_id(path: &Path, formats: &[Format]) -> Error {
    let (unnamed, named): (Vec<Format>, Vec<Format>) = formats.iter().partition(|format| {
        let agent = format.agent();
        agent.is_some_and(|agent| agent.names() == Names::Nothing)
    });
    let message = "only a session whose file name contains its id can be forked, and this file name contains none";
    Error::new(ErrorKind::Usage, message).at(path).hint(format!(
        "name a session of {}, or one that opencode exported; those of {} have folders of their own and cannot be forked; -o FILE writes a copy of any file",
        in_a_list(&named, " or "),
        in_a_list(&unnamed, " and ")
    ))
}

/// The names of formats, joined as in a sentence.
fn in_a_list(formats: &[Format], last: &str) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
    match names.split_last() {
        Some((end, rest)) if !rest.is_empty() => [&rest.join(", "), last, end].concat(),
        Some(_) | None => names.concat(),
    }
}
