//! The user's words. Each message is a unit, and so is each of its sentences: which of the two fits depends on the size of the
//! summary.
//!
//! Words are quoted exactly, with blanks around a message and empty lines in it.

use std::collections::BTreeSet;

use super::form::{Mark, Row, Section};
use super::gather::{Gather, line_of};
use super::left_out::left_out;
use super::lines::{COMMITTED, is_commit};
use super::names::{Speaker, hash};
use super::units::{Claim, Origin, Request};
use crate::facts::{
    MessageOrigin, Picture, block_text, corrects, describes_pictures, picture, refuses, sentences,
};
use crate::transcript::{Transcript, Typed, typed_in};

/// The value of the user's words besides their names.
pub(super) const BASE: f64 = 2.0;

/// The extra value of a sentence that refuses or corrects: the agent acted, or would have acted, differently.
const AGAINST: f64 = 1.0;

/// The value of a line of a notice besides its names.
const NOTICE: f64 = 1.0;

/// The typed text of a message, without what the agent added.
pub(super) fn words(transcript: &Transcript<'_>, blocks: &[u32]) -> String {
    let texts = blocks.iter().map(|block| transcript.block(*block));
    let texts = texts.filter(|block| block.is_words());
    let words: Vec<String> = texts
        .map(|block| block_text(transcript, block))
        .filter_map(|text| Some(typed_in(&text)?.to_owned()))
        .collect();
    words.join("\n")
}

/// Whether all of a text in a user message was added by an agent.
pub(super) fn is_agent_text(text: &str) -> bool {
    typed_in(text).is_none()
}

/// The text after the elements that an agent's notice begins with.
pub(super) fn after_notice(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some(tag) = rest
        .strip_prefix('<')
        .and_then(|rest| rest.split(['>', ' ', '\n']).next())
        && let Some((_, after)) = rest.split_once(&format!("</{tag}>"))
    {
        rest = after.trim_start();
    }
    rest
}

/// The arguments that the user gave to a command of the agent, from its echo in the transcript.
pub(super) fn arguments(echo: &str) -> Option<&str> {
    let (_, after) = echo.split_once("<command-args>")?;
    let (arguments, _) = after.split_once("</command-args>")?;
    Some(arguments.trim()).filter(|arguments| !arguments.is_empty())
}

/// The command of the agent that the user gave, from its echo, if it is one that a model sees: `/review`.
fn command(echo: &str) -> Option<&str> {
    /// Commands of Claude Code that steer the program and say nothing to a model.
    const OF_THE_PROGRAM: [&str; 38] = [
        "/add-dir",
        "/agents",
        "/bug",
        "/clear",
        "/compact",
        "/config",
        "/context",
        "/cost",
        "/doctor",
        "/effort",
        "/exit",
        "/export",
        "/fast",
        "/feedback",
        "/help",
        "/hooks",
        "/ide",
        "/login",
        "/logout",
        "/mcp",
        "/memory",
        "/model",
        "/output-style",
        "/permissions",
        "/plugin",
        "/plugins",
        "/quit",
        "/release-notes",
        "/rename",
        "/resume",
        "/rewind",
        "/status",
        "/statusline",
        "/terminal-setup",
        "/theme",
        "/upgrade",
        "/usage",
        "/vim",
    ];
    let (_, after) = echo.split_once("<command-name>")?;
    let (name, _) = after.split_once("</command-name>")?;
    let name = name.trim();
    (name.starts_with('/') && !OF_THE_PROGRAM.contains(&name)).then_some(name)
}

/// Whether a text begins with a message of a hook or another agent, which is summarised, but not as the user's words.
pub(super) fn is_said_by_others(text: &str) -> bool {
    const TAGS: [&str; 5] = [
        "<agent-message",
        "<cross-session-message",
        "<teammate-message",
        "<user-prompt-submit-hook",
        "<user_action",
    ];
    let begin = text.trim_start();
    TAGS.iter().any(|tag| begin.starts_with(tag))
}

/// The echo of a command in a text, perhaps after the agent's own elements. Messages of others may only look like one.
fn echo(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    while !rest.starts_with("<command-") {
        if is_said_by_others(rest) {
            return None;
        }
        let tag = rest.strip_prefix('<')?.split(['>', ' ', '\n']).next()?;
        rest = rest.split_once(&format!("</{tag}>"))?.1.trim_start();
    }
    Some(rest)
}

/// Adds what an agent wrote as a user message: the echo of a command with the user's arguments, or a notice with instructions
/// outside of its elements.
pub(super) fn add_echo(gather: &mut Gather<'_, '_>, text: &str, message: u32, line: u32) {
    if !text.trim_start().starts_with('<') {
        return;
    }
    let echo = echo(text).unwrap_or_default();
    let arguments = arguments(echo);
    if let Some(command) = command(echo) {
        let typed = match arguments {
            Some(arguments) => format!("{command} {arguments}"),
            None => command.to_owned(),
        };
        return add_once(gather, &typed, message, line);
    }
    if let Some(arguments) = arguments {
        return add_once(gather, arguments, message, line);
    }
    for line_of_text in after_notice(text).lines() {
        gather.detail(line_of_text, message, line, NOTICE);
    }
}

/// Adds words that may also occur as a message, unless they were added before.
pub(super) fn add_once(gather: &mut Gather<'_, '_>, text: &str, message: u32, line: u32) {
    if !gather.user_texts.contains(&hash(text.trim())) {
        add(gather, text, message, line);
    }
}

