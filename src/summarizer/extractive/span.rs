//! The units of a span, from its messages and its facts.
//!
//! One pass over the messages. Of the messages after the span, only the names are used, since the reader still sees them.

use std::borrow::Cow;

use super::fact_units::{Blocks, Output};
use super::form::Section;
use super::gather::{BETWEEN, Gather, input, line_of};
use super::lines::{COMMITTED, is_commit, is_outline, key_lines, without_numbers};
use super::names::{Counted, Speaker, hash};
use super::settings::settings;
use super::units::{Claim, Unit, UnitKind, Units};
use super::words_in_results::words_with_results;
use super::{fact_units, prior_summary, queued, requests, state};
use crate::facts::{
    Exchange, MessageOrigin, block_text, decides, decides_or_leaves_open, folder,
    output as printed, sentences, takes_back,
};
use crate::policy::Replacement;
use crate::scan::{Cursor, Kind, Parse, unescape, utf8};
use crate::transcript::{Block, BlockKind, Message, Role, Transcript, Typed};

/// The maximum number of lines of a file besides its outline.
const LINES_OF_A_FILE: usize = 400;

/// The value of a line of a file's outline besides its names.
const OUTLINE: f64 = 0.1;

/// How a project's instructions begin. Codex inserts them before every conversation, so they need not be summarised.
const PROJECT: &str = "# AGENTS.md instructions for ";

/// The maximum depth to which a call's input is searched for values.
const DEEPEST: u8 = 8;

/// Inputs of more bytes than this are texts rather than settings.
const LONGEST_SETTINGS: u32 = 4_000;

/// The value of a sentence that states a decision or a reason or leaves something open, besides its names.
const DECIDES: f64 = 0.5;

/// Whether words of the user are meaningful only with the question that they answer.
fn is_short_answer(words: &str) -> bool {
    const WORDS: usize = 5;
    const BYTES: usize = 40;
    let words = words.trim();
    !words.is_empty() && words.len() <= BYTES && words.split_whitespace().count() <= WORDS
}

impl Gather<'_, '_> {
    /// Gathers all units of the span.
    pub(super) fn all(mut self) -> Units {
        let conversation = self.conversation;
        let messages = &conversation.messages[..self.span.end];
        for message in messages.first().into_iter().chain(messages.last()) {
            let lines = conversation.lines(message).last();
            if let Some(folder) = lines.and_then(|line| folder(self.transcript, *line)) {
                self.found.names.relative_to(folder);
            }
        }
        let exchanges = &self.acts.calls;
        let before = |end: usize| move |e: &Exchange| (e.call.message as usize) < end;
        let (upto, later) = exchanges.split_at(exchanges.partition_point(before(self.span.end)));
        let own = &upto[upto.partition_point(before(self.span.start))..];
        let blocks = fact_units::gather(&mut self, own, later);
        for number in self.span.clone() {
            let message = &conversation.messages[number];
            match self.origins[number] {
                MessageOrigin::Summary => prior_summary::gather(&mut self, number as u32, message),
                MessageOrigin::Acknowledgement => {}
                MessageOrigin::Session => self.message(number as u32, message, &blocks),
            }
        }
        queued::gather(&mut self);
        requests::keep_last(&mut self);
        state::gather(&mut self);
        self.names_after();
        self.weigh();
        self.index();
        self.found
    }

    /// Gathers the units of the user's words alone.
    pub(super) fn words(mut self) -> Units {
        let conversation = self.conversation;
        for number in self.span.clone() {
            let message = &conversation.messages[number];
            match self.origins[number] {
                MessageOrigin::Summary => prior_summary::gather(&mut self, number as u32, message),
                MessageOrigin::Acknowledgement => {}
                MessageOrigin::Session => self.by_user(number as u32, message),
            }
        }
        queued::gather(&mut self);
        requests::keep_last(&mut self);
        self.weigh();
        self.found
    }

    /// Adds a typed message, or the user's words in one that was not typed.
    fn by_user(&mut self, number: u32, message: &Message) {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let blocks = conversation.blocks(message);
        if message.typed == Typed::Yes {
            let text = requests::words(transcript, blocks);
            let line = conversation.first_line(message);
            requests::add(self, &text, number, line);
            requests::add_pictures(self, blocks, number, line);
            return;
        }
        self.with_results(number, message);
        for block in blocks.iter().map(|block| transcript.block(*block)) {
            if block.kind == BlockKind::Attachment {
                queued::attached(self, number, block);
            } else if block.kind == BlockKind::Text && message.role == Role::User {
                requests::add_echo(self, &block_text(transcript, block), number, block.line);
            }
        }
    }

