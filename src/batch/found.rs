//! What a command line was found to name.
//!
//! Looks at no file.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::key_set::{KeySet, place_key};
use super::list::{SourceList, unkept};
use super::skipped::Skipped;
use super::sorter::Sorter;
use super::source::Source;
use crate::error::{Error, Result};
use crate::outcome::path_text;

/// The inputs that a command line names.
#[derive(Debug, Default)]
pub struct Found {
    /// The inputs, sorted, each once.
    pub sources: SourceList,
    /// The folders that were named and walked.
    pub folders: Vec<PathBuf>,
    /// What was named but does not exist or cannot be accessed.
    pub missing: Vec<Error>,
    /// What a walk skipped although nothing failed.
    pub skipped: Skipped,
    /// The number of inputs that a walk of the folders has handed on; they are not in `sources`.
    pub met: u64,
}

impl Found {
    /// The number of inputs, including those that cannot be read.
    pub fn len(&self) -> u64 {
        self.met + self.sources.len() + self.missing.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The inputs that `is_meant` accepts, as named in reports.
    ///
    /// # Errors
    /// If the list of inputs cannot be kept or read.
    pub fn names_of(&self, is_meant: impl Fn(&Source) -> bool) -> Result<KeySet> {
        let scratch = std::env::temp_dir();
        let mut names = Sorter::new(&scratch);
        for source in self.sources.iter() {
            let source = source?;
            if is_meant(&source) {
                let name = path_text(source.path());
                names.add(place_key(Path::new(&name))).map_err(unkept)?;
            }
        }
        KeySet::of(names, &scratch).map_err(unkept)
    }

    /// The names that `name_of` gives to more than one input.
    ///
    /// # Errors
    /// If the list of inputs, or that of names, cannot be kept or read.
    pub fn repeated_names(&self, name_of: impl Fn(&Source) -> Option<PathBuf>) -> Result<KeySet> {
        let scratch = std::env::temp_dir();
        let mut names = Sorter::new(&scratch);
        for source in self.sources.iter() {
            if let Some(name) = name_of(&*source?) {
                names.add(place_key(&name)).map_err(unkept)?;
            }
        }
        KeySet::repeated(names, &scratch).map_err(unkept)
    }

    /// The walked folders, by the inputs that were found below them, as named in reports: below such a folder no link is followed.
    ///
    /// # Errors
    /// If the list of inputs cannot be kept or read.
    pub fn folders_of_inputs(&self) -> Result<FoldersOfInputs<'_>> {
        let named = |folder: &Path| PathBuf::from(path_text(folder));
        let folders = self.folders.iter();
        Ok(FoldersOfInputs {
            walked: folders.map(|folder| (named(folder), &**folder)).collect(),
            alone: self.names_of(|source| source.folder().is_none())?,
        })
    }
}

/// The folders below which inputs were found.
#[derive(Debug)]
pub struct FoldersOfInputs<'f> {
    /// As named in reports.
    walked: HashMap<PathBuf, &'f Path>,
    /// Inputs that were found below none of them.
    alone: KeySet,
}

impl FoldersOfInputs<'_> {
    /// The folder of the input that reports call `input`.
    ///
    /// # Errors
    /// If the list of inputs cannot be read.
    pub fn of(&self, input: &str) -> io::Result<Option<&Path>> {
        let input = Path::new(input);
        if self.alone.has(input)? {
            return Ok(None);
        }
        let mut above = input.ancestors();
        Ok(above.find_map(|folder| self.walked.get(folder)).copied())
    }
}
