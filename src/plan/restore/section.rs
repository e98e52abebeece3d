//! The section after a summary: restored files, the plan, the to-dos and skills, within their limits.
//!
//! An entry is a header and content in a fence, exactly as in the transcript or the file, from its beginning and without gaps.
//! Content cannot imitate a header, because its fence is longer than any fence in it.

use std::iter;

use crate::facts::{
    Content, Done, FactLocation, Lines, TodoState, Todos, calls, proposal, skills, todos,
};
use crate::outcome::RestoredFrom;
use crate::policy::{Extra, Policy, Restore};
use crate::text::{floor_boundary, printable};
use crate::tokens::Estimator;
use crate::transcript::{Conversation, Shape, Transcript};

use super::Recent;

/// Follows content that was cut.
const CUT: &str = "[Cut here: there is more]";
/// Separates two entries.
const GAP: &str = "\n\n";
/// Content is not cut below this many tokens to fit the limits: less is of little use.
const USEFUL: u64 = 200;

/// The text of several entries, limited to a number of tokens.
#[derive(Debug)]
pub struct Section<'e> {
    estimator: &'e Estimator,
    room: u64,
    text: String,
}

/// A file whose content was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredEntry {
    /// Its path as the transcript writes it.
    pub path: String,
    /// Its entry: a header, and the content in a fence.
    pub text: String,
    /// Tokens of the restored content, without header and fence.
    pub tokens: u64,
    /// Where the content comes from.
    pub source: RestoredFrom,
}

/// The part of the content that an entry shows.
struct Shown<'c> {
    text: &'c str,
    is_cut: bool,
    tokens: u64,
}

impl<'e> Section<'e> {
    /// A section of at most `room` tokens, counted as a part of a message: contents, headers, fences and the gaps between
    /// entries count; the gap before the section does not.
    pub fn new(estimator: &'e Estimator, room: u64) -> Self {
        Section {
            estimator,
            room,
            text: String::new(),
        }
    }

    /// The text so far; "" if nothing was restored.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Restores the contents of files in the given order, and returns the restored entries.
    ///
    /// The limits are for contents alone: `tokens_per_file` for each, `tokens_total` for their sum. Content over the limit is cut,
    /// at a line end if there is one in the second half of what fits. If earlier files leave too little room for a file to be
    /// useful, it is skipped; a smaller one may follow. Files whose content is unknown or blank are skipped and do not count.
    pub fn put_back<'r>(
        &mut self,
        recents: impl IntoIterator<Item = &'r Recent>,
        settings: &Restore,
    ) -> Vec<RestoredEntry> {
        let files = usize::try_from(settings.files).unwrap_or(usize::MAX);
        let mut back: Vec<RestoredEntry> = Vec::new();
        let mut left = settings.tokens_total;
        for recent in recents {
            if back.len() >= files || left == 0 {
                break;
            }
            let Some(content) = &recent.content else {
                continue;
            };
            let entry = |shown: &Shown<'_>| {
                let lines = lines(content, shown);
                render(
                    "File",
                    &format!(": {}{lines}", printable(&recent.path)),
                    shown,
                )
            };
            let Some((text, tokens)) =
                self.add(&content.text, settings.tokens_per_file, left, entry)
            else {
                continue;
            };
            left -= tokens;
            back.push(RestoredEntry {
                path: recent.path.clone(),
                text,
                tokens,
                source: recent.source,
            });
        }
        back
    }

    /// Restores what the policy names besides files, and returns what: the last plan unless it was refused, the open to-dos, and
    /// the loaded skills, the last one first. Each is cut like a file. With `restore.skip_visible`, what the messages from
    /// `from` on show is left out.
    pub fn put_back_extras(
        &mut self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        policy: &Policy,
        from: u32,
    ) -> Vec<Extra> {
        let settings = &policy.restore;
        let exchanges = calls(transcript, conversation, &policy.tools);
        let mut extras = Vec::new();
        for extra in &settings.extras {
            let found: Vec<(&str, String, FactLocation, String)> = match extra {
                Extra::Plan => proposal(transcript, &exchanges)
                    .filter(|plan| plan.accepted != Done::Failed)
                    .map(|plan| ("Plan", String::new(), plan.call, plan.text))
                    .into_iter()
                    .collect(),
                Extra::Todos => todos(transcript, &exchanges)
                    .map(|todos| ("To-dos", String::new(), todos.call, open(&todos)))
                    .into_iter()
                    .collect(),
                Extra::Skills => skills(transcript, conversation)
                    .into_iter()
                    .map(|skill| {
                        let which = format!(": {}", printable(&skill.name));
                        ("Skill", which, skill.place, skill.text)
                    })
                    .collect(),
            };
            for (what, which, place, text) in found {
                if settings.skip_visible && place.message >= from {
                    continue;
                }
                let entry = |shown: &Shown<'_>| render(what, &which, shown);
                let most = settings.tokens_per_file;
                if self.add(&text, most, u64::MAX, entry).is_some() && !extras.contains(extra) {
                    extras.push(*extra);
                }
            }
        }
        extras
    }

    /// Adds an entry whose content is cut to `most` tokens and to what is `left` in total. Returns the entry and the tokens of its
    /// content; `None` if too little would fit.
    fn add(
        &mut self,
        content: &str,
        most: u64,
        left: u64,
        entry: impl Fn(&Shown<'_>) -> String,
    ) -> Option<(String, u64)> {
        let mut allowed = most.min(left);
        loop {
            let shown = cut(content, allowed, self.estimator);
            let is_too_little = shown.is_cut && allowed < USEFUL.min(most);
            if allowed == 0 || is_too_little || shown.text.trim().is_empty() {
                return None;
            }
            let text = entry(&shown);
            let gap = if self.text.is_empty() { "" } else { GAP };
            let all = format!("{}{gap}{text}", self.text);
            let over = self.tokens(&all).saturating_sub(self.room);
            if over == 0 {
                self.text = all;
                return Some((text, shown.tokens));
            }
            allowed = shown.tokens.checked_sub(over)?;
        }
    }

    /// The tokens of a text as a part of a message.
    fn tokens(&self, text: &str) -> u64 {
        let size = self.estimator.content(text, Shape::String);
        self.estimator.tokens(size)
    }
}