    /// Adds the user's words in a message with results.
    fn with_results(&mut self, number: u32, message: &Message) {
        for (line, words) in
            words_with_results(self.transcript, self.conversation, self.acts, message)
        {
            requests::add_once(self, &words, number, line);
        }
    }

    fn message(&mut self, number: u32, message: &Message, known: &Blocks) {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let blocks = conversation.blocks(message);
        if message.typed == Typed::Yes {
            self.by_user(number, message);
            if is_short_answer(&requests::words(transcript, blocks)) {
                self.keep_question(number);
            }
            let blocks = blocks.iter().map(|block| transcript.block(*block));
            let added = |block: &&Block| block.kind == BlockKind::Text && !block.is_words();
            return blocks.filter(added).for_each(|block| {
                let text = block_text(transcript, block);
                if !requests::is_agent_text(&text) {
                    let counted = self.count(&text, number, block.line, Speaker::Tool);
                    self.file(&text, &counted, number, block.line);
                }
            });
        }
        self.with_results(number, message);
        let is_call = |b: &u32| transcript.block(*b).kind == BlockKind::Call;
        // Text before calls mostly announces them.
        let base = if blocks.iter().any(is_call) { 0.3 } else { 1.0 };
        for number_of_block in blocks {
            let block = transcript.block(*number_of_block);
            match (block.kind, message.role) {
                (BlockKind::Text, Role::Assistant) => self.findings(number, block, base),
                (BlockKind::Text, Role::User) => {
                    let text = block_text(transcript, block);
                    requests::add_echo(self, &text, number, block.line);
                    if !self.user_texts.contains(&hash(text.trim())) {
                        self.instructions(&text, number, block.line);
                    }
                }
                (BlockKind::Attachment, _) => queued::attached(self, number, block),
                (BlockKind::Call, _) => {
                    let values = values(transcript, block);
                    let counted = self.count(&values, number, block.line, Speaker::Call);
                    if known.writes.contains(number_of_block) {
                        let names = &mut self.found.names;
                        names.note_all(&counted, |name| name.is_written = true);
                    } else {
                        self.settings(number, block);
                    }
                }
                // The user's words in it have already been added.
                (BlockKind::Result, _) if self.acts.answers.contains_key(number_of_block) => {}
                (BlockKind::Result, _) => {
                    let output = known.outputs.get(number_of_block).copied();
                    self.result(number, block, output.unwrap_or(Output::Other));
                }
                (
                    BlockKind::Text
                    | BlockKind::Image
                    | BlockKind::Document
                    | BlockKind::Thinking
                    | BlockKind::Redacted
                    | BlockKind::Server
                    | BlockKind::Other,
                    _,
                ) => {}
            }
        }
    }

    /// Claims a place for the question before a short answer: without it, the answer is meaningless.
    fn keep_question(&mut self, answer: u32) {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let is_text = |block: &u32| transcript.block(*block).kind == BlockKind::Text;
        let says = |message: &Message| {
            message.role == Role::Assistant && conversation.blocks(message).iter().any(is_text)
        };
        let asked = conversation.messages[..answer as usize]
            .iter()
            .rposition(says);
        let before = self.found.units.iter_mut().rev();
        let mut before = before.skip_while(|unit| unit.message >= answer);
        let last =
            before.find(|unit| matches!(unit.row.section, Section::Findings | Section::Requests));
        let is_question = |unit: &&mut Unit| {
            let text = unit
                .row
                .text
                .trim_end_matches(['*', '_', ')', '"', '”', '`', ' ']);
            unit.row.section == Section::Findings && text.ends_with(['?', '？', '؟'])
        };
        // A repeated question has a unit only at its first occurrence, which was answered then.
        let is_of_now = |unit: &&mut Unit| Some(unit.message as usize) == asked;
        if let Some(asks) = last.filter(is_of_now).filter(is_question) {
            asks.claim = Claim::Asked;
        }
    }

    /// Adds the numeric settings of a call, each with its key, unless an earlier call had the same.
    fn settings(&mut self, message: u32, call: &Block) {
        if call.content.len > LONGEST_SETTINGS {
            return;
        }
        let mut new: Vec<String> = Vec::new();
        settings(&input(self.transcript, call), |key, number| {
            let one = format!("{key} {number}");
            if self.lines.insert(hash(&one)) {
                new.push(one);
            }
        });
        if !new.is_empty() {
            let row = self.row(Section::Details, call.line, &new.join(BETWEEN));
            // Its words are not adjacent in the transcript.
            if let Some(unit) = self.add(row, message, Claim::Free, 0.0) {
                unit.kind = UnitKind::Names;
            }
        }
    }

