//! How numbers and paths are written to unnamed files, and read back.
//!
//! Keeps every path as the system has it, whether it is text or not.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

pub(in crate::batch) fn put_number(to: &mut dyn Write, number: u32) -> io::Result<()> {
    to.write_all(&number.to_le_bytes())
}

pub(in crate::batch) fn take_number(from: &mut dyn BufRead) -> io::Result<u32> {
    let mut bytes = [0; size_of::<u32>()];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

pub(in crate::batch) fn put_path(to: &mut dyn Write, path: &Path) -> io::Result<()> {
    let bytes = bytes_of(path);
    put_number(to, u32::try_from(bytes.len()).map_err(io::Error::other)?)?;
    to.write_all(&bytes)
}

pub(in crate::batch) fn take_path(from: &mut dyn BufRead) -> io::Result<PathBuf> {
    let mut bytes = vec![0; take_number(from)? as usize];
    from.read_exact(&mut bytes)?;
    Ok(path_of(bytes).into())
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> std::borrow::Cow<'_, [u8]> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).into()
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn bytes_of(path: &Path) -> std::borrow::Cow<'_, [u8]> {
    let wide = std::os::windows::ffi::OsStrExt::encode_wide(path.as_os_str());
    wide.flat_map(u16::to_le_bytes).collect()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> OsString {
    let wide = bytes
        .chunks_exact(2)
        .map(|two| u16::from_le_bytes([two[0], two[1]]));
    std::os::windows::ffi::OsStringExt::from_wide(&wide.collect::<Vec<_>>())
}
