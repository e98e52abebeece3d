//! The value of a key that names a folder: its path as it was written, and the folder that this path counts from.
//!
//! Only what was written is read, shown and hashed, so that a policy has one hash wherever a command starts. Never opens a folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::domain::Domain;
use super::key::Type;

/// A folder that a policy names; "" means none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct FolderPath {
    written: String,
    /// Where a relative path starts; "" is the current folder.
    base: PathBuf,
}

impl FolderPath {
    /// Whether no folder is named.
    pub fn is_none(&self) -> bool {
        self.written.is_empty()
    }

    /// The path to open; `None` if no folder is named.
    pub fn path(&self) -> Option<PathBuf> {
        (!self.is_none()).then(|| self.base.join(&self.written))
    }

    /// The same path, which counts from the folder of the file that names it.
    #[must_use]
    pub fn named_in(self, file: &Path) -> Self {
        FolderPath {
            base: file.with_file_name(""),
            ..self
        }
    }
}

impl From<String> for FolderPath {
    fn from(written: String) -> Self {
        FolderPath {
            written,
            base: PathBuf::new(),
        }
    }
}

impl From<FolderPath> for String {
    fn from(folder: FolderPath) -> Self {
        folder.written
    }
}

impl Type for FolderPath {
    type Written = &'static str;
    const DOMAIN: Domain = Domain::Text;
    fn from_written(written: &'static str) -> Self {
        FolderPath::from(written.to_owned())
    }
}
