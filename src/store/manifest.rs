//! Records of outputs and their originals: in a journal during the run, in a manifest afterwards.
//!
//! A record is appended before its output gets its name, so `undo` finds every output however a run ends. Each run has its own
//! journal, so runs never write to the same file and never wait for each other. Records are never deleted: at its end, a run
//! moves its records from `journal/<number>-<random>.jsonl` to `manifests/<number>-<random>.jsonl`. These names are
//! unpredictable. Records contain the run's number, so that their order does not depend on the times or names of files; the
//! number in the name only serves to find the next one.
//!
//! Records are not trusted, since anyone may have made a store. A record that no run of ours would write counts as damaged; a
//! good one is only ever compared with the bytes on the disk.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::PoisonError;

use serde::{Deserialize, Serialize};

use super::archive::{archive_name, is_archive_name, is_copy_name};
use super::atomic::{Existing, Mode, Replace};
use super::folder::Durability;
use super::folder::{Folder, chance, not_plain};
use super::line_file::{ENDING, LineFile, is_alive, names, next_line};
use super::offload::{OFFLOADED, is_offload_name};
use super::sorted::distinct_lines;
use super::spot::Spot;
use super::{NAME_DIGITS, Store, name};
use crate::error::{Error, ErrorKind, Result};

mod index;

pub use index::{By, OffloadOwners, RecordIndex};

pub(super) const JOURNAL: &str = "journal";
pub(super) const MANIFESTS: &str = "manifests";
/// Longer than any record, in bytes; at most this much of a file is held in memory.
const MOST_LINE: u64 = 16 << 20;

/// Where an output came from. Hashes and lengths are those of the files on the disk, compressed or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The output, named by [`Store::name_of`]; `-` is the standard output.
    pub output: String,
    /// Hash of its bytes.
    pub output_hash: String,
    /// Length in bytes: anything after that was appended later.
    pub output_bytes: u64,
    /// The input, named by [`Store::name_of`]; `-` is the standard input.
    pub input: String,
    /// Hash of its bytes.
    pub input_hash: String,
    /// Length in bytes.
    pub input_bytes: u64,
    /// Where the original bytes are.
    pub original: Original,
    /// The archive's name, if there is one.
    pub archive: Option<String>,
    /// Names of the offloaded contents that the output needs.
    pub offloads: Vec<String>,
    /// Names of the plain copies of originals that the output's summaries name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<String>,
    /// Offloaded contents that the input needed and the output does not; they are in the archive now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleaned: Vec<Cleaned>,
    /// The live tokens that the conversations of the output had before the first compaction, by their ids in a report, if the
    /// target is a share of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub originals: BTreeMap<String, u64>,
    /// How many of its conversations have no model's summary, because the model or its server failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_summaries: u64,
    /// Hash of the effective policy.
    pub policy_hash: String,
    /// The number of the run in its store, from 1; runs that began at the same moment can have the same. 0: written before
    /// there were numbers. Clocks and file times are not used: a copy, a checkout or a coarse file system makes them equal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sequence: u64,
    /// The lowest number of the runs that were active when this one began, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<u64>,
}

/// The names of a record, by [`Store::name_of`].
#[derive(Debug, Deserialize)]
pub struct Names<'l> {
    /// Its output.
    #[serde(borrow)]
    pub output: Cow<'l, str>,
    /// Its input.
    #[serde(borrow)]
    pub input: Cow<'l, str>,
}

/// The place of a run among those of its store.
#[derive(Debug, Clone, Copy)]
struct Turn {
    sequence: u64,
    overlaps: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An offloaded content that was moved into the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    /// Its name among the offloads.
    pub name: String,
    /// Its name in the archive.
    pub archive: String,
}

/// Where the original bytes of an output are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Original {
    /// In the input, which the run did not change.
    Input,
    /// In the store's archive.
    Archive,
    /// Nowhere: the output is a session of its own, and the input that it was made from stays.
    Fork,
}

/// The journal of the run in this process.
#[derive(Debug)]
pub(super) struct Journal {
    turn: Turn,
    lines: LineFile,
}

/// Every record of a store, in no particular order.
#[derive(Debug, Default)]
pub struct Ledger {
    records: Vec<Record>,
    by_output_hash: HashMap<String, Vec<usize>>,
    by_output: HashMap<String, Vec<usize>>,
    input_hashes: HashSet<String>,
    damage: Damage,
}

/// Lines that are not records: incomplete, or damaged.
#[derive(Debug, Default)]
pub struct Damage {
    lines: u64,
    first: Option<(PathBuf, u64)>,
}

