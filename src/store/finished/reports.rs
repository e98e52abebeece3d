//! Which report a run of a command has written, so that the next run leaves it alone if it would write the same one.
//!
//! A note names the report by its path, what was in it by a key, and the file by its identity. It counts only if all of this is
//! as noted; otherwise the report is written again. Reads and writes no report.

use std::ffi::OsString;

use serde::Deserialize;

use super::{FINISHED, Work};
use crate::error::Result;
use crate::store::atomic::{Existing, Mode, write};
use crate::store::folder::{Durability, Folder, not_plain, read_exact_at};
use crate::store::identity::{FileIdentity, milliseconds};
use crate::store::keys::key_of;
use crate::store::{OpenPath, Store};

/// The ending of these notes.
const ENDING: &str = "report";
/// Longer than any of them, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// A report that a run has written.
#[derive(Debug, Deserialize)]
pub struct WrittenReport {
    /// The report's name: see [`Store::name_of`].
    name: String,
    /// What is in it: everything that it was made of, as a hash.
    pub key: String,
    /// Its identity after it was written.
    pub seen: FileIdentity,
    /// When this was noted, in milliseconds since 1970, if known.
    #[serde(skip)]
    noted: Option<u64>,
}

impl WrittenReport {
    /// Whether a report with the identity `now` is the one that was written, and has not been touched since.
    pub fn is_untouched(&self, now: FileIdentity) -> bool {
        let noted = self.noted;
        noted.is_some_and(|noted| self.seen.is_untouched_output(now, noted))
    }
}

impl Store {
    /// What a run of this work has noted about the report at `path`; `None` also if this cannot be read.
    pub fn written_report(&self, work: &Work, report: &OpenPath) -> Option<WrittenReport> {
        let name = self.name_of(report.path()).ok()?;
        let folder = self.part(FINISHED).ok()??;
        let written = read(&folder, &work.report_name(&name))?;
        (written.name == name).then_some(written)
    }

    /// Notes the report that a run of this work has written; `key` stands for everything that it was made of.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when the system refuses; the next run then writes the report again.
    pub fn note_report(
        &self,
        work: &Work,
        report: &OpenPath,
        (key, seen): (&str, FileIdentity),
    ) -> Result<()> {
        let name = self.name_of(report.path())?;
        let folder = self.folder(FINISHED)?;
        let spot = OpenPath::of(&folder, &work.report_name(&name));
        let note = serde_json::json!({
            "name": name,
            "key": key,
            "seen": (seen.bytes, seen.modified, seen.touched),
        });
        let text = format!("{note}\n");
        let (existing, mode) = (Existing::Overwrite, Mode::Private);
        write(spot, text.as_bytes(), existing, mode, Durability::Lazy).map(drop)
    }

    /// The names of notes on reports that are gone or were changed, relative to the store, with their sizes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when the system refuses.
    pub(super) fn stale_reports(&self, folder: &Folder) -> Result<Vec<(String, u64)>> {
        let failed = |e| not_plain(folder.path(), "list", e);
        let mut stale = Vec::new();
        for file in folder.names().map_err(failed)? {
            let Some(name) = file.to_str().filter(|name| is_note(name)) else {
                continue;
            };
            let is_there = read(folder, &file).is_some_and(|written| {
                let seen = self.path_of(&written.name).metadata();
                seen.is_ok_and(|seen| seen.len() == written.seen.bytes)
            });
            if !is_there {
                let seen = folder.look(&file).map_err(failed)?;
                let bytes = seen.map_or(0, |seen| seen.len());
                stale.push((format!("{FINISHED}/{name}"), bytes));
            }
        }
        Ok(stale)
    }
}

impl Work {
    fn report_name(&self, report: &str) -> OsString {
        OsString::from(format!("{}-{:016x}.{ENDING}", self.0, key_of(report)))
    }
}

fn is_note(name: &str) -> bool {
    name.strip_suffix(ENDING)
        .is_some_and(|stem| stem.ends_with('.'))
}

fn read(folder: &Folder, name: &OsString) -> Option<WrittenReport> {
    let file = folder.read(name).ok()?;
    let seen = file.metadata().ok()?;
    let bytes = Some(seen.len()).filter(|bytes| *bytes <= MAX_BYTES)?;
    let mut text = vec![0; usize::try_from(bytes).ok()?];
    read_exact_at(&file, &mut text, 0).ok()?;
    let written: WrittenReport = serde_json::from_slice(&text).ok()?;
    Some(WrittenReport {
        noted: FileIdentity::of(&seen).modified.map(milliseconds),
        ..written
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::store::Missing;

    #[test]
    fn a_note_is_about_one_report_of_one_work() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join(".ctxpack"), Durability::Lazy);
        let at = |name: &str| dir.path().join(name);
        let spot = |path: &Path| OpenPath::named(path, Missing::Refuse).unwrap();
        fs::write(at("r.json"), "report").unwrap();
        fs::write(at("s.json"), "report").unwrap();
        let (work, other) = (Work::of("one"), Work::of("another"));
        let report = spot(&at("r.json"));
        assert!(store.written_report(&work, &report).is_none());
        let seen = || FileIdentity::of_output(report.path(), &fs::metadata(report.path()).unwrap());
        sleep(Duration::from_millis(30));
        store.note_report(&work, &report, ("old", seen())).unwrap();
        store.note_report(&work, &report, ("key", seen())).unwrap();
        let written = store.written_report(&work, &report).unwrap();
        assert_eq!((&*written.key, written.seen), ("key", seen()));
        assert!(store.written_report(&other, &report).is_none());
        assert!(store.written_report(&work, &spot(&at("s.json"))).is_none());
        if seen().touched.is_some() {
            assert!(written.is_untouched(seen()));
            fs::write(at("r.json"), "REPORT").unwrap();
            assert!(!written.is_untouched(seen()));
        }
        let stale = || store.stale_finished().unwrap().into_keys().count();
        assert_eq!(stale(), 0);
        fs::remove_file(at("r.json")).unwrap();
        assert_eq!(stale(), 1);
        // One that no run of ours can have written.
        let name = store.root().join(FINISHED).join(work.report_name("r.json"));
        fs::write(&name, "{}").unwrap();
        assert!(store.written_report(&work, &report).is_none());
    }
}