/// Adds a typed message.
pub(super) fn add(gather: &mut Gather<'_, '_>, text: &str, message: u32, line: u32) {
    gather.user_texts.insert(hash(text.trim()));
    let mark = gather.mark(line);
    push(gather, text, message, mark, Origin::Span);
}

/// Adds the pictures of a message whose words were added before.
pub(super) fn add_pictures(gather: &mut Gather<'_, '_>, blocks: &[u32], message: u32, line: u32) {
    let blocks = blocks.iter().map(|block| gather.transcript.block(*block));
    let pictures: Vec<Picture> = blocks
        .filter_map(|block| picture(gather.transcript, block))
        .collect();
    describe(gather, &pictures, message, line);
}

/// Adds descriptions of pictures whose words were added before.
pub(super) fn describe(gather: &mut Gather<'_, '_>, pictures: &[Picture], message: u32, line: u32) {
    let mark = gather.mark(line);
    for picture in pictures {
        let text = picture.description(mark.line);
        push_picture(gather, &text, message, mark, Origin::Span);
    }
}

/// Adds a message that an earlier summary quotes, or its pictures.
pub(super) fn carry(gather: &mut Gather<'_, '_>, text: &str, message: u32, mark: Mark) {
    if let Some(messages) = left_out(text) {
        let before = gather.found.left_out.map_or(0, |(before, _)| before);
        gather.found.left_out = Some((before.saturating_add(messages), mark.line));
    } else if describes_pictures(text) {
        push_picture(gather, text, message, mark, Origin::Earlier);
    } else {
        push(gather, text, message, mark, Origin::Earlier);
    }
}

/// Adds the note about a picture: to the words before it, if the message has any.
fn push_picture(gather: &mut Gather<'_, '_>, text: &str, message: u32, mark: Mark, origin: Origin) {
    let requests = &mut gather.found.requests;
    if requests
        .last()
        .is_none_or(|request| request.message != message)
    {
        let bytes = 0;
        requests.push(Request {
            message,
            origin,
            bytes,
        });
    }
    let number = requests.len() as u32 - 1;
    let row = Row {
        section: Section::Requests,
        mark,
        label: String::new(),
        text: text.to_owned(),
    };
    gather.add(row, message, Claim::Picture(number), BASE);
}

fn push(gather: &mut Gather<'_, '_>, text: &str, message: u32, mark: Mark, origin: Origin) {
    if text.trim().is_empty() {
        return;
    }
    let names = &mut gather.found.names;
    names.count(text, message, Speaker::User, |_, _, _| false);
    let number = gather.found.requests.len() as u32;
    let bytes = text.len();
    gather.found.requests.push(Request {
        message,
        origin,
        bytes,
    });
    let row = |text: &str| Row {
        section: Section::Requests,
        mark,
        label: String::new(),
        text: text.to_owned(),
    };
    gather.add(row(text), message, Claim::Request(number), BASE);
    for sentence in pieces(text) {
        let bare = sentence.trim();
        let base = match refuses(bare) || corrects(bare) {
            true => BASE + AGAINST,
            false => BASE,
        };
        gather.add(row(sentence), message, Claim::Sentence(number), base);
    }
    // Every token has at least one byte.
    if text.len() as u64 > gather.policy.summary.user_message_max {
        pasted(gather, text, message, mark, number);
    }
}

/// Splits a text into sentences, each including everything up to the next one: joined, they are the text, and lines of code keep
/// their blanks.
fn pieces(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut end = 0;
    for sentence in sentences(text) {
        let at = sentence.as_ptr() as usize - text.as_ptr() as usize;
        // Includes the blanks at the start of its line.
        let between = &text[end..at];
        let line = between.rfind('\n').map(|line| end + line + 1);
        let start = line.filter(|line| text[*line..at].trim().is_empty());
        starts.push(match starts.is_empty() {
            true => 0,
            false => start.unwrap_or(at),
        });
        end = at + sentence.len();
    }
    // A text of symbols alone is still something that the user said.
    if starts.is_empty() {
        return vec![text];
    }
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &text[*start..end])
        .collect()
}

/// Adds the lines of a message that may be too long to be quoted whole: some of those left out are worth including.
fn pasted(gather: &mut Gather<'_, '_>, text: &str, message: u32, mark: Mark, number: u32) {
    for line in text.lines() {
        let text = line_of(line).into_owned();
        if gather.found.names.of(&text).is_empty() {
            continue;
        }
        let base = match is_commit(&text) {
            true => COMMITTED,
            false => 0.0,
        };
        let row = Row {
            section: Section::Details,
            mark,
            label: String::new(),
            text,
        };
        gather.add(row, message, Claim::Pasted(number), base);
    }
}

/// Finds the last requests, if no message that follows the span was typed.
pub(super) fn keep_last(gather: &mut Gather<'_, '_>) {
    let end = gather.span.end;
    let mut after = gather.conversation.messages[end..]
        .iter()
        .zip(&gather.origins[end..]);
    if after.any(|(message, left)| message.typed == Typed::Yes && *left == MessageOrigin::Session) {
        return;
    }
    let messages = &gather.conversation.messages;
    let requests = || (0..).zip(&gather.found.requests);
    let is_typed = |request: &Request| messages[request.message as usize].typed == Typed::Yes;
    let last = requests().max_by_key(|(_, request)| request.message);
    let typed = requests()
        .filter(|(_, request)| is_typed(request))
        .max_by_key(|(_, request)| request.message);
    let lasts: BTreeSet<u32> = [last, typed]
        .into_iter()
        .flatten()
        .map(|(n, _)| n)
        .collect();
    gather.found.last_requests = lasts.into_iter().collect();
}
