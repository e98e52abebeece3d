//! The folder in which the agent of a session worked, according to the beginning of its file.
//!
//! Reads no more of a file than necessary.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::format::agent::{Agent, Names, directory_of, id_on_lines};
use crate::format::{Detected, Detector, Format};
use crate::store::{open_transcript, unpacked};

/// Bytes that are read first.
const FIRST: u64 = 256 << 10;
/// The maximum number of bytes read if the first ones do not name the folder: the line that does may come late, or be long.
const MAX_BYTES: u64 = 16 << 20;

/// The folder that a file of this format names. `None` if the file cannot be opened.
pub(super) fn directory_of_file(path: &Path, format: Format) -> Option<Option<String>> {
    let (file, _) = open_transcript(path).ok()?;
    directory_in(file, path, Some(format))
}

/// The same for a file that is open, whose format need not be known.
pub(super) fn directory_in(
    file: File,
    path: &Path,
    format: Option<Format>,
) -> Option<Option<String>> {
    let mut unpacked = unpacked(file).ok()?;
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder.and_then(|name| name.to_str());
    let (mut head, mut most) = (Vec::new(), FIRST);
    loop {
        let want = most - head.len() as u64;
        // A damaged file has a beginning, too.
        let read = unpacked.by_ref().take(want).read_to_end(&mut head);
        let is_end = read.is_err() || (head.len() as u64) < most;
        let found = match format.or_else(|| detected(&head)) {
            Some(format) => match format.agent() {
                Some(agent) => directory_of(agent, &head, folder),
                None => return Some(None),
            },
            None => None,
        };
        match found {
            None if !is_end && most < MAX_BYTES => most *= 2,
            found => return Some(found),
        }
    }
}

/// The full id of a session whose file name contains only `named` of it.
pub(super) fn whole_id(agent: &dyn Agent, path: &Path, named: &str) -> String {
    let on_lines = || {
        let (file, _) = open_transcript(path).ok()?;
        let mut head = Vec::new();
        // A damaged file has a beginning, too.
        let _ = unpacked(file).ok()?.take(FIRST).read_to_end(&mut head);
        id_on_lines(agent, &head).filter(|id| id.starts_with(named))
    };
    let found = match agent.names() {
        Names::Whole | Names::Nothing => None,
        Names::Beginning => on_lines(),
    };
    found.unwrap_or_else(|| named.to_owned())
}

/// Whether another session's agent has started this session.
pub(super) fn is_spawned(agent: &dyn Agent, path: &Path) -> bool {
    /// No header is longer than this.
    const HEADER: u64 = 64 << 10;
    let Some(tells) = agent.tells_spawned() else {
        return false;
    };
    let head = || {
        let (file, _) = open_transcript(path).ok()?;
        let mut head = Vec::new();
        // A damaged file has a beginning, too.
        let _ = unpacked(file).ok()?.take(HEADER).read_to_end(&mut head);
        Some(head)
    };
    head().is_some_and(|head| tells(&head))
}

/// Whether nothing was said yet in this session's file: its agent does not continue it.
pub(super) fn is_unused(agent: &dyn Agent, path: &Path) -> bool {
    let Some(tells) = agent.tells_unused() else {
        return false;
    };
    let whole = || {
        let (file, _) = open_transcript(path).ok()?;
        let mut head = Vec::new();
        unpacked(file)
            .ok()?
            .take(FIRST)
            .read_to_end(&mut head)
            .ok()?;
        ((head.len() as u64) < FIRST).then_some(head)
    };
    whole().is_some_and(|text| tells(&text))
}

/// The folder that the text of a file in memory names: uses no more of its beginning than necessary.
pub(super) fn directory_of_text(path: &Path, format: Format, text: &[u8]) -> Option<String> {
    let agent = format.agent()?;
    let folder = path.parent().and_then(Path::file_name);
    let folder = folder.and_then(|name| name.to_str());
    let mut most = FIRST as usize;
    loop {
        let head = &text[..text.len().min(most)];
        match directory_of(agent, head, folder) {
            None if head.len() < text.len() && most < MAX_BYTES as usize => most *= 2,
            found => return found,
        }
    }
}

fn detected(head: &[u8]) -> Option<Format> {
    let mut detector = Detector::default();
    detector.look(head);
    match detector.decide() {
        Detected::Known(format, _) => Some(format),
        Detected::Unsupported(_) => None,
    }
}