    /// Adds text in user messages that was not typed: of commands and skills.
    fn instructions(&mut self, text: &str, message: u32, at: u32) {
        let begin = text.trim_start();
        let is_told = requests::is_said_by_others(begin);
        let is_notice = begin.starts_with(['<', '[']);
        let is_agents = is_notice && !is_told && requests::is_agent_text(text);
        if is_notice && !is_told && begin.starts_with('<') || is_agents || text.starts_with(PROJECT)
        {
            return;
        }
        let counted = self.count(text, message, at, Speaker::Tool);
        for line in text.split('\n') {
            self.line(line, Some(&counted), message, at, 0.0);
        }
    }

    fn findings(&mut self, message: u32, block: &Block, base: f64) {
        let text = block_text(self.transcript, block);
        let names = &mut self.found.names;
        let counted = names.count(&text, message, Speaker::Agent, |_, _, _| false);
        for (statement, kind) in statements(&text) {
            let sentence = line_of(statement);
            if !self.lines.insert(hash(&sentence)) {
                continue;
            }
            let names = self.found.names.of_part(&sentence, &counted);
            let base = match kind {
                // Without its context, a line of code without a name is meaningless.
                Stated::Code if names.is_empty() => 0.0,
                Stated::Code => base,
                Stated::Words if names.is_empty() && is_too_short(&sentence) => 0.0,
                // Reasons and open work are found nowhere else.
                Stated::Words if decides_or_leaves_open(&sentence) => base + DECIDES,
                Stated::Words => base,
            };
            let unit = Unit {
                base,
                focus: self.focus.worth(&sentence),
                row: self.row(Section::Findings, block.line, &sentence),
                message,
                claim: Claim::Free,
                kind: UnitKind::Statement,
                names,
                head: 0,
            };
            self.found.units.push(unit);
        }
    }

    /// Adds a result. If a free layer has replaced it, only what it still shows: an earlier run could not have said more, and a
    /// second run must not differ.
    fn shown<'t>(&self, text: &'t str) -> &'t str {
        match self.policy.replacements_in(text).next() {
            Some((Replacement::Superseded | Replacement::Cleared, _)) => "",
            Some((Replacement::Demoted, values)) => values.preview,
            // A note that states where the output is, or that it was removed.
            Some((Replacement::Offloaded | Replacement::Unavailable, _)) | None => text,
        }
    }

    fn result(&mut self, message: u32, block: &Block, output: Output) {
        let text = block_text(self.transcript, block);
        let text = match output {
            Output::Command | Output::Other => printed(Cow::Borrowed(self.shown(&text))),
            Output::File | Output::OldFile | Output::Todos => Cow::Borrowed(self.shown(&text)),
        };
        let text = &text[..];
        let counted = self.count(text, message, block.line, Speaker::Tool);
        let mut tell =
            |line: &str, base| self.line(line, Some(&counted), message, block.line, base);
        let worth = |line: &str| match output {
            Output::Command if is_commit(line) => COMMITTED,
            Output::Command | Output::File | Output::OldFile | Output::Todos | Output::Other => 0.0,
        };
        // The important part of a command's output is at its end.
        let at_the_end = match output {
            Output::Command => 0.5,
            Output::File | Output::OldFile | Output::Todos | Output::Other => 0.0,
        };
        match output {
            Output::File => self.file(text, &counted, message, block.line),
            Output::OldFile | Output::Todos => {}
            Output::Command | Output::Other => {
                let (lines, last) = key_lines(text);
                for line in lines {
                    tell(line, worth(line));
                }
                // The status is shown with the command.
                for line in last.filter(|line| !line.starts_with("Exit code")) {
                    tell(line, worth(line).max(at_the_end));
                }
            }
        }
    }

    /// Adds the lines of a file.
    fn file(&mut self, text: &str, counted: &Counted<'_>, message: u32, at: u32) {
        for (number, line) in without_numbers(text).enumerate() {
            if is_outline(line) {
                self.line(line, Some(counted), message, at, OUTLINE);
            } else if number < LINES_OF_A_FILE {
                self.line(line, Some(counted), message, at, 0.0);
            }
        }
        let names = &mut self.found.names;
        names.note_all(counted, |name| name.is_in_file = true);
    }

    /// Collects names that the reader sees without the summary.
    fn names_after(&mut self) {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let Units {
            names, seen_after, ..
        } = &mut self.found;
        for (number, message) in (0..).zip(&conversation.messages).skip(self.span.end) {
            for block in conversation.blocks(message) {
                let block = transcript.block(*block);
                let (speaker, text) = match block.kind {
                    BlockKind::Text if message.role == Role::Assistant => {
                        (Speaker::Agent, block_text(transcript, block))
                    }
                    BlockKind::Text if message.typed == Typed::Yes && block.is_words() => {
                        (Speaker::User, block_text(transcript, block))
                    }
                    BlockKind::Text | BlockKind::Result => {
                        (Speaker::Tool, block_text(transcript, block))
                    }
                    BlockKind::Call => (Speaker::Call, values(transcript, block).into()),
                    BlockKind::Image
                    | BlockKind::Document
                    | BlockKind::Thinking
                    | BlockKind::Redacted
                    | BlockKind::Server
                    | BlockKind::Attachment
                    | BlockKind::Other => continue,
                };
                let mut seen = |_, _: &str, number| {
                    seen_after.push(number);
                    false
                };
                names.count(&text, number, speaker, &mut seen);
            }
        }
    }
}