impl Store {
    /// Records an output that is about to get its name: after its archive and offloads, before its commit. The record gets the
    /// turn of the run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses; the output must not be committed then.
    pub fn record(&self, record: &Record) -> Result<()> {
        if self.durability == Durability::Durable && !record.offloads.is_empty() {
            let folder = self.folder(OFFLOADED)?;
            let synced = folder.sync();
            synced.map_err(|e| Error::io(folder.path(), "flush the folder", e))?;
        }
        let (file, path) = {
            let mut slot = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            let mut journal = match slot.take() {
                Some(journal) => journal,
                None => self.start_journal()?,
            };
            let line = line_of(&Record {
                sequence: journal.turn.sequence,
                overlaps: journal.turn.overlaps,
                ..record.clone()
            })?;
            let appended = journal.lines.append(&line);
            let journal = slot.insert(journal);
            appended?;
            (journal.lines.file(), journal.lines.path().to_owned())
        };
        // Outside the lock, so that the file system can join the threads' flushes into one.
        if self.durability == Durability::Durable {
            file.sync_data().map_err(|e| Error::io(&path, "flush", e))?;
        }
        Ok(())
    }

    /// Ends the run: moves its records from the journal to a manifest, and returns the manifest's name. A run without records
    /// leaves nothing.
    ///
    /// The manifest depends only on the records, not on their order, the clock or the number of threads. An interrupted run
    /// that can still do so ends like any other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses. The journal stays then, and `undo` reads it as well.
    pub fn finish(&self) -> Result<Option<String>> {
        let mut slot = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(journal) = slot.take() else {
            return Ok(None);
        };
        let folder = self.folder(MANIFESTS)?;
        let name = name_of(journal.turn);
        let spot = Spot::of(&folder, OsStr::new(&name));
        let mut manifest = Replace::create(spot, Existing::Refuse, Mode::Private, self.durability)?;
        let is_record = |line: &[u8]| serde_json::from_slice::<Record>(line).is_ok();
        let sorted = distinct_lines(&journal.lines.file(), is_record, &mut |line| {
            manifest.write_all(line)?;
            manifest.write_all(b"\n")
        });
        sorted.map_err(|e| Error::io(journal.lines.path(), "make a manifest of", e))?;
        manifest.commit()?;
        self.sync()?;
        journal.lines.remove()?;
        Ok(Some(format!("{MANIFESTS}/{name}")))
    }

    /// Reads every record of the store, of finished and unfinished runs. A missing store has none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses; [`ErrorKind::Store`] for a link or anything else that no run of ours can
    /// have made. A line that is not a record (a killed run's last) is not an error.
    pub fn ledger(&self) -> Result<Ledger> {
        let mut ledger = Ledger::default();
        ledger.damage = self.each_record(|record| ledger.push(record))?;
        Ok(ledger)
    }

    /// The [`output_key`] of every record of the store. In memory, they are small.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn recorded_outputs(&self) -> Result<HashSet<u64>> {
        let mut keys = HashSet::new();
        self.each_record(|record| {
            let hashes = (&record.output_hash, &record.input_hash);
            keys.insert(output_key(&record.output, hashes.0, hashes.1));
        })?;
        Ok(keys)
    }

    /// Shows every record of the store, one after the other.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn each_record(&self, show: impl FnMut(Record)) -> Result<Damage> {
        self.each_record_of(None, show)
    }

    /// Shows every record whose names are wanted, if not all are; of the others, no more is read than these.
    ///
    /// # Errors
    ///
    /// Those of [`Store::ledger`].
    pub fn each_record_of(
        &self,
        is_wanted: Option<&dyn Fn(&Names<'_>) -> bool>,
        mut show: impl FnMut(Record),
    ) -> Result<Damage> {
        // Journals first: a run that ends meanwhile writes its manifest before it removes its journal, so its records are
        // seen once or twice, but never missed.
        let mut sources = self.sources(JOURNAL)?;
        sources.extend(self.sources(MANIFESTS)?);
        // So that errors are found in the same order.
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        let mut damage = Damage::default();
        for source in sources {
            source.each(is_wanted, &mut show, &mut damage)?;
        }
        Ok(damage)
    }

    /// The files of records in a folder of the store, open.
    fn sources(&self, part: &str) -> Result<Vec<Source>> {
        let Some(folder) = self.part(part)? else {
            return Ok(Vec::new());
        };
        let source = |name| Source {
            path: folder.path().join(&name),
            folder: folder.clone(),
            name,
        };
        Ok(names(&folder)?.into_iter().map(source).collect())
    }

    fn start_journal(&self) -> Result<Journal> {
        let folder = self.folder(JOURNAL)?;
        let turn = self.next_turn(&folder)?;
        let name = OsString::from(name_of(turn));
        let lines = LineFile::create(folder, name, self.durability)?;
        Ok(Journal { turn, lines })
    }

    /// The turn of a run that starts now.
    fn next_turn(&self, journals: &Folder) -> Result<Turn> {
        let mut highest = 0;
        let mut overlaps = None;
        // Journals first: a run that ends meanwhile is seen once or twice, but never missed.
        for name in names(journals)? {
            let number = number_in(&name);
            highest = highest.max(number);
            if is_alive(journals, &name) {
                overlaps = Some(overlaps.map_or(number, |lowest: u64| lowest.min(number)));
            }
        }
        let manifests = self.part(MANIFESTS)?;
        for name in manifests.as_ref().map_or(Ok(Vec::new()), names)? {
            highest = highest.max(number_in(&name));
        }
        let sequence = highest.checked_add(1).ok_or_else(|| {
            Error::new(ErrorKind::Store, "the store has no number left for a run")
                .at(self.root())
                .hint("a file in its manifests or journal is not ctxpack's; look for the one with the highest number")
        })?;
        Ok(Turn { sequence, overlaps })
    }
}

