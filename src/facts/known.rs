//! What a file contains, as far as a conversation shows it.
//!
//! PURE. The content is known if it was shown or written whole and every edit since fits exactly. Otherwise it is unknown: nearly
//! correct content is worse than none. Any later operation with an unclear effect also makes it unknown.

use std::borrow::Cow;
use std::cell::Cell;

use super::answers_of_several::{about, answers};
use super::attached;
use super::block_text;
use super::exchanges::{FactLocation, input_of, name, text_of};
use super::file_history::File;
use super::hints::{Bare, CUT_BY_CLINE, CUT_LINE, Cut, PARTIAL, stands_for_binary};
use super::input::Input;
use super::lines::Lines;
use super::numbered::{Numbered, Numbering, Style};
use super::operation::{Content, Done, FileAction, Occurrences, Operation, Replacement};
use super::outcome::{says_it_has_changed, says_that_user_changed_it};
use super::patch;
use super::possible_changes::PossibleChange;
use super::reads::mentions_more;
use super::refused::{is_empty, is_hint, is_unchanged_note};
use super::shape::{CONTENT, NEW, OLD};
use super::shell::{is_shell_tool, output};
use super::tools::Basis;
use crate::transcript::{BlockKind, Transcript};

impl Operation {
    /// The content that a write stores in the file.
    pub fn content(&self, transcript: &Transcript<'_>) -> Option<String> {
        match (self.what, &self.patch) {
            (FileAction::Write, Some(body)) => Some(patch::added(body)),
            (FileAction::Write, None) => {
                let input = input_of(transcript, self.call, self.inner.as_deref());
                let text = input.text(&CONTENT);
                text.map(Cow::into_owned)
            }
            (
                FileAction::Read(_)
                | FileAction::Search
                | FileAction::Edit
                | FileAction::Delete
                | FileAction::MoveFrom
                | FileAction::MoveTo
                | FileAction::Revert
                | FileAction::Stash
                | FileAction::Unstash,
                _,
            ) => None,
        }
    }

