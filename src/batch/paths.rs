//! The paths that a command line names: those on it, and those in a list, however long that is.
//!
//! Holds only the beginning of a long list in memory. Looks at no path.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use super::list::unkept;
use crate::error::{Error, Result};
use crate::store::unnamed::{Part, unnamed};

/// Lists up to this size are held in memory, in bytes.
const MOST_HELD: u64 = 1 << 20;

/// The paths, in the order in which they were named.
#[derive(Debug, Default)]
pub struct Paths {
    named: Vec<PathBuf>,
    list: Option<NameList>,
}

/// A long list of names, in an unnamed file.
#[derive(Debug)]
struct NameList {
    file: File,
    bytes: u64,
    end: End,
    /// Where it came from.
    path: PathBuf,
}

/// What ends each name in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Line,
    /// As `find -print0` writes them.
    Nul,
}

impl Paths {
    /// These paths.
    pub fn new(named: Vec<PathBuf>) -> Self {
        Paths { named, list: None }
    }

    /// Adds one.
    pub fn push(&mut self, path: PathBuf) {
        self.named.push(path);
    }

    /// The same and those of a list that was read from `path`: one per line, or separated by NUL bytes.
    ///
    /// # Errors
    /// If the list cannot be read, or has names that the system does not have ([`ErrorKind::Usage`]).
    pub fn with_list(mut self, path: &Path, list: impl Read) -> Result<Self> {
        self.list_of(path, list, MOST_HELD)?;
        Ok(self)
    }

    fn list_of<R: Read>(&mut self, path: &Path, mut list: R, most: u64) -> Result<()> {
        let unread = |e| Error::io(path, "read the list of files", e);
        let read_all = |mut from: io::Take<&mut R>, bytes: &mut Vec<u8>| {
            from.read_to_end(bytes).map(drop).map_err(unread)
        };
        let mut bytes = Vec::new();
        read_all(list.by_ref().take(most + 1), &mut bytes)?;
        let end = End::of(&bytes);
        if bytes.len() as u64 <= most {
            for name in names(&bytes[..], end) {
                let named = path_of(name.map_err(unread)?, path)?;
                self.named.push(named);
            }
            return Ok(());
        }
        let mut out = unnamed(&std::env::temp_dir()).map_err(unkept)?;
        let (mut length, mut end) = (0, end);
        while !bytes.is_empty() {
            out.write_all(&bytes).map_err(unkept)?;
            length += bytes.len() as u64;
            if End::of(&bytes) == End::Nul {
                end = End::Nul;
            }
            bytes.clear();
            let piece = list.by_ref().take(most + 1);
            read_all(piece, &mut bytes)?;
        }
        self.list = Some(NameList {
            file: out.into_inner().map_err(|e| unkept(e.into()))?,
            bytes: length,
            end,
            path: path.to_owned(),
        });
        Ok(())
    }

    /// The paths, if they are held in memory because they are few.
    pub fn held(&self) -> Option<&[PathBuf]> {
        match self.list {
            None => Some(&self.named),
            Some(_) => None,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.list.is_none()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Result<Cow<'_, Path>>> {
        let named = self.named.iter().map(|path| Ok(Cow::Borrowed(&**path)));
        let listed = self.list.iter().flat_map(NameList::iter);
        named.chain(listed.map(|path| Ok(Cow::Owned(path?))))
    }
}

impl NameList {
    fn iter(&self) -> impl Iterator<Item = Result<PathBuf>> {
        let read = Part::of(&self.file, 0, self.bytes);
        let names = names(read, self.end);
        names.map(|name| path_of(name.map_err(unkept)?, &self.path))
    }
}

impl End {
    fn of(bytes: &[u8]) -> Self {
        match bytes.contains(&0) {
            true => End::Nul,
            false => End::Line,
        }
    }
}

/// The names in a list.
fn names(mut list: impl BufRead, end: End) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    let byte = match end {
        End::Line => b'\n',
        End::Nul => 0,
    };
    std::iter::from_fn(move || {
        loop {
            let mut name = Vec::new();
            match list.read_until(byte, &mut name) {
                Err(error) => return Some(Err(error)),
                Ok(0) => return None,
                Ok(_) => {}
            }
            name.pop_if(|last| *last == byte);
            if end == End::Line {
                name.pop_if(|last| *last == b'\r');
            }
            if !name.is_empty() {
                return Some(Ok(name));
            }
        }
    })
}

/// The path of these bytes in the list at `list`.
#[cfg(unix)]
fn path_of(bytes: Vec<u8>, _: &Path) -> Result<PathBuf> {
    let path: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    Ok(path.into())
}

/// As there.
#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>, list: &Path) -> Result<PathBuf> {
    let not_text =
        |_| Error::new(crate::ErrorKind::Usage, "the list of files is not UTF-8").at(list);
    String::from_utf8(bytes)
        .map(PathBuf::from)
        .map_err(not_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_reads_as_a_short_one() {
        for (list, expected) in [
            ("", &[][..]),
            ("\n\r\n", &[]),
            ("a", &["a"]),
            ("a\nb/c d\r\n\ne\n", &["a", "b/c d", "e"]),
            ("a\nb\0\0c\r\0", &["a\nb", "c\r"]),
        ] {
            let expected = ["first"].iter().chain(expected);
            let expected: Vec<PathBuf> = expected.map(PathBuf::from).collect();
            for most in [0, 1, 3, 100] {
                let mut paths = Paths::new(vec![PathBuf::from("first")]);
                paths
                    .list_of(Path::new("list"), list.as_bytes(), most)
                    .unwrap();
                let read: Result<Vec<Cow<'_, Path>>> = paths.iter().collect();
                assert_eq!(read.unwrap(), expected, "{list:?} by {most}");
                assert_eq!(paths.held().is_some(), list.len() as u64 <= most);
            }
        }
    }
}