/// `<the run's number>-<random>.jsonl`
fn name_of(turn: Turn) -> String {
    format!("{:08}-{}.{ENDING}", turn.sequence, chance())
}

/// The number in a name that [`name_of`] gave; 0 in older ones.
fn number_in(name: &OsStr) -> u64 {
    let number = name.to_str().and_then(|name| name.split_once('-'));
    number
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(0)
}

fn line_of(record: &Record) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)
        .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot write a record: {e}")))?;
    line.push(b'\n');
    Ok(line)
}

impl Ledger {
    /// All records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The records of outputs with these bytes.
    pub fn with_output(&self, hash: &str) -> impl Iterator<Item = &Record> {
        self.by_output_hash
            .get(hash)
            .into_iter()
            .flatten()
            .map(|&i| &self.records[i])
    }

    /// The records of outputs of this name (by [`Store::name_of`]).
    pub fn of_output(&self, output: &str) -> impl Iterator<Item = &Record> + use<'_> {
        let records = self.by_output.get(output).into_iter().flatten();
        records.map(|&i| &self.records[i])
    }

    /// Whether only the output of this name was made with this offloaded content.
    pub fn is_offload_of(&self, offload: &str, output: &str) -> bool {
        let names = |record: &&Record| record.offloads.iter().any(|name| name == offload);
        let mut owners = self.records.iter().filter(names).peekable();
        owners.peek().is_some() && owners.all(|record| record.output == output)
    }

    /// Whether some output was made from these bytes.
    pub fn is_original(&self, hash: &str) -> bool {
        self.input_hashes.contains(hash)
    }

    /// Lines that are not records: incomplete, or damaged.
    pub fn damaged(&self) -> u64 {
        self.damage.lines
    }

    /// The file of the first of these lines, and its number from 1.
    pub fn damage(&self) -> Option<(&Path, u64)> {
        let (path, line) = self.damage.first.as_ref()?;
        Some((path, *line))
    }

    fn push(&mut self, record: Record) {
        self.by_output_hash
            .entry(record.output_hash.clone())
            .or_default()
            .push(self.records.len());
        self.by_output
            .entry(record.output.clone())
            .or_default()
            .push(self.records.len());
        self.input_hashes.insert(record.input_hash.clone());
        self.records.push(record);
    }
}

/// Whether the newest of these records is another one except for its turn.
fn ends_with(records: &[&Record], record: &Record) -> bool {
    newest(records).is_some_and(|newest| {
        *record
            == Record {
                sequence: record.sequence,
                overlaps: record.overlaps,
                ..newest.clone()
            }
    })
}

/// The last record of an output: every record of another original is older. `None` if there is no such record.
pub(super) fn newest<'r>(records: &[&'r Record]) -> Option<&'r Record> {
    let is_last = |last: &&&Record| {
        let mut others = records
            .iter()
            .filter(|other| other.input_hash != last.input_hash);
        others.all(|other| other.is_before(last))
    };
    let last = records.iter().filter(is_last);
    last.max_by_key(|last| last.sequence).copied()
}

/// A file of records.
struct Source {
    folder: Folder,
    name: OsString,
    path: PathBuf,
}

