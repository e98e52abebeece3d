//! The user's words. Each message is a unit as a whole, and so is each sentence of it: which of the two a summary can tell
//! is known when its size is.
//!
//! Never changes a word: blanks around a message and empty lines in it are a part of it.

use std::borrow::Cow;

use super::form::{Mark, Row, Section};
use super::gather::Gather;
use super::names::{Speaker, hash};
use super::units::{Claim, Origin, Request};
use crate::facts::{Left, said, sentences};
use crate::transcript::{BlockKind, Transcript, Typed};

/// What the user's words are worth besides their names.
const BASE: f64 = 2.0;

/// What a person wrote in a message, without what the agent put beside it.
pub(super) fn words(transcript: &Transcript<'_>, blocks: &[u32]) -> String {
    let texts = blocks.iter().map(|block| transcript.block(*block));
    let texts = texts.filter(|block| block.kind == BlockKind::Text);
    let words: Vec<Cow<'_, str>> = texts
        .map(|block| said(transcript, block))
        .filter(|text| !text.trim_start().starts_with("<system-reminder>"))
        .collect();
    words.join("\n")
}

/// Adds a message that the user wrote on a line.
pub(super) fn add(gather: &mut Gather<'_, '_>, text: &str, message: u32, line: u32) {
    gather.said.insert(hash(text.trim()));
    let mark = gather.mark(line);
    push(gather, text, message, mark, Origin::Span);
}

/// Adds a message that an earlier summary tells of.
pub(super) fn carry(gather: &mut Gather<'_, '_>, text: &str, message: u32, mark: Mark) {
    push(gather, text, message, mark, Origin::Earlier);
}

fn push(gather: &mut Gather<'_, '_>, text: &str, message: u32, mark: Mark, origin: Origin) {
    if text.trim().is_empty() {
        return;
    }
    let names = &mut gather.found.names;
    names.count(text, message, Speaker::Author, |_, _| {});
    let number = gather.found.requests.len() as u32;
    gather.found.requests.push(Request { message, origin });
    let row = |text: &str| Row {
        section: Section::Requests,
        mark,
        label: String::new(),
        text: text.to_owned(),
    };
    gather.add(row(text), message, Claim::Request(number), BASE);
    for sentence in sentences(text) {
        gather.add(row(sentence), message, Claim::Sentence(number), BASE);
    }
}

/// Finds the last request, if no message that follows the span was typed.
pub(super) fn keep_last(gather: &mut Gather<'_, '_>) {
    let end = gather.end;
    let mut behind = gather.conversation.messages[end..]
        .iter()
        .zip(&gather.left[end..]);
    if behind.any(|(message, left)| message.typed == Typed::Yes && *left == Left::Nothing) {
        return;
    }
    let requests = (0..).zip(&gather.found.requests);
    let last = requests.max_by_key(|(_, request)| request.message);
    gather.found.last_request = last.map(|(number, _)| number);
}
