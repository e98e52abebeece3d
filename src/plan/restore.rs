//! The most recently read files: their contents are restored after a summary, so that the agent need not read them again.
//!
//! Everything here comes from the transcript; no disk is read. Content is never guessed: a file whose content is not known exactly
//! has none.

mod section;

use std::cell::OnceCell;

use crate::facts::{
    self, Activity, Content, Done, FactLocation, File, FileAction, Known, Operation, Placeholders,
    PossibleChange, WorkBudget, possible_changes, with_attached,
};
use crate::outcome::RestoredFrom;
use crate::redact::is_secret_file;
use crate::transcript::{BlockKind, Conversation, Transcript};

pub use section::{RestoredEntry, Section};

/// A file that was read, with what is known of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// Its path as the last read writes it.
    pub path: String,
    /// Its normalised path: without `.` and doubled slashes, and absolute if the working folder is recorded.
    pub full: String,
    /// Its content now, as far as known: all of it, or the part that was read. Always `None` for a file of secrets.
    pub content: Option<Content>,
    /// Where `content` comes from.
    pub source: RestoredFrom,
    /// The result of the read, or the call of the write, that first shows `content`.
    pub shown_by: Option<FactLocation>,
}

impl Recent {
    /// Whether the messages from `from` on still show the content: a read or write of it, and every change since.
    /// `is_replaced` says whether a layer replaces the content of a block.
    pub fn is_visible(&self, from: u32, is_replaced: impl Fn(u32) -> bool) -> bool {
        self.shown_by
            .is_some_and(|place| place.message >= from && !is_replaced(place.block))
    }

    /// The same file with its content on disk. If that differs, the transcript does not show it.
    #[must_use]
    pub fn with(self, content: Content) -> Self {
        let bare = |text: &str| text.strip_suffix('\n').unwrap_or(text).to_owned();
        let is_same = self.content.as_ref().is_some_and(|known| {
            known.lines == content.lines && bare(&known.text) == bare(&content.text)
        });
        Recent {
            shown_by: self.shown_by.filter(|_| is_same),
            content: Some(content),
            source: RestoredFrom::Disk,
            ..self
        }
    }
}

/// The files of a conversation that were read, each once, the most recently read first.
///
/// Few of them are restored, and determining a file's content is expensive, so it is done on demand.
#[derive(Debug)]
pub struct Recents<'t> {
    transcript: &'t Transcript<'t>,
    placeholders: &'t Placeholders,
    /// The operations on each file, and its content once requested.
    files: Vec<(File, OnceCell<Recent>)>,
    /// Other operations that may have changed files.
    changes: Vec<PossibleChange>,
    /// The work budget left for determining contents.
    effort: WorkBudget,
}

/// The files of a conversation that may be restored.
///
/// Only successful reads count, even if a layer has replaced their results since. A file that was only written or edited is
/// not included. A file that was read and then changed is ordered by its last read, and has the changed content.
pub fn recent<'t>(
    transcript: &'t Transcript<'t>,
    conversation: &Conversation,
    acts: &Activity,
    placeholders: &'t Placeholders,
) -> Recents<'t> {
    let files = with_attached(transcript, conversation, acts.files.clone());
    let mut read: Vec<(FactLocation, File)> = files
        .into_iter()
        .filter_map(|file| Some((file.operations.iter().rfind(is_read)?.call, file)))
        .collect();
    read.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    Recents {
        transcript,
        placeholders,
        changes: possible_changes(transcript, conversation, acts),
        files: read
            .into_iter()
            .map(|(_, file)| (file, OnceCell::new()))
            .collect(),
        effort: WorkBudget::default(),
    }
}

fn is_read(operation: &&Operation) -> bool {
    matches!(
        (operation.what, operation.done),
        (FileAction::Read(_), Done::Yes)
    )
}

