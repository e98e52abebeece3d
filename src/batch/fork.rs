//! Forks: a compacted copy as a session of its own, beside the original where the agent looks for it.
//!
//! The new id follows from the old one and the bytes, so that the same session always gives the same fork. Never changes the
//! original; what it reads before the run is the name and the hash.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::format::agent::{Agent, id_of_copy, under_id};
use crate::format::{Detected, Format, Layout};
use crate::store::{hash_of, open_transcript};

/// The session that an output becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The file of the new session.
    pub output: PathBuf,
    /// The format of its agent.
    format: Format,
    /// The new id.
    id: String,
}

impl Fork {
    /// The fork of a session, by its file.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] where the file has not the name of a session; [`ErrorKind::Io`] where it cannot be read.
    pub fn of(path: &Path) -> Result<Fork> {
        let name = path.file_name().and_then(|name| name.to_str());
        let of_format = |format: Format| {
            let id = format.agent()?.id_of_name(name?)?;
            Some((format, id))
        };
        let formats = Format::of_agents();
        let Some((format, id)) = formats.iter().copied().find_map(of_format) else {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            let message = "a fork is made of a session, and this file has not the name of one";
            return Err(Error::new(ErrorKind::Usage, message).at(path).hint(format!(
                "name a session of {}; -o FILE writes a copy of any file",
                names.join(", ")
            )));
        };
        let (mut file, _) = open_transcript(path)?;
        let hash = hash_of(&mut file).map_err(|e| Error::io(path, "read", e))?;
        let new = id_of_copy(id, &hash);
        let renamed = name.unwrap_or_default().replace(id, &new);
        Ok(Fork {
            output: path.with_file_name(renamed),
            format,
            id: new,
        })
    }

    /// Refuses what its agent does not read.
    pub(super) fn check(&self, detected: &Detected) -> Result<&'static dyn Agent> {
        let is_its =
            matches!(detected, Detected::Known(format, Layout::File) if *format == self.format);
        match self.format.agent().filter(|_| is_its) {
            Some(agent) => Ok(agent),
            None => {
                let message = format!(
                    "this is not a session of {}, although its name is that of one",
                    self.format.name()
                );
                Err(Error::new(ErrorKind::Unsupported, message)
                    .hint("-o FILE writes a copy of any file"))
            }
        }
    }

    /// The bytes of the original under the new id.
    pub(super) fn renamed<'p>(
        &self,
        agent: &dyn Agent,
        pieces: impl Iterator<Item = &'p [u8]>,
    ) -> Vec<u8> {
        let mut text = Vec::new();
        pieces.for_each(|piece| text.extend_from_slice(piece));
        under_id(agent, &text, &self.id)
    }
}
