//! The files that were read last, so that a summary need not cost the agent a second look at them.
//!
//! Knows what a transcript says of a file and where it still shows it. No disk is looked at, and no content is guessed: a
//! file whose content is not known exactly has none here.

mod section;

use std::cell::OnceCell;

use crate::error::Result;
use crate::facts::{
    self, Content, Done, Effort, File, Operation, Place, What, exchanges, files, with_attached,
};
use crate::outcome::RestoredFrom;
use crate::policy::{Policy, Template, presets};
use crate::redact::is_secret_file;
use crate::transcript::{BlockKind, Conversation, Transcript};

pub use section::{PutBack, Section};

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// Its path as the last read writes it.
    pub path: String,
    /// Its path in one spelling: without `.` and doubled slashes, from the root where the folder is recorded.
    pub full: String,
    /// What it holds now, as far as that is known: whole, or the part that was read. Never that of a file of secrets.
    pub content: Option<Content>,
    /// Where `content` comes from.
    pub source: RestoredFrom,
    /// The result of the read, or the call of the write, from which on the transcript shows `content`.
    pub shown_by: Option<Place>,
}

impl Recent {
    /// Whether the messages from `from` on still show the content: by themselves a read or a write of it, and every
    /// change since. `is_replaced` says of a block whether a layer takes out what it shows.
    pub fn is_visible(&self, from: u32, is_replaced: impl Fn(u32) -> bool) -> bool {
        self.shown_by
            .is_some_and(|place| place.message >= from && !is_replaced(place.block))
    }

    /// The same file with the content that a disk has. Where that is another one, the transcript does not show it.
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

/// The files of a conversation that were read, the one that was read last first, each once.
///
/// Few of them come back, and what a file holds is dear to find out: that is done when somebody looks.
#[derive(Debug)]
pub struct Recents<'t> {
    transcript: &'t Transcript<'t>,
    placeholders: &'t Placeholders,
    /// What was done to each, and what was found out about it.
    files: Vec<(File, OnceCell<Recent>)>,
    /// What is left for finding out more.
    effort: Effort,
}

/// The files of a conversation that may come back.
///
/// Reads alone count: a file that was only written or edited is not among them, and one that was read and then changed
/// stands where its last read puts it, with the content that it has now. A read counts that did not fail, even if a
/// layer has replaced what it showed since.
pub fn recent<'t>(
    transcript: &'t Transcript<'t>,
    conversation: &Conversation,
    policy: &Policy,
    placeholders: &'t Placeholders,
) -> Recents<'t> {
    let exchanges = exchanges(transcript, conversation, &policy.tools);
    let files = with_attached(transcript, conversation, files(transcript, &exchanges));
    let mut read: Vec<(Place, File)> = files
        .into_iter()
        .filter_map(|file| Some((file.operations.iter().rfind(is_read)?.call, file)))
        .collect();
    read.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    Recents {
        transcript,
        placeholders,
        files: read
            .into_iter()
            .map(|(_, file)| (file, OnceCell::new()))
            .collect(),
        effort: Effort::default(),
    }
}

fn is_read(operation: &&Operation) -> bool {
    matches!((operation.what, operation.done), (What::Read(_), Done::Yes))
}

impl Recents<'_> {
    /// The files, the newest read first.
    pub fn iter(&self) -> impl Iterator<Item = &Recent> {
        let files = self.files.iter();
        files.map(|(file, known)| known.get_or_init(|| self.look(file)))
    }

    /// Of the files in that order, the paths of those that secrets are kept under, as long as fewer than `most` others came
    /// before.
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

    /// The file `number`, counted from 0.
    pub fn get(&self, number: usize) -> Option<Recent> {
        self.iter().nth(number).cloned()
    }

    /// Puts something else in the place of the file `number`, which [`Recents::get`] has given.
    pub fn put(&mut self, number: usize, recent: Recent) {
        self.files[number].1 = OnceCell::from(recent);
    }

    fn look(&self, file: &File) -> Recent {
        let path = written(file).to_owned();
        // What such a read showed is gone: nothing is learnt from it.
        let is_gone =
            |o: &&Operation| is_read(o) && self.placeholders.stand_for(self.transcript, o);
        let operations = file.operations.iter().filter(|o| !is_gone(o));
        let file = File {
            path: file.path.clone(),
            operations: operations.cloned().collect(),
        };
        let known = match is_secret_file(&file.path) {
            // It never comes back, whatever a transcript has of it.
            true => None,
            false => file.known(self.transcript, &self.effort),
        };
        let shown_by = known.as_ref().and_then(|known| known.shown_by);
        Recent {
            path,
            full: file.path,
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

/// What compactions leave where a result was: the words of the policy at work, and of those that ship with the program,
/// since an earlier run may have followed another one.
#[derive(Debug, Clone)]
pub struct Placeholders(Vec<Template>);

impl Placeholders {
    /// The words of `policy` and of the shipped policies.
    ///
    /// # Errors
    /// None for a program that passes its tests.
    pub fn of(policy: &Policy) -> Result<Self> {
        let shipped = presets()?;
        let policies = shipped.iter().chain([policy]);
        let texts = policies.flat_map(|policy| {
            [
                &policy.superseded.placeholder,
                &policy.demote.text,
                &policy.clear.placeholder,
                &policy.offload.text,
                &policy.offload.unavailable,
            ]
        });
        let mut texts: Vec<Template> = texts.cloned().collect();
        texts.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        texts.dedup();
        Ok(Placeholders(texts))
    }

    /// Whether the result of an operation has been replaced.
    fn stand_for(&self, transcript: &Transcript<'_>, operation: &Operation) -> bool {
        let result = operation
            .result
            .map(|result| transcript.block(result.block));
        let result = result.filter(|block| block.kind == BlockKind::Result);
        result.is_some_and(|block| {
            let said = facts::said(transcript, block);
            self.0.iter().any(|text| text.matches(&said).is_some())
        })
    }
}

#[cfg(test)]
mod tests;
