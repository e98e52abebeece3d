//! A file for what is too large for memory: it has a temporary name in a folder of ours, and is gone when it is dropped.
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
    /// A new one in `folder`.
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

    /// Copies `bytes` bytes from `at` on to the end of another one.
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

    /// The file from its beginning, to be read or written by somebody else. Handles share their place in it.
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