    /// What an edit replaces, in order; nothing if its input does not say it literally.
    pub fn replacements(&self, transcript: &Transcript<'_>) -> Vec<Replacement> {
        if self.what != FileAction::Edit {
            return Vec::new();
        }
        if let Some(body) = &self.patch {
            return patch::replacements(body);
        }
        let input = input_of(transcript, self.call, self.inner.as_deref());
        match input.objects("edits") {
            Some(edits) => {
                let edit = |edit: &Input<'_>| {
                    let replacement = replacement(edit)?;
                    // So pi looks for them: each in the file as it was, not after those before it.
                    Some(match (edit.has(&["oldText"]), replacement.at) {
                        (true, Occurrences::Once) => Replacement {
                            at: Occurrences::Original,
                            ..replacement
                        },
                        _ => replacement,
                    })
                };
                let edits: Option<Vec<Replacement>> = edits.iter().map(edit).collect();
                edits.unwrap_or_default()
            }
            None => match patch::of(&input) {
                Some(patch) => {
                    let parts = patch::parts(&patch).into_iter();
                    let own = parts.filter(|part| part.path == self.written);
                    own.flat_map(|part| patch::replacements(part.body))
                        .collect()
                }
                None => replacement(&input).into_iter().collect(),
            },
        }
    }

    /// Whether a read shows no content because nothing has changed, or because it only names the file.
    fn shows_nothing_new(&self, transcript: &Transcript<'_>) -> bool {
        let place = transcript.block(self.call.block).kind;
        let is_named = matches!(place, BlockKind::Attachment | BlockKind::Text);
        let result = self.result.map(|result| transcript.block(result.block));
        is_named || result.is_some_and(|block| is_unchanged_note(&block_text(transcript, block)))
    }

    /// Whether the operation failed because the file changed since it was shown.
    fn finds_it_changed(&self, transcript: &Transcript<'_>) -> bool {
        let result = self.result.filter(|_| self.inner.is_none());
        result.is_some_and(|result| says_it_has_changed(transcript, result))
    }

    /// Whether the user changed the text that the call was going to write.
    fn was_changed_by_user(&self, transcript: &Transcript<'_>) -> bool {
        let result = self.result.filter(|_| self.inner.is_none());
        result.is_some_and(|result| says_that_user_changed_it(transcript, result))
    }

    /// What the result of a read shows, without line numbers and hints.
    fn shown(&self, transcript: &Transcript<'_>, lines: Lines) -> Option<Content> {
        // No file has a line 0; a tool that counts from 0 may mean the first line.
        if lines.first == 0 {
            return None;
        }
        let result = transcript.block(self.result?.block);
        let call = transcript.block(self.call.block);
        if matches!(call.kind, BlockKind::Attachment | BlockKind::Text) {
            return attached::content(transcript, self.call.block, &self.written);
        }
        if result.images > 0 || result.documents > 0 || result.others > 0 {
            return None;
        }
        let mut said = text_of(transcript, self.result?, self.inner.as_deref());
        if self.inner.is_none() && input_of(transcript, self.call, None).files().len() > 1 {
            let answers = answers(transcript, self.result?);
            said = Cow::Owned(about(&answers, &self.written)?.text.clone());
        }
        let tool = match &self.inner {
            Some(inner) => Cow::Borrowed(&inner.tool[..]),
            None => name(transcript, self.call.block),
        };
        if is_shell_tool(&tool) {
            said = output(said);
        }
        if is_empty(&said)
            || stands_for_binary(&said)
            || is_hint(said.trim_start()) && !said.contains(PARTIAL)
        {
            return None;
        }
        let bare = Bare::of(&said);
        let numbering = Numbering::of(&tool);
        let text = match Numbered::read(bare.text, numbering) {
            Some(file) => {
                // The lines may be a table with its own numbers.
                let is_sure = file.style != Style::Bare || tool == "Read";
                let mut lines = file.lines.iter();
                if file.style == Style::Piped && lines.any(|line| line.ends_with(CUT_BY_CLINE)) {
                    return None;
                }
                let is_whole = file.lines.iter().all(|line| !line.ends_with(CUT_LINE));
                if is_sure && !is_whole {
                    return attached::repeated(transcript, self.result?, &self.written);
                }
                is_sure.then(|| file.lines.join("\n"))?
            }
            // This tool always numbers lines; text without numbers is not from the file.
            None if tool == "Read" || said.starts_with("<file") => return None,
            None if numbering == Numbering::Piped => return None,
            // Line numbers, or a list.
            None if numbering == Numbering::Dotted && Numbered::dotted(bare.text).is_some() => {
                return None;
            }
            // An unlisted tool may write anything around the file's text.
            None if self.basis == Basis::Shape => return None,
            None if bare.lines == Cut::Yes => return None,
            // The agent marks where it omitted a part of the output.
            None if (result.header > 0 || self.inner.is_some()) && mentions_more(&said) => {
                return None;
            }
            None => bare.text.to_owned(),
        };
        Some(Content { text, lines })
    }
}

fn replacement(input: &Input<'_>) -> Option<Replacement> {
    // If the input names a line, the tool ignores the old text.
    if input.is_true(&["regex", "use_regex", "is_regex"]) || input.has(&["insert_line"]) {
        return None;
    }
    let old = input.text(&OLD)?;
    let new = input.text(&NEW);
    Some(Replacement {
        old: old.into_owned(),
        new: new.unwrap_or_default().into_owned(),
        at: if input.is_true(&["replace_all", "replaceAll", "allow_multiple"]) {
            Occurrences::Everywhere
        } else {
            Occurrences::Once
        },
    })
}

impl Replacement {
    /// The maximum number of bytes processed to apply the replacement to a text: those read and those written.
    fn size(&self, text: &str) -> usize {
        let times = match self.at {
            Occurrences::Everywhere if !self.old.is_empty() => text.matches(&self.old).count(),
            Occurrences::Everywhere
            | Occurrences::Once
            | Occurrences::Original
            | Occurrences::Lines => 0,
        };
        text.len()
            .saturating_add(times.saturating_mul(self.new.len()))
    }

