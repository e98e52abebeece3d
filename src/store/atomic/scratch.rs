//! A file for data that is too large for memory: it has a temporary name in one of our folders, and is removed when it is dropped.
//!
//! Never gets a lasting name.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::nameless::TempFile;
use crate::store::folder::{Access, Folder};

/// The file. Only its owner can read it.
#[derive(Debug)]
pub struct Scratch(TempFile);

impl Scratch {
    /// Creates a new one in `folder`.
    pub(in crate::store) fn create(folder: &Folder) -> io::Result<Self> {
        TempFile::create(folder, Access::Private).map(Scratch)
    }

    /// Appends to what has been written.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.file.seek(SeekFrom::End(0))?;
        self.0.file.write_all(bytes)
    }

    /// Copies `bytes` bytes, starting at `at`, to the end of another file.
    ///
    /// # Errors
    ///
    /// The system's; [`io::ErrorKind::UnexpectedEof`] when there are fewer.
    pub fn copy_to(&mut self, (at, bytes): (u64, u64), other: &mut dyn Write) -> io::Result<()> {
        self.0.file.seek(SeekFrom::Start(at))?;
        let copied = io::copy(&mut (&self.0.file).take(bytes), other)?;
        match copied == bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// A handle at the beginning of the file, for someone else to read or write. Handles share their position in the file.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn opened(&mut self) -> io::Result<File> {
        self.0.file.seek(SeekFrom::Start(0))?;
        self.0.file.try_clone()
    }
}

impl Write for Scratch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
