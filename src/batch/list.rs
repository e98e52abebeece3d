//! A list of inputs: in memory while they are few, in an unnamed file when they are many.
//!
//! Leaves nothing behind, however the run ends. Looks at no input.

mod record;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::source::{FileSource, Origin, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::store::unnamed::{Part, unnamed};
pub(super) use record::{put_number, put_path, take_number, take_path};

/// How many inputs are held in memory: no more than may wait for the threads of a run.
const MOST_HELD: usize = 4_000;

/// Inputs in a given order.
#[derive(Debug)]
pub struct SourceList(Place);

#[derive(Debug)]
enum Place {
    Held(Vec<Source>),
    OnDisk(Tape),
}

/// A list on disk.
#[derive(Debug)]
struct Tape {
    file: File,
    bytes: u64,
    len: u64,
    folders: Vec<Arc<Path>>,
}

/// A list in the making.
#[derive(Debug)]
pub(super) struct ListWriter {
    /// Where the file goes.
    scratch: PathBuf,
    most: usize,
    held: Vec<Source>,
    tape: Option<TapeWriter>,
}

#[derive(Debug)]
struct TapeWriter {
    out: BufWriter<File>,
    len: u64,
    folders: FolderTable,
}

/// Folders, each with its number.
#[derive(Debug, Default)]
pub(super) struct FolderTable {
    /// By their numbers.
    pub(super) folders: Vec<Arc<Path>>,
    numbers: HashMap<Arc<Path>, u32>,
}

impl FolderTable {
    /// The number of a folder, which is added if it is not there.
    pub(super) fn number(&mut self, folder: &Arc<Path>) -> io::Result<u32> {
        if let Some(number) = self.numbers.get(folder) {
            return Ok(*number);
        }
        let number = u32::try_from(self.folders.len()).map_err(io::Error::other)?;
        self.folders.push(Arc::clone(folder));
        self.numbers.insert(Arc::clone(folder), number);
        Ok(number)
    }
}

impl ListWriter {
    /// None yet. A file, if one is needed, goes to `scratch` if that exists, or else to the system's temporary folder.
    pub(super) fn new(scratch: &Path) -> Self {
        ListWriter::with_most(scratch, MOST_HELD)
    }

    /// The same with at most this many in memory.
    pub(super) fn with_most(scratch: &Path, most: usize) -> Self {
        ListWriter {
            scratch: scratch.to_owned(),
            most,
            held: Vec::new(),
            tape: None,
        }
    }

    /// Adds an input behind the others.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub(super) fn push(&mut self, source: Source) -> Result<()> {
        self.put(source).map_err(unkept)
    }

    fn put(&mut self, source: Source) -> io::Result<()> {
        if let Some(tape) = &mut self.tape {
            return tape.push(&source);
        }
        self.held.push(source);
        if self.held.len() > self.most {
            let mut tape = TapeWriter {
                out: unnamed(&self.scratch)?,
                len: 0,
                folders: FolderTable::default(),
            };
            std::mem::take(&mut self.held)
                .iter()
                .try_for_each(|source| tape.push(source))?;
            self.tape = Some(tape);
        }
        Ok(())
    }

    /// The list.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub(super) fn finish(mut self) -> Result<SourceList> {
        Ok(SourceList(match self.tape {
            None => {
                self.held.shrink_to_fit();
                Place::Held(self.held)
            }
            Some(tape) => Place::OnDisk(tape.finish().map_err(unkept)?),
        }))
    }
}

/// The error for a list that cannot be kept.
pub(super) fn unkept(error: io::Error) -> Error {
    let message = format!("cannot keep the list of inputs on the disk: {error}");
    Error::new(ErrorKind::Io, message)
}

impl TapeWriter {
    fn push(&mut self, source: &Source) -> io::Result<()> {
        self.len += 1;
        let out = &mut self.out;
        let file = match source {
            Source::Stdin => return out.write_all(&[Tag::STDIN]),
            Source::File(file) => file,
        };
        out.write_all(&[Tag::of(file.origin)])?;
        match &file.folder {
            None => put_number(out, 0)?,
            Some(folder) => {
                let number = self.folders.number(folder)?;
                put_number(out, number + 1)?;
            }
        }
        put_path(out, &file.path)
    }

    fn finish(self) -> io::Result<Tape> {
        let file = self.out.into_inner().map_err(io::Error::from)?;
        Ok(Tape {
            bytes: file.metadata()?.len(),
            file,
            len: self.len,
            folders: self.folders.folders,
        })
    }
}

/// What kind of input a record is about.
struct Tag;

impl Tag {
    const STDIN: u8 = 0;
    const NAMED: u8 = 1;

