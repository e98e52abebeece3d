//! Tool outputs that left a transcript: text files under the hash of what they hold.
//!
//! The name is what a placeholder in a transcript says, so it comes back to us from files that anybody may have
//! written. Never reads or writes outside `offloaded/`, and never returns bytes that are not those of the name.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

use super::atomic::{Durability, IfTaken, Mode, Temp};
use super::{Store, content_name, is_content_name, open_regular};
use crate::error::{Error, ErrorKind, Result};

pub(super) const OFFLOADED: &str = "offloaded";
const ENDING: &str = ".txt";

/// The name of `content` in any store: `offloaded/<32hex>.txt`, relative to the store. Pure.
pub fn offload_name(content: &[u8]) -> String {
    content_name(OFFLOADED, &blake3::hash(content), ENDING)
}

/// Whether `name` has exactly the form that [`offload_name`] gives. Pure.
pub fn is_offload_name(name: &str) -> bool {
    is_content_name(name, OFFLOADED, ENDING)
}

impl Store {
    /// Keeps `content` and gives its name. Content that is there already is checked and left.
    ///
    /// With [`Durability::Durable`] the content is on the disk; its name is after the next [`Store::record`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when a file of that name holds something else; [`ErrorKind::Io`] when the system
    /// refuses.
    pub fn put_offload(&self, content: &[u8]) -> Result<String> {
        let name = offload_name(content);
        let folder = self.folder(OFFLOADED)?;
        let path = self.root.join(&name);
        // Looked at without following links: a dangling one counts as taken, and is refused by the read.
        if fs::symlink_metadata(&path).is_err() {
            let failed = |e| Error::io(&path, "write", e);
            let mut temp = Temp::create(&folder, Mode::Private, None).map_err(failed)?;
            temp.write_all(content).map_err(failed)?;
            if self.durability == Durability::Durable {
                temp.sync().map_err(failed)?;
            }
            match temp.persist(&path, IfTaken::Fail, Durability::Lazy) {
                Ok(_) => return Ok(name),
                // Another thread or run kept the same content meanwhile.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(e)),
            }
        }
        self.read_offload(&name).map(|_| name)
    }

    /// The content of a name that [`offload_name`] made, from this store.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when the name has any other form, when no such content is kept, when what is there
    /// is a link or not a regular file, or when its bytes are not those that the name stands for.
    pub fn read_offload(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.offload_path(name)?;
        let mut content = Vec::new();
        open_regular(&path)
            .and_then(|mut file| file.read_to_end(&mut content))
            .map_err(|e| Error {
                kind: ErrorKind::Store,
                ..Error::io(&path, "read the offloaded content", e)
                    .hint("it belongs to the store that the transcript was compacted into; name that with --store")
            })?;
        if offload_name(&content) != name {
            return Err(Error::new(
                ErrorKind::Store,
                "the offloaded content is damaged: its hash is not its name",
            )
            .at(&path)
            .hint("delete the file; compacting the original again writes it anew"));
        }
        Ok(content)
    }

    fn offload_path(&self, name: &str) -> Result<PathBuf> {
        if is_offload_name(name) {
            return Ok(self.root.join(name));
        }
        // The name itself is not shown: it may be of any length, and steer a terminal.
        Err(Error::new(
            ErrorKind::Store,
            "a transcript names an offloaded content in a way that ctxpack never does",
        )
        .hint("names have the form offloaded/<32 hexadecimal digits>.txt"))
    }
}