    /// The text after the replacement; `None` if it does not fit exactly.
    fn apply(&self, text: &str) -> Option<String> {
        if self.old.is_empty() {
            return text.is_empty().then(|| self.new.clone());
        }
        if self.at == Occurrences::Lines {
            let places = text.match_indices(&self.old).map(|(at, _)| at);
            let mut places = places.filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n');
            let (place, None) = (places.next()?, places.next()) else {
                return None;
            };
            let (before, rest) = text.split_at(place);
            return Some([before, &self.new, &rest[self.old.len()..]].concat());
        }
        match self.at {
            Occurrences::Everywhere if !text.contains(&self.old) => None,
            Occurrences::Everywhere => Some(text.replace(&self.old, &self.new)),
            Occurrences::Once | Occurrences::Original | Occurrences::Lines => {
                let place = self.only_place(text)?;
                let rest = &text[place + self.old.len()..];
                Some([&text[..place], &self.new, rest].concat())
            }
        }
    }

    /// Where the old text is, if it is in one place only.
    fn only_place(&self, text: &str) -> Option<usize> {
        let first = text.find(&self.old)?;
        let next = first + self.old.chars().next()?.len_utf8();
        (!text[next..].contains(&self.old)).then_some(first)
    }
}

/// A text after replacements that were all looked for in it as it was; `None` if one does not fit exactly, or if two overlap.
fn replaced_together(text: &str, replacements: &[Replacement]) -> Option<String> {
    let place = |replacement| Some((Replacement::only_place(replacement, text)?, replacement));
    let places: Option<Vec<(usize, &Replacement)>> = replacements.iter().map(place).collect();
    let mut places = places?;
    places.sort_by_key(|(place, _)| *place);
    let mut after = String::with_capacity(text.len());
    let mut end = 0;
    for (place, replacement) in places {
        after.push_str(text.get(end..place)?);
        after.push_str(&replacement.new);
        end = place + replacement.old.len();
    }
    after.push_str(&text[end..]);
    Some(after)
}

impl File {
    /// The last operation that succeeded or may have succeeded.
    pub fn last(&self) -> Option<&Operation> {
        self.operations
            .iter()
            .rfind(|operation| operation.done != Done::Failed)
    }

    /// The content after all operations, if the conversation shows it: whole, or the part that was read last. Unknown if deriving
    /// it exceeds what is left of `effort`.
    ///
    /// `changes` are the possible changes in the conversation, in order.
    pub fn known(
        &self,
        transcript: &Transcript<'_>,
        changes: &[PossibleChange],
        effort: &WorkBudget,
    ) -> Option<Known> {
        let mut known: Option<Known> = None;
        let mut changes = changes.iter().peekable();
        // The message with the last change.
        let mut changed = None;
        for operation in &self.operations {
            // Apply the changes of the enclosing command first: it may write the file and then show it.
            while let Some(change) = changes.next_if(|change| change.at <= operation.call.into()) {
                known = self.after(transcript, change, known);
            }
            known = match (operation.what, operation.done) {
                (FileAction::Search, _) => known,
                (_, Done::Failed) => known.filter(|_| !operation.finds_it_changed(transcript)),
                // It may have changed the file, or shown that it has changed.
                (_, Done::Unclear) => None,
                // The order of calls made in one message is unknown.
                (FileAction::Read(_), Done::Yes) if changed == Some(operation.call.message) => None,
                (FileAction::Read(lines), Done::Yes) => match operation.shown(transcript, lines) {
                    Some(content) => {
                        let shown_by = operation.result;
                        after_read(known, Known { content, shown_by }, effort)
                    }
                    // If the result does not state it, it is not known whether the content was the same as before.
                    None => known.filter(|_| operation.shows_nothing_new(transcript)),
                },
                (FileAction::Write | FileAction::Edit, Done::Yes)
                    if operation.was_changed_by_user(transcript) =>
                {
                    None
                }
                (FileAction::Write, Done::Yes) => operation.content(transcript).map(|text| Known {
                    content: Content::whole(text),
                    shown_by: Some(operation.call),
                }),
                (FileAction::Edit, Done::Yes) => {
                    after_edits(known, &operation.replacements(transcript), effort)
                }
                (
                    FileAction::Delete
                    | FileAction::MoveFrom
                    | FileAction::MoveTo
                    | FileAction::Revert
                    | FileAction::Stash
                    | FileAction::Unstash,
                    Done::Yes,
                ) => None,
            };
            if !operation.what.is_read_only() {
                changed = Some(operation.call.message);
            }
        }
        for change in changes {
            known = self.after(transcript, change, known);
        }
        known
    }

