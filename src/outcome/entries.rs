//! The entries of a report, in memory or on disk: a reader asks for one after the other, as often as needed.
//!
//! PURE. Says what can be asked, and answers it for entries in memory.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use serde::Serialize;

use super::{Entry, Examined, Figures, FileStatus, Find, OriginalKind, Outcome};
use crate::error::{Error, ErrorKind};

/// More bytes than most outcomes have before their format.
const HEAD_BYTES: usize = 512;

/// What decides whether a short list names an entry, and what holding it costs.
pub trait Listed: Entry + Clone + Serialize {
    /// How much it matters among others, in tokens.
    fn weight(&self) -> u64;

    /// Whether anything is said of it besides its figures.
    fn is_remarkable(&self) -> bool;

    /// How many parts it has that take memory.
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
    /// The entry that this JSON is.
    ///
    /// # Errors
    /// What is no such entry.
    fn read_back(json: &[u8]) -> serde_json::Result<Self>;
}

impl ReadBack for Outcome {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

/// Entries in the order of a report, of which not all need be in memory. Places count from 0.
pub trait Entries<E: Listed = Outcome>: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one at a place.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn get(&self, at: usize) -> io::Result<Cow<'_, E>>;

    /// The same as JSON on one line, without its end.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn json(&self, at: usize) -> io::Result<Cow<'_, [u8]>> {
        Ok(Cow::Owned(serde_json::to_vec(&*self.get(at)?)?))
    }

    /// How many bytes the JSON of one has, if it is on the disk; 0 for what is in memory anyway.
    fn bytes_on_disk(&self, at: usize) -> u64 {
        let _ = at;
        0
    }

    /// Shows the JSON of those at these places, each with its place.
    ///
    /// # Errors
    /// Where one cannot be read.
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

    /// Shows all.
    ///
    /// # Errors
    /// The errors of `show`, and where one cannot be read.
    fn each(&self, show: &mut dyn FnMut(&E) -> io::Result<()>) -> io::Result<()> {
        (0..self.len()).try_for_each(|at| show(&*self.get(at)?))
    }

    /// Shows those of which something is said besides their figures, with their places.
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
    /// How the JSON of an outcome of this input with this output begins: it need not be parsed to know whose it is.
    ///
    /// # Errors
    /// The errors of serde, of which none is known.
    pub fn begin_of_json(input: &str, output: Option<&str>) -> serde_json::Result<Vec<u8>> {
        let mut begin = Vec::with_capacity(HEAD_BYTES);
        begin.extend_from_slice(br#"{"input":"#);
        serde_json::to_writer(&mut begin, input)?;
        begin.extend_from_slice(br#","output":"#);
        serde_json::to_writer(&mut begin, &output)?;
        begin.push(b',');
        Ok(begin)
    }

    /// The same of an input that has this path now, and its output that one.
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

    /// The tokens that were saved.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before().saturating_sub(self.tokens_after())
    }
}