/// The kind of a statement of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stated {
    /// A sentence.
    Words,
    /// A line of a code block.
    Code,
}

/// Whether a sentence is a single word, which is meaningless without its neighbours. Words cannot be counted in scripts without
/// blanks.
fn is_too_short(sentence: &str) -> bool {
    const FEWEST: usize = 2;
    sentence.is_ascii() && sentence.split_ascii_whitespace().nth(FEWEST - 1).is_none()
}

/// The sentences of a text and the lines of its code blocks, without the fences.
fn statements(text: &str) -> Vec<(&str, Stated)> {
    let mut all = Vec::new();
    let mut kind = Stated::Words;
    for line in text.split('\n').map(str::trim) {
        let info = line.strip_prefix("```");
        let is_fence = info.is_some_and(|info| !info.trim_start_matches('`').contains('`'));
        kind = match (is_fence, kind) {
            (true, Stated::Words) => Stated::Code,
            (true, Stated::Code) => Stated::Words,
            (false, Stated::Words) => {
                // On another line, they are no row together.
                let is_taken_back =
                    |(before, kind): &mut (&str, Stated)| *kind == Stated::Words && decides(before);
                if takes_back(line) {
                    all.pop_if(is_taken_back);
                }
                all.extend(sentences(line).map(|sentence| (sentence, kind)));
                kind
            }
            (false, Stated::Code) => {
                let says = line.chars().any(char::is_alphanumeric);
                all.extend(says.then_some((line, kind)));
                kind
            }
        };
    }
    all
}

/// The values in a call's input, one per line; all of it if it is not JSON.
fn values(transcript: &Transcript<'_>, call: &Block) -> String {
    let raw = transcript.bytes(call.line, call.content);
    let text = match raw {
        [b'"', inside @ .., b'"'] => unescape(inside),
        raw => Cow::Borrowed(raw),
    };
    let mut out = Vec::new();
    let mut cursor = Cursor::new(&text);
    if !text.starts_with(b"{") || push_values(&mut cursor, DEEPEST, &mut out).is_err() {
        out = text.into_owned();
    }
    utf8(out)
}

fn push_values(cursor: &mut Cursor<'_>, levels: u8, out: &mut Vec<u8>) -> Parse<()> {
    let line = cursor.line();
    match cursor.kind()? {
        Kind::Object if levels > 0 => {
            let each = |_: &[u8], c: &mut Cursor<'_>| push_values(c, levels - 1, out);
            cursor.object(each).map(drop)
        }
        Kind::Array if levels > 0 => cursor.array(|c| push_values(c, levels - 1, out)).map(drop),
        Kind::String => {
            out.extend_from_slice(&unescape(cursor.string()?.span.of(line)));
            out.push(b'\n');
            Ok(())
        }
        Kind::Object | Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
            out.extend_from_slice(cursor.skip()?.of(line));
            out.push(b'\n');
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_apart_from_sentences() {
        let text =
            "It does this. Always:\n```rust\n  if a { b(). C }\n}\n```\n```x``` is `y`.\n````\nz";
        assert_eq!(
            statements(text),
            [
                ("It does this.", Stated::Words),
                ("Always:", Stated::Words),
                ("if a { b(). C }", Stated::Code),
                ("```x``` is `y`.", Stated::Words),
                ("z", Stated::Code),
            ]
        );
    }
}