    /// The known content after a possible change.
    fn after(
        &self,
        transcript: &Transcript<'_>,
        change: &PossibleChange,
        known: Option<Known>,
    ) -> Option<Known> {
        known.filter(|known| !change.may_change(transcript, &self.path, &known.content.text))
    }

    /// The content from `File::known`, without its source.
    #[cfg(test)]
    pub(super) fn content(&self, transcript: &Transcript<'_>) -> Option<Content> {
        let known = self.known(transcript, &[], &WorkBudget::default());
        known.map(|known| known.content)
    }
}

/// A known content, and where the transcript shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What the file holds.
    pub content: Content,
    /// The result of the read or the call of the write that determines the content on its own.
    pub shown_by: Option<FactLocation>,
}

impl Content {
    fn whole(text: String) -> Self {
        Content {
            text,
            lines: Lines::ALL,
        }
    }
}

/// How much text may still be processed to find out the contents of a conversation's files. Each edit takes time proportional
/// to its whole file, so that many edits of a large file would take quadratic time.
#[derive(Debug)]
pub struct WorkBudget(Cell<usize>);

impl WorkBudget {
    /// The initial budget in bytes: enough for hundreds of edits of a large source file.
    const MOST: usize = 128 << 20;

    /// Spends `bytes` of the budget; returns whether enough was left.
    fn takes(&self, bytes: usize) -> bool {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

impl Default for WorkBudget {
    fn default() -> Self {
        WorkBudget(Cell::new(Self::MOST))
    }
}

/// The known content after a read: if the part read matches it, the whole file stays known.
fn after_read(known: Option<Known>, shown: Known, effort: &WorkBudget) -> Option<Known> {
    match known {
        Some(known) if known.content.lines == Lines::ALL && shown.content.lines != Lines::ALL => {
            let part = &shown.content;
            let skipped = usize::try_from(part.lines.first.saturating_sub(1)).unwrap_or(usize::MAX);
            let mut rest = known.content.text.split('\n').skip(skipped);
            let is_same = effort.takes(known.content.text.len())
                && part.text.split('\n').all(|line| rest.next() == Some(line));
            Some(if is_same { known } else { shown })
        }
        Some(_) | None => Some(shown),
    }
}

fn after_edits(
    known: Option<Known>,
    replacements: &[Replacement],
    effort: &WorkBudget,
) -> Option<Known> {
    let whole = known.filter(|known| known.content.lines == Lines::ALL);
    let (mut text, shown_by) = match (whole, replacements) {
        (Some(whole), [_, ..]) => (whole.content.text, whole.shown_by),
        // An edit that replaces empty text creates a file.
        (None, [first, ..]) if first.old.is_empty() => (String::new(), None),
        (_, _) => return None,
    };
    let is_together = |one: &Replacement| one.at == Occurrences::Original && !one.old.is_empty();
    if replacements.iter().all(is_together) {
        if !effort.takes(text.len().saturating_mul(replacements.len() + 1)) {
            return None;
        }
        text = replaced_together(&text, replacements)?;
    } else {
        for replacement in replacements {
            if !effort.takes(replacement.size(&text)) {
                return None;
            }
            text = replacement.apply(&text)?;
        }
    }
    Some(Known {
        content: Content::whole(text),
        shown_by,
    })
}

#[cfg(test)]
mod tests;
