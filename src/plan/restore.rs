//! The files that were read last, so that a summary need not cost the agent a second look at them.
//!
//! Knows what a transcript says of a file and where it still shows it. No disk is looked at, and no content is guessed: a
//! file whose content is not known exactly has none here.

mod section;

use crate::error::Result;
use crate::facts::{
    self, Content, Done, File, Operation, Place, What, exchanges, files, with_attached,
};
use crate::outcome::RestoredFrom;
use crate::policy::{Policy, Template, presets};
use crate::transcript::{BlockKind, Conversation, Transcript};

pub use section::{PutBack, Section};

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// Its path as the last read writes it.
    pub path: String,
    /// Its path in one spelling: without `.` and doubled slashes, from the root where the folder is recorded.
    pub full: String,
    /// What it holds now, as far as that is known: whole, or the part that was read.
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
/// Reads alone count: a file that was only written or edited is not among them, and one that was read and then changed
/// stands where its last read puts it, with the content that it has now. A read counts that did not fail, even if a
/// layer has replaced what it showed since.
pub fn recent(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    policy: &Policy,
    placeholders: &Placeholders,
) -> Vec<Recent> {
    let exchanges = exchanges(transcript, conversation, &policy.tools);
    let mut found: Vec<(Place, Recent)> = Vec::new();
    let files = with_attached(transcript, conversation, files(transcript, &exchanges));
    for mut file in files {
        let is_read = |o: &&Operation| matches!((o.what, o.done), (What::Read(_), Done::Yes));
        let Some(last) = file.operations.iter().rfind(is_read) else {
            continue;
        };
        let (at, path) = (last.call, last.written.clone());
        // What such a read showed is gone: nothing is learnt from it.
        file.operations.retain(|operation| {
            !is_read(&operation) || !placeholders.stand_for(transcript, operation)
        });
        let content = file.content(transcript);
        let shown_by = content
            .as_ref()
            .and_then(|content| shown_by(transcript, &file, content));
        let recent = Recent {
            path,
            full: file.path,
            content,
            source: RestoredFrom::Transcript,
            shown_by,
        };
        found.push((at, recent));
    }
    found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    found.into_iter().map(|(_, recent)| recent).collect()
}

/// The last operation from which on the content follows, whatever came before it.
fn shown_by(transcript: &Transcript<'_>, file: &File, content: &Content) -> Option<Place> {
    let operations = file.operations.iter().enumerate().rev();
    let done = operations.filter(|(_, operation)| operation.done == Done::Yes);
    done.filter_map(|(number, operation)| {
        let place = match operation.what {
            What::Read(lines) if lines == content.lines => operation.result?,
            What::Write => operation.call,
            What::Read(_) | What::Search | What::Edit | What::Delete => return None,
        };
        Some((number, place))
    })
    .find_map(|(number, place)| {
        let since = File {
            path: file.path.clone(),
            operations: file.operations[number..].to_vec(),
        };
        (since.content(transcript)? == *content).then_some(place)
    })
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