impl Source {
    /// Shows its records.
    fn each(
        self,
        is_wanted: Option<&dyn Fn(&Names<'_>) -> bool>,
        show: &mut impl FnMut(Record),
        damage: &mut Damage,
    ) -> Result<()> {
        let failed = |e| not_plain(&self.path, "read", e);
        let file = match self.folder.read(&self.name) {
            // A run ended between the listing and the reading; its manifest is read next.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file.map_err(failed)?,
        };
        self.lines_of(file, is_wanted, &mut |record, _| show(record), damage)
    }

    /// Shows the records of its open file, and where each is: its offset and how many bytes it takes, with the end of its line.
    fn each_of(&self, file: File, show: &mut impl FnMut(Record, (u64, u32))) -> Result<()> {
        self.lines_of(file, None, show, &mut Damage::default())
    }

    fn lines_of(
        &self,
        file: File,
        is_wanted: Option<&dyn Fn(&Names<'_>) -> bool>,
        show: &mut impl FnMut(Record, (u64, u32)),
        damage: &mut Damage,
    ) -> Result<()> {
        let failed = |e| not_plain(&self.path, "read", e);
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        let mut offset = 0;
        for number in 1.. {
            let read = next_line(&mut file, MOST_LINE, &mut line);
            let Some(bytes) = read.map_err(failed)? else {
                break;
            };
            let place = (offset, u32::try_from(bytes).unwrap_or(u32::MAX));
            offset += bytes;
            if line.len() as u64 == MOST_LINE {
                let error = Error::new(ErrorKind::Store, "the line is longer than any record");
                return Err(error
                    .at(&self.path)
                    .on_line(number)
                    .hint("ctxpack did not write this file; move it away"));
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if let Some(is_wanted) = is_wanted
                && let Ok(names) = serde_json::from_slice::<Names<'_>>(text)
                && !is_wanted(&names)
            {
                continue;
            }
            match serde_json::from_slice::<Record>(text) {
                _ if text.is_empty() => {}
                Ok(record) if record.is_ours() => show(record, place),
                Ok(_) | Err(_) => {
                    damage.lines += 1;
                    let place = || (self.path.clone(), number);
                    damage.first.get_or_insert_with(place);
                }
            }
        }
        Ok(())
    }
}

impl Record {
    /// Whether its run had ended when the run of another record began.
    fn is_before(&self, other: &Record) -> bool {
        self.sequence < other.overlaps.unwrap_or(other.sequence)
    }

    /// Whether one of our runs could have written this: its names have the right forms and fit each other.
    fn is_ours(&self) -> bool {
        let archived = match (self.original, &self.archive) {
            (Original::Archive, Some(archive)) => *archive == archive_name(&self.input_hash),
            (Original::Archive, None) => false,
            (Original::Input, archive) => archive.is_none(),
            (Original::Fork, archive) => {
                let name = || archive_name(&self.input_hash);
                archive.as_ref().is_none_or(|archive| *archive == name())
            }
        };
        let cleaned = |cleaned: &Cleaned| {
            is_offload_name(&cleaned.name)
                && is_archive_name(&cleaned.archive)
                // Both names come from the hash of the same bytes.
                && digits(&cleaned.name) == digits(&cleaned.archive)
        };
        archived
            && is_hash(&self.output_hash)
            && is_hash(&self.input_hash)
            && is_file_name(&self.output)
            && is_file_name(&self.input)
            && self.offloads.iter().all(|name| is_offload_name(name))
            && self.copies.iter().all(|name| is_copy_name(name))
            && self.cleaned.iter().all(cleaned)
    }
}

/// How records name a file in a folder, from there on. `None` where no text can name it.
pub fn name_in_folder(relative: &Path) -> Option<String> {
    let text = name::to_text(relative)?;
    Some(if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    })
}

/// The reverse of [`name_in_folder`].
pub fn path_in_folder(name: &str) -> PathBuf {
    name::to_path(name)
}

/// A number for an output of this name, made of and from files of these hashes.
pub fn output_key(output: &str, output_hash: &str, input_hash: &str) -> u64 {
    let hash = blake3::hash(format!("{output_hash} {input_hash} {output}").as_bytes());
    let mut key = [0; 8];
    key.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(key)
}

/// Whether this has the form of a [`super::hash`].
fn is_hash(hash: &str) -> bool {
    let digits = hash.strip_prefix("blake3:").unwrap_or_default();
    digits.len() == 64
        && digits
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether this can be a [`Store::name_of`]: a path straight down from the store's folder or from the root.
fn is_file_name(text: &str) -> bool {
    let path = name::to_path(text);
    // An escape never represents `.` or `/`.
    let is_ours = !path.as_os_str().as_encoded_bytes().contains(&0)
        && name::to_text(&path).is_some_and(|again| again == text);
    let is_plain = |part: Component<'_>| !matches!(part, Component::ParentDir | Component::CurDir);
    is_ours && path.file_name().is_some() && path.components().all(is_plain)
}

/// The digits in the name of a content.
fn digits(name: &str) -> &str {
    let file = name.split_once('/').map_or(name, |(_, file)| file);
    &file[..NAME_DIGITS.min(file.len())]
}

#[cfg(test)]
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests;
