//! The entries of a report, in memory or on disk: a reader can access them one by one, repeatedly.
//!
//! PURE. Defines the interface, and implements it for entries in memory.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use serde::Serialize;
use serde::de::IgnoredAny;

use super::{Entry, Examined, Figures, FileStatus, Find, OriginalKind, Outcome};
use crate::error::{Error, ErrorKind};

/// More bytes than precede the format in most outcomes.
const HEAD_BYTES: usize = 512;

/// What determines whether a short list names an entry, and the cost of holding it.
pub trait Listed: Entry + Clone + Serialize {
    /// Its weight relative to others, in tokens.
    fn weight(&self) -> u64;

    /// Whether there is anything to report besides its figures.
    fn is_remarkable(&self) -> bool;

    /// The number of its parts that take memory.
    fn parts(&self) -> usize;
}

impl Listed for Outcome {
    fn weight(&self) -> u64 {
        self.tokens_saved()
    }

    fn is_remarkable(&self) -> bool {
        Figures::of(self).is_remarkable()
    }

    fn parts(&self) -> usize {
        let actions: usize = self.conversations.iter().map(|c| c.actions.len()).sum();
        actions + self.conversations.len() + self.warnings.len()
    }
}

impl<T: Find + Clone + Serialize> Listed for Examined<T> {
    fn weight(&self) -> u64 {
        self.found.weight()
    }

    fn is_remarkable(&self) -> bool {
        match self.status {
            FileStatus::Examined => self.file.error.is_some() || !self.warnings.is_empty(),
            FileStatus::Unsupported(_) | FileStatus::Failed => true,
        }
    }

    fn parts(&self) -> usize {
        self.found.parts() + self.warnings.len()
    }
}

/// An entry that can be read back from its JSON.
pub trait ReadBack: Sized {
    /// Reads an entry from its JSON.
    ///
    /// # Errors
    /// If the JSON is not such an entry.
    fn read_back(json: &[u8]) -> serde_json::Result<Self>;
}

impl ReadBack for Outcome {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

/// Entries in the order of a report, not all of which need be in memory. Indices count from 0.
pub trait Entries<E: Listed = Outcome>: Sync {
    /// The number of entries.
    fn len(&self) -> usize;

    /// Whether there are no entries.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at an index.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn get(&self, at: usize) -> io::Result<Cow<'_, E>>;

    /// The entry as JSON on one line, without the line end.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn json(&self, at: usize) -> io::Result<Cow<'_, [u8]>> {
        Ok(Cow::Owned(serde_json::to_vec(&*self.get(at)?)?))
    }

    /// The size in bytes of an entry's JSON, if it is on disk; 0 for entries in memory.
    fn bytes_on_disk(&self, at: usize) -> u64 {
        let _ = at;
        0
    }

    /// Calls `show` with the index and the JSON of each entry in this range.
    ///
    /// # Errors
    /// If an entry cannot be read.
    fn each_json(
        &self,
        places: Range<usize>,
        show: &mut dyn FnMut(usize, &[u8]),
    ) -> io::Result<()> {
        for at in places {
            show(at, &self.json(at)?);
        }
        Ok(())
    }

    /// Its [`Listed::weight`].
    ///
    /// # Errors
    /// Where it cannot be read.
    fn weight(&self, at: usize) -> io::Result<u64> {
        Ok(self.get(at)?.weight())
    }

    /// Whether [`Listed::is_remarkable`].
    ///
    /// # Errors
    /// Where it cannot be read.
    fn is_remarkable(&self, at: usize) -> io::Result<bool> {
        Ok(self.get(at)?.is_remarkable())
    }

    /// Calls `show` with each entry.
    ///
    /// # Errors
    /// The errors of `show`, and where one cannot be read.
    fn each(&self, show: &mut dyn FnMut(&E) -> io::Result<()>) -> io::Result<()> {
        (0..self.len()).try_for_each(|at| show(&*self.get(at)?))
    }

    /// Calls `show` with the index and the entry of each remarkable one.
    ///
    /// # Errors
    /// The errors of `show`, and where one cannot be read.
    fn each_remarkable(&self, show: &mut dyn FnMut(usize, &E) -> io::Result<()>) -> io::Result<()> {
        (0..self.len()).try_for_each(|at| match self.is_remarkable(at)? {
            true => show(at, &*self.get(at)?),
            false => Ok(()),
        })
    }
}

impl<E: Listed + Sync> Entries<E> for &[E] {
    fn len(&self) -> usize {
        <[E]>::len(self)
    }

    fn get(&self, at: usize) -> io::Result<Cow<'_, E>> {
        let there = <[E]>::get(self, at).map(Cow::Borrowed);
        there.ok_or_else(|| io::Error::other("there is no such entry"))
    }
}

/// Why an entry cannot be read.
pub fn unread(error: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("an outcome cannot be read back from the disk: {error}"),
    )
}

impl Outcome {
    /// The beginning of the JSON of an outcome with this input and output, which identifies it without parsing.
    ///
    /// # Errors
    /// The errors of serde; none is known to occur.
    pub fn begin_of_json(input: &str, output: Option<&str>) -> serde_json::Result<Vec<u8>> {
        let mut begin = Vec::with_capacity(HEAD_BYTES);
        begin.extend_from_slice(br#"{"input":"#);
        serde_json::to_writer(&mut begin, input)?;
        begin.extend_from_slice(br#","output":"#);
        serde_json::to_writer(&mut begin, &output)?;
        begin.push(b',');
        Ok(begin)
    }

    /// The beginning of this JSON of an outcome that [`Outcome::begin_of_json`] would write; `None` if there is no such beginning.
    pub fn beginning_in(json: &[u8]) -> Option<&[u8]> {
        let after = |at: usize, key: &[u8]| {
            let rest = json.get(at..)?.strip_prefix(key)?;
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
            values.next()?.ok()?;
            Some(at + key.len() + values.byte_offset())
        };
        let input = after(0, br#"{"input":"#)?;
        let output = after(input, br#","output":"#)?;
        json.get(..=output).filter(|begin| begin.ends_with(b","))
    }

    /// The same outcome after the input and the output were moved to these paths.
    #[must_use]
    pub fn moved(mut self, input: String, output: Option<String>) -> Self {
        if let Some(original) = &mut self.original
            && original.kind == OriginalKind::Input
        {
            original.path.clone_from(&input);
        }
        self.file.path = input;
        self.output = output;
        self
    }

    /// The number of tokens saved.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before().saturating_sub(self.tokens_after())
    }
}
