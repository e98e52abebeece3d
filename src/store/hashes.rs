//! Hashes of contents, and the names derived from them.
//!
//! Reads files that are open; opens none.

use std::fs::File;
use std::io::{self, Read};

/// The number of hexadecimal digits of a BLAKE3 hash in a file's name.
pub(super) const NAME_DIGITS: usize = 32;

/// The hash digits in the name of a content, whatever its folder and ending.
pub(super) fn digits(name: &str) -> &str {
    let file = name.split_once('/').map_or(name, |(_, file)| file);
    file.get(..NAME_DIGITS).unwrap_or(file)
}
/// The prefix of hashes.
const HASH: &str = "blake3:";
/// Files of fewer bytes are hashed through a small buffer.
const SMALL: usize = 8 * 1024;

/// `blake3:` and the 64 hexadecimal digits of the hash of `bytes`. All hashes are written in this form.
pub fn hash(bytes: &[u8]) -> String {
    hash_text(&blake3::hash(bytes))
}

/// The [`hash`] of a whole file.
///
/// # Errors
///
/// The system's.
pub fn hash_of(file: &mut impl Read) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    // Allocating the large buffer for the rest would cost more than reading most files of an archive.
    let mut first = Vec::with_capacity(SMALL);
    let read = file.by_ref().take(SMALL as u64).read_to_end(&mut first)?;
    hasher.update(&first);
    if read < SMALL {
        return Ok(hash_text(&hasher.finalize()));
    }
    hasher.update_reader(file)?;
    Ok(hash_text(&hasher.finalize()))
}

/// Whether a file, read from its beginning, has `bytes` bytes and this [`hash`]. A small file takes one system call.
///
/// # Errors
///
/// The system's.
pub fn has_hash(file: &mut File, bytes: u64, hash: &str) -> io::Result<bool> {
    // One more byte than expected, so that appended bytes are noticed.
    let most = bytes.saturating_add(1);
    let Some(room) = usize::try_from(most).ok().filter(|room| *room <= SMALL) else {
        return Ok(hash_of(&mut file.take(most))? == hash);
    };
    let mut all = vec![0; room];
    let mut read = 0;
    while read + 1 < room {
        match file.read(&mut all[read..]) {
            Ok(0) => return Ok(false),
            Ok(more) => read += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let expected = hash
        .strip_prefix(HASH)
        .and_then(|digits| blake3::Hash::from_hex(digits).ok());
    Ok(read + 1 == room && expected == Some(blake3::hash(&all[..read])))
}

pub(super) fn hash_text(hash: &blake3::Hash) -> String {
    [HASH, &*hash.to_hex()].concat()
}

/// `folder/<32hex><ending>`, with the hash of the content.
pub(super) fn content_name(folder: &str, hash: &blake3::Hash, ending: &str) -> String {
    format!("{folder}/{}{ending}", &hash.to_hex()[..NAME_DIGITS])
}

/// Whether `name` has exactly the form of a [`content_name`], so that it is safe to join to the root.
pub(super) fn is_content_name(name: &str, folder: &str, ending: &str) -> bool {
    name.strip_prefix(folder)
        .and_then(|name| name.strip_prefix('/'))
        .and_then(|name| name.strip_suffix(ending))
        .is_some_and(|digits| {
            digits.len() == NAME_DIGITS
                && digits
                    .bytes()
                    .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
}