    fn of(origin: Origin) -> u8 {
        match origin {
            Origin::Named => Tag::NAMED,
            Origin::Walked => Tag::NAMED + 1,
        }
    }

    fn origin(tag: u8) -> Origin {
        match tag {
            Tag::NAMED => Origin::Named,
            _ => Origin::Walked,
        }
    }
}

impl Tape {
    fn next(&self, read: &mut BufReader<Part<'_>>) -> io::Result<Option<Source>> {
        let Some(tag) = read.fill_buf()?.first().copied() else {
            return Ok(None);
        };
        read.consume(1);
        if tag == Tag::STDIN {
            return Ok(Some(Source::Stdin));
        }
        let folder = match take_number(read)?.checked_sub(1) {
            None => None,
            Some(number) => {
                let folder = self.folders.get(number as usize);
                Some(folder.cloned().ok_or(io::ErrorKind::InvalidData)?)
            }
        };
        Ok(Some(Source::File(FileSource {
            path: take_path(read)?,
            folder,
            origin: Tag::origin(tag),
        })))
    }
}

impl SourceList {
    /// The number of inputs.
    pub fn len(&self) -> u64 {
        match &self.0 {
            Place::Held(held) => held.len() as u64,
            Place::OnDisk(tape) => tape.len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cfg(test)]
    fn is_held(&self) -> bool {
        matches!(self.0, Place::Held(_))
    }

    /// The inputs in order.
    pub fn iter(&self) -> Sources<'_> {
        Sources(match &self.0 {
            Place::Held(held) => From::Held(held.iter()),
            Place::OnDisk(tape) => From::OnDisk(tape, Part::of(&tape.file, 0, tape.bytes)),
        })
    }

    /// The inputs that `is_wanted` accepts. A file, if one is needed, goes to `scratch` if that exists.
    ///
    /// # Errors
    /// If the list cannot be read or written; those of `is_wanted`.
    pub fn filtered(
        &self,
        scratch: &Path,
        mut is_wanted: impl FnMut(&Source) -> Result<bool>,
    ) -> Result<Self> {
        let mut wanted = ListWriter::new(scratch);
        for source in self.iter() {
            let source = source?;
            if is_wanted(&source)? {
                wanted.push(source.into_owned())?;
            }
        }
        wanted.finish()
    }

    /// All inputs, in memory.
    ///
    /// # Errors
    /// If they cannot be read back from disk.
    pub fn to_vec(&self) -> Result<Vec<Source>> {
        self.iter().map(|source| Ok(source?.into_owned())).collect()
    }
}

impl Default for SourceList {
    fn default() -> Self {
        SourceList(Place::Held(Vec::new()))
    }
}

/// A list in memory, for a few.
impl FromIterator<Source> for SourceList {
    fn from_iter<T: IntoIterator<Item = Source>>(sources: T) -> Self {
        SourceList(Place::Held(sources.into_iter().collect()))
    }
}

/// The inputs of a list.
#[derive(Debug)]
pub struct Sources<'l>(From<'l>);

#[derive(Debug)]
enum From<'l> {
    Held(std::slice::Iter<'l, Source>),
    OnDisk(&'l Tape, BufReader<Part<'l>>),
}

impl<'l> Iterator for Sources<'l> {
    type Item = Result<Cow<'l, Source>>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            From::Held(held) => held.next().map(|source| Ok(Cow::Borrowed(source))),
            From::OnDisk(tape, read) => {
                let next = tape.next(read).map_err(unkept).transpose();
                next.map(|source| source.map(Cow::Owned))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_disk_reads_as_what_is_held() {
        let place = tempfile::tempdir().unwrap();
        let folders: [Option<Arc<Path>>; 3] = [
            None,
            Some(Path::new("a").into()),
            Some(Path::new("").into()),
        ];
        let file = |n: usize| {
            Source::File(FileSource {
                path: PathBuf::from(format!("a/{n}.jsonl")),
                folder: folders[n % 3].clone(),
                origin: [Origin::Named, Origin::Walked][n % 2],
            })
        };
        let all: Vec<Source> = std::iter::once(Source::Stdin)
            .chain((0..50).map(file))
            .collect();
        for most in [0, 1, 50, 51, 100] {
            let mut list = ListWriter::with_most(place.path(), most);
            all.iter()
                .for_each(|source| list.push(source.clone()).unwrap());
            let list = list.finish().unwrap();
            assert_eq!(list.is_held(), most >= all.len());
            assert_eq!((list.len(), list.is_empty()), (51, false));
            assert_eq!(list.to_vec().unwrap(), all);
            let first: Vec<Source> = list
                .iter()
                .take(2)
                .map(|s| s.unwrap().into_owned())
                .collect();
            assert_eq!(first, all[..2]);
        }
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
    }
}
