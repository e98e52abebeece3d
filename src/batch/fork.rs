//! Forks: a compacted copy as a session of its own, beside the original where the agent looks for it, or as a document that the agent
//! takes.
//!
//! The new id follows from the old one and the bytes, and that of a document from the policy, too, so that the same session always
//! gives the same fork. Never changes the original.

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
    known_by: KnownBy,
}

/// What shows whose session a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownBy {
    /// Its name.
    Name,
    /// The id in it.
    Content,
}

impl Fork {
    /// The fork of the session in a file, by a policy with that hash.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such file; [`ErrorKind::Usage`] if it is neither named like a session nor a document that an
    /// agent takes; [`ErrorKind::Io`] where it cannot be read.
    pub fn of(path: &Path, policy_hash: &str) -> Result<Fork> {
        if !path.exists() {
            return Err(not_there(path));
        }
        if let Some(fork) = Fork::of_document(path, policy_hash)? {
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
            known_by: KnownBy::Name,
        })
    }

    /// The fork of the session in a document that an agent takes; `None` if the file is none. An agent that has taken a fork does not
    /// take another one of the same id in its place, so that the id depends on the policy, too.
    fn of_document(path: &Path, policy_hash: &str) -> Result<Option<Fork>> {
        /// More than enough for the beginning of a document.
        const BEGINNING: u64 = 64 << 10;
        let read = |e| Error::io(path, "read", e);
        let (mut file, _) = open_transcript(path)?;
        let mut text = Vec::new();
        let begun = (&mut file).take(BEGINNING).read_to_end(&mut text);
        let is_whole = (begun.map_err(read)? as u64) < BEGINNING;
        let begins = |format: &Format| {
            let importer = format.importer();
            importer.is_some_and(|importer| importer.may_begin(&text))
        };
        let may_be_one = is_whole || begins_document(&text);
        let Some(format) = Format::ALL.into_iter().find(begins).filter(|_| may_be_one) else {
            return Ok(None);
        };
        file.read_to_end(&mut text).map_err(read)?;
        let hash = hash_of(&mut text.as_slice()).map_err(read)?;
        let importer = format.importer();
        let id = importer
            .and_then(|importer| importer.id_of_copy(&text, &format!("{hash}\n{policy_hash}")));
        Ok(id.map(|id| Fork {
            output: path.with_file_name(format!("{id}.json")),
            formats: vec![format],
            id,
            known_by: KnownBy::Content,
        }))
    }

    /// The format of the session; rejects an input that its agent does not read.
    pub(super) fn check(&self, detected: &Detected) -> Result<Format> {
        let own = in_a_list(&self.formats, " or ");
        let message = match detected {
            Detected::Known(format, Layout::File) if self.formats.contains(format) => {
                return Ok(*format);
            }
            Detected::Unsupported(why) if self.known_by == KnownBy::Content => {
                format!("this session of {own} is not read: {why}")
            }
            Detected::Known(..) | Detected::Unsupported(_) => match self.known_by {
                KnownBy::Name => {
                    format!("this is not a session of {own}, although it is named like one")
                }
                KnownBy::Content => {
                    format!("this is not a session of {own}, although it has the id of one")
                }
            },
        };
        let error = Error::new(ErrorKind::Unsupported, message);
        Err(error.hint("-o FILE writes a copy of any file"))
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
    let mut documents = Format::ALL.to_vec();
    documents.retain(|format| format.importer().is_some());
    let message = "only a session whose file name contains its id can be forked, and this file name contains none";
    Error::new(ErrorKind::Usage, message).at(path).hint(format!(
        "name a session of {}, or one that {} exported; those of {} have folders of their own and cannot be forked; -o FILE writes a copy of any file",
        in_a_list(&named, " or "),
        in_a_list(&documents, " or "),
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