/// The open to-dos, one a line.
fn open(todos: &Todos) -> String {
    let open = todos.items.iter().filter_map(|todo| {
        let state = match todo.state {
            TodoState::Pending => "pending",
            TodoState::InProgress => "in progress",
            TodoState::Completed | TodoState::Cancelled => return None,
        };
        Some(format!("- [{state}] {}\n", todo.text))
    });
    open.collect()
}

/// A header, the content in a fence, and a mark where it was cut.
fn render(what: &str, which: &str, shown: &Shown<'_>) -> String {
    let fence: String = iter::repeat_n('`', (longest_run(shown.text) + 1).max(3)).collect();
    let end = if shown.text.ends_with('\n') { "" } else { "\n" };
    let cut = if shown.is_cut { "\n" } else { "" };
    let mark = if shown.is_cut { CUT } else { "" };
    format!(
        "[{what} restored{which}]\n{fence}\n{}{end}{fence}{cut}{mark}",
        shown.text
    )
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

/// Which lines of the file an entry shows, if not all; the last one only if it is known for sure.
fn lines(content: &Content, shown: &Shown<'_>) -> String {
    let Lines { first, last } = content.lines;
    let number = |last: u64| last.saturating_sub(first).saturating_add(1);
    let has = |count: u64| {
        let breaks = content.text.split('\n').count() as u64;
        count == breaks || count == content.text.lines().count() as u64
    };
    match last.filter(|last| !shown.is_cut && has(number(*last))) {
        Some(last) => format!(", lines {first}-{last}"),
        None if first > 1 => format!(", from line {first}"),
        None => String::new(),
    }
}

/// The beginning of a text, of at most `most` tokens.
fn cut<'c>(text: &'c str, most: u64, estimator: &Estimator) -> Shown<'c> {
    let tokens = |end: usize| estimator.tokens(estimator.text(&text[..end]));
    let character = |at: usize| floor_boundary(text, at);
    // A file may be far longer than needed, so at most twice that length is counted.
    let (mut fits, mut over) = (0, 64);
    loop {
        let end = character(over.min(text.len()));
        if tokens(end) > most {
            break;
        }
        if end == text.len() {
            return Shown {
                text,
                is_cut: false,
                tokens: tokens(end),
            };
        }
        fits = end;
        over = over.saturating_mul(2);
    }
    over = over.min(text.len());
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if tokens(character(middle)) <= most {
            fits = middle;
        } else {
            over = middle;
        }
    }
    let fits = character(fits);
    let ends_a_line = |end: &usize| *end >= fits / 2 && tokens(*end) <= most;
    let end = if text[fits..].starts_with('\n') {
        fits
    } else {
        let line = text[..fits].rfind('\n');
        line.filter(ends_a_line).unwrap_or(fits)
    };
    Shown {
        text: &text[..end],
        is_cut: true,
        tokens: tokens(end),
    }
}

#[cfg(test)]
mod tests;
