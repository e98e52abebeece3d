//! How an output differs from what was expected, message by message.

use similar::{ChangeTag, TextDiff};

use crate::diff::{Differ, Fate, Source};
use crate::error::Result;
use crate::format::{Detected, Detector, Layout, Warnings};
use crate::outcome::ConversationOutcome;
use crate::policy::Policy;
use crate::report::{Screen, write_differences};
use crate::scan::lines;
use crate::text::{printable, thousands};
use crate::transcript::{ConversationId, Transcript};

/// How much is said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// The messages that differ.
    Messages,
    /// The first byte that does, too.
    Bytes,
}

/// What differs between the expected output of an input and the one that came, by message; where one of them cannot be read as
/// the input can, by line. `told` is what the report says of the one that came.
pub(super) fn difference(
    input: &[u8],
    expected: &[u8],
    output: &[u8],
    policy: &Policy,
    told: &[ConversationOutcome],
    detail: Detail,
) -> Result<String> {
    let of = |bytes| match detected(bytes) {
        Detected::Known(format, layout) => Some(Source {
            bytes,
            format,
            layout,
        }),
        Detected::Unsupported(_) => None,
    };
    let alike = |one: &Source<'_>, other: &Source<'_>| {
        one.format == other.format && one.layout == other.layout
    };
    let sources = match (of(input), of(expected), of(output)) {
        (Some(input), Some(expected), Some(output))
            if alike(&input, &expected) && alike(&input, &output) =>
        {
            (input, [expected, output])
        }
        _ => return Ok(by_line(expected, output)),
    };
    let differ = Differ::new(policy)?;
    let compared = differ.outputs(sources.0, sources.1, [&[], told]);
    let first = match (detail, compared.first_byte) {
        (Detail::Bytes, Some(byte)) => format!("  the first byte that differs: {byte}\n"),
        (Detail::Bytes, None) | (Detail::Messages, _) => String::new(),
    };
    if compared.is_same() {
        return Ok(format!(
            "  the messages are the same; ids, times or links that follow from them differ\n{first}"
        ));
    }
    let mut shown = Vec::new();
    let names = ["expected", "got"];
    // To a vector, nothing can fail.
    let _ = write_differences(&compared, names, Screen::plain(130), &mut shown);
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let lines = shown.lines().map(|line| format!("  {line}\n"));
    let [was, is] = compared.tokens_after.map(thousands);
    let head = format!("  {was} tokens expected, got {is}\n");
    let mut text: String = std::iter::once(head).chain(lines).collect();
    // Of a message that no layer has edited, only its line says what is different.
    let rows = compared.conversations.iter().flat_map(|one| &one.rows);
    if rows
        .into_iter()
        .any(|row| row.texts.is_empty() && row.fates.contains(&Fate::Edited))
    {
        text.push_str(&by_line(expected, output));
    }
    text.push_str(&first);
    Ok(text)
}

fn detected(bytes: &[u8]) -> Detected {
    let mut detector = Detector::default();
    detector.look(bytes);
    detector.decide()
}

/// Lines that differ, each cut around the first character that does.
fn by_line(expected: &[u8], output: &[u8]) -> String {
    let (old, new) = (
        String::from_utf8_lossy(expected),
        String::from_utf8_lossy(output),
    );
    let (olds, news) = (Places::new(expected), Places::new(output));
    let diff = TextDiff::from_lines(old.as_ref(), new.as_ref());
    let mut shown = String::new();
    let mut say = |place: String, what: &str, line: &str, at: usize| {
        shown.push_str(&format!("  {place}: {what} {}\n", cut(line, at)));
    };
    // Runs of removed and added lines stand for each other in their order.
    let mut removed: Vec<(usize, &str)> = Vec::new();
    for change in diff.iter_all_changes() {
        match (change.tag(), change.old_index(), change.new_index()) {
            (ChangeTag::Delete, Some(number), _) => removed.push((number, change.value())),
            (ChangeTag::Insert, _, Some(number)) if removed.is_empty() => {
                say(news.name(number, 0), "not expected:", change.value(), 0);
            }
            (ChangeTag::Insert, _, Some(number)) => {
                let (_, old) = removed.remove(0);
                let new = change.value();
                let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
                let (at, byte) =
                    same.fold((0, 0), |(at, byte), (c, _)| (at + 1, byte + c.len_utf8()));
                let place = news.name(number, byte);
                say(place.clone(), "expected", old, at);
                say(place, "     got", new, at);
            }
            _ => removed
                .drain(..)
                .for_each(|(number, line)| say(olds.name(number, 0), "missing:", line, 0)),
        }
    }
    removed
        .into_iter()
        .for_each(|(number, line)| say(olds.name(number, 0), "missing:", line, 0));
    if shown.is_empty() {
        "  the bytes differ, the text does not\n".to_owned()
    } else {
        shown
    }
}

/// Says which message stands where.
struct Places<'a> {
    bytes: &'a [u8],
    detected: Detected,
    /// A file that is one transcript, read once.
    whole: Option<Transcript<'a>>,
}

impl<'a> Places<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let detected = detected(bytes);
        let whole = match &detected {
            Detected::Known(format, Layout::File) => {
                Some(format.read(bytes, 1, &mut Warnings::default()))
            }
            Detected::Known(_, Layout::Line) | Detected::Unsupported(_) => None,
        };
        Places {
            bytes,
            detected,
            whole,
        }
    }

    /// `line 12, message 5 (user)`; lines count from 0 here.
    fn name(&self, line: usize, byte: usize) -> String {
        let message = match (&self.whole, &self.detected) {
            (Some(transcript), _) => message_at(transcript, line as u32, byte),
            (None, Detected::Known(format, Layout::Line)) => {
                let bytes = lines(self.bytes)
                    .nth(line)
                    .map_or(&[][..], |raw| &self.bytes[raw.start..raw.end]);
                message_at(&format.read(bytes, 1, &mut Warnings::default()), 0, byte)
            }
            (None, _) => None,
        };
        format!("line {}{}", line + 1, message.unwrap_or_default())
    }
}

fn message_at(transcript: &Transcript<'_>, line: u32, byte: usize) -> Option<String> {
    let (conversation, number) = transcript.message_at(line, byte)?;
    let role = conversation.messages[number].role.name();
    let conversation = match &conversation.id {
        ConversationId::Main => String::new(),
        id => format!(" of {}", printable(&id.to_string())),
    };
    Some(format!(", message {}{conversation} ({role})", number + 1))
}

/// A line's characters around `at`.
fn cut(line: &str, at: usize) -> String {
    const BEFORE: usize = 40;
    const LENGTH: usize = 160;
    let start = at.saturating_sub(BEFORE);
    let text: String = line
        .trim_end_matches(['\n', '\r'])
        .chars()
        .skip(start)
        .take(LENGTH)
        .collect();
    let dots = if start > 0 { "…" } else { "" };
    format!("{dots}{}", printable(&text))
}