impl Recents<'_> {
    /// The files, the newest read first.
    pub fn iter(&self) -> impl Iterator<Item = &Recent> {
        let files = self.files.iter();
        files.map(|(file, known)| known.get_or_init(|| self.look(file)))
    }

    /// The paths of the secret files that come before the `most`-th file that is not secret.
    pub fn secret(&self, most: u64) -> Vec<String> {
        let mut others = 0;
        let mut secret = Vec::new();
        for file in self.files.iter().map(|(file, _)| file) {
            if others == most {
                break;
            }
            if is_secret_file(&file.path) {
                secret.push(written(file).to_owned());
            } else {
                others += 1;
            }
        }
        secret
    }

    /// The paths of those among the newest `most` files that are not secret whose content is unknown, although the last operation
    /// on them is a read whose result is a text that nothing has replaced.
    pub fn unclear(&self, most: u64) -> Vec<String> {
        let shows_text = |read: &Operation| {
            let result = read.result.map(|at| self.transcript.block(at.block));
            let result = result.filter(|block| block.kind == BlockKind::Result);
            let is_text = result.is_some_and(|block| {
                let parts = block.images + block.documents + block.others;
                parts == 0 && !facts::block_text(self.transcript, block).is_empty()
            });
            is_text && !self.is_placeholder(read)
        };
        let others = self.files.iter();
        let others = others.filter(|(file, _)| !is_secret_file(&file.path));
        let newest = others.take(usize::try_from(most).unwrap_or(usize::MAX));
        let unclear = newest.filter(|(file, known)| {
            let last = file.operations.last().filter(is_read);
            last.is_some_and(shows_text)
                && known.get_or_init(|| self.look(file)).content.is_none()
                && self.known(file, &[]).is_none()
        });
        unclear.map(|(file, _)| written(file).to_owned()).collect()
    }

    /// The paths of those among the newest `most` files that are not secret whose content would be known if no later operation
    /// could have changed them.
    pub fn may_have_changed(&self, most: u64) -> Vec<String> {
        self.unknown(most, |file| self.known(file, &[]).is_some())
    }

    /// The paths of those among the newest `most` files, without secret ones, of which only an older content is known: the result of a
    /// later read has been replaced.
    pub fn replaced(&self, most: u64) -> Vec<String> {
        self.unknown(most, |file| {
            let shown = file.operations.iter().filter(|o| !self.is_replaced(o));
            let shown: Vec<Operation> = shown.cloned().collect();
            shown.len() < file.operations.len()
                && self.known(file, &[]).is_none()
                && self.known_by(file, shown, &[]).is_some()
        })
    }

    /// The paths of those among the newest `most` files, without secret ones, whose content is not known, and which `are`.
    fn unknown(&self, most: u64, are: impl Fn(&File) -> bool) -> Vec<String> {
        let others = self.files.iter();
        let others = others.filter(|(file, _)| !is_secret_file(&file.path));
        let newest = others.take(usize::try_from(most).unwrap_or(usize::MAX));
        let unknown = newest.filter(|(file, known)| {
            known.get_or_init(|| self.look(file)).content.is_none() && are(file)
        });
        unknown.map(|(file, _)| written(file).to_owned()).collect()
    }

    /// The file `number`, counted from 0.
    pub fn get(&self, number: usize) -> Option<Recent> {
        self.iter().nth(number).cloned()
    }

    /// Replaces the file `number`, which [`Recents::get`] returned.
    pub fn put(&mut self, number: usize, recent: Recent) {
        self.files[number].1 = OnceCell::from(recent);
    }

    /// What is known of a file, given these possible changes. A read whose result was replaced may have shown another content than
    /// was known before it.
    fn known(&self, file: &File, changes: &[PossibleChange]) -> Option<Known> {
        let mut operations = file.operations.clone();
        for read in operations.iter_mut().filter(|o| self.is_replaced(o)) {
            read.done = Done::Unclear;
        }
        self.known_by(file, operations, changes)
    }

    /// The same, by these operations alone.
    fn known_by(
        &self,
        file: &File,
        operations: Vec<Operation>,
        changes: &[PossibleChange],
    ) -> Option<Known> {
        let path = file.path.clone();
        File { path, operations }.known(self.transcript, changes, &self.effort)
    }

    /// Whether an operation is a read whose result compaction has replaced.
    fn is_replaced(&self, operation: &Operation) -> bool {
        is_read(&operation) && self.is_placeholder(operation)
    }

    fn is_placeholder(&self, operation: &Operation) -> bool {
        let result = operation
            .result
            .map(|result| self.transcript.block(result.block));
        result.is_some_and(|block| self.placeholders.stand_for(self.transcript, block))
    }

    fn look(&self, file: &File) -> Recent {
        let path = written(file).to_owned();
        let known = match is_secret_file(&file.path) {
            // Never restored, whatever the transcript has of it.
            true => None,
            false => self.known(file, &self.changes),
        };
        let shown_by = known.as_ref().and_then(|known| known.shown_by);
        Recent {
            path,
            full: file.path.clone(),
            content: known.map(|known| known.content),
            source: RestoredFrom::Transcript,
            shown_by,
        }
    }
}

/// The path of a file as the last read writes it.
fn written(file: &File) -> &str {
    let last = file.operations.iter().rfind(is_read);
    last.map_or(&file.path, |last| &last.written)
}

#[cfg(test)]
mod tests;
