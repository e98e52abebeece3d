//! How an output differs from what was expected, message by message.

use super::changed::Changed;
use crate::diff::{Differ, Fate, Source, differing};
use crate::error::Result;
use crate::format::{Detected, Detector, Layout, Warnings};
use crate::outcome::ConversationOutcome;
use crate::policy::Policy;
use crate::report::{Screen, write_differences};
use crate::scan::lines;
use crate::text::{count, printable, thousands};
use crate::transcript::{ConversationId, Transcript};

/// The maximum number of differing lines shown.
const MOST_LINES: usize = 40;
/// The characters that end a line.
const EOL: [char; 2] = ['\n', '\r'];

/// How much detail to show of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// The messages that differ.
    Messages,
    /// The first differing byte as well.
    Bytes,
}

/// What differs, for people and for reports.
pub(super) struct Told {
    pub(super) text: String,
    /// `None` if the outputs could not be compared by message.
    pub(super) changed: Option<Changed>,
}

/// The difference between the expected and the actual output of an input, by message; or by line if one of them cannot be read in
/// the input's format. `told` contains the report's outcomes for the actual output.
pub(super) fn difference(
    input: &[u8],
    expected: &[u8],
    output: &[u8],
    policy: &Policy,
    told: &[ConversationOutcome],
    detail: Detail,
) -> Result<Told> {
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
        _ => {
            return Ok(Told {
                text: by_line(expected, output),
                changed: None,
            });
        }
    };
    let differ = Differ::new(policy)?;
    let compared = differ.outputs(sources.0, sources.1, [&[], told]);
    let first = match (detail, compared.first_byte) {
        (Detail::Bytes, Some(byte)) => format!("  the first byte that differs: {}\n", byte + 1),
        (Detail::Bytes, None) | (Detail::Messages, _) => String::new(),
    };
    if compared.is_same() {
        let what = match have_same_lines(expected, output) {
            true => "the lines are the same; how they end differs (\\n, \\r\\n or nothing)",
            false => "the messages are the same; ids, times or links that follow from them differ",
        };
        let text = format!("  {what}\n{first}");
        return Ok(Told {
            text,
            changed: None,
        });
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
    // If no layer has edited a message, only its line shows the difference.
    let rows = compared.conversations.iter().flat_map(|one| &one.rows);
    if rows
        .into_iter()
        .any(|row| row.texts.is_empty() && row.fates.contains(&Fate::Edited))
    {
        text.push_str(&by_line(expected, output));
    }
    text.push_str(&first);
    Ok(Told {
        text,
        changed: Some(Changed::of(&compared)),
    })
}

/// Whether two files have the same lines but for their ends, as after a checkout that converts them.
fn have_same_lines(one: &[u8], other: &[u8]) -> bool {
    fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let lines = bytes
            .strip_suffix(b"\n")
            .unwrap_or(bytes)
            .split(|b| *b == b'\n');
        lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }
    lines(one).eq(lines(other))
}

fn detected(bytes: &[u8]) -> Detected {
    let mut detector = Detector::default();
    detector.look(bytes);
    detector.decide()
}

/// The first differing lines, each cut around the first differing character; the others are counted.
fn by_line(expected: &[u8], output: &[u8]) -> String {
    let [olds, news] = [expected, output].map(|bytes| -> Vec<&[u8]> {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines.collect()
    });
    let [old_places, new_places] = [LineMessages::new(expected), LineMessages::new(output)];
    let mut shown = String::new();
    let mut say = |place: &str, what: &str, line: &str, at: usize| {
        shown.push_str(&format!("  {place}: {what} {}\n", cut(line, at)));
    };
    let gaps = differing(&olds, &news);
    // Lines of the same gap are paired in order.
    let pairs = gaps.iter().flat_map(|[old, new]| {
        let rows = 0..old.len().max(new.len());
        rows.map(move |row| {
            [old, new].map(|lines| Some(lines.start + row).filter(|line| *line < lines.end))
        })
    });
    for pair in pairs.clone().take(MOST_LINES) {
        match pair {
            [Some(old), Some(new)] => {
                let [old, line] = [olds[old], news[new]].map(String::from_utf8_lossy);
                let same = old.chars().zip(line.chars()).take_while(|(a, b)| a == b);
                let (at, byte) =
                    same.fold((0, 0), |(at, byte), (c, _)| (at + 1, byte + c.len_utf8()));
                let place = new_places.name(new, byte);
                let [was, is] = [&old, &line].map(|line| line.trim_end_matches(EOL));
                if was == is {
                    say(
                        &place,
                        "the same text with other bytes or another end:",
                        is,
                        0,
                    );
                } else {
                    say(&place, "expected", was, at);
                    say(&place, "     got", is, at);
                }
            }
            [Some(old), None] => {
                let line = String::from_utf8_lossy(olds[old]);
                say(&old_places.name(old, 0), "missing:", &line, 0);
            }
            [None, Some(new)] => {
                let line = String::from_utf8_lossy(news[new]);
                say(&new_places.name(new, 0), "not expected:", &line, 0);
            }
            [None, None] => {}
        }
    }
    match pairs.count() {
        ..=MOST_LINES => {}
        all => shown.push_str(&format!(
            "  and {} more\n",
            count((all - MOST_LINES) as u64, "line")
        )),
    }
    shown
}

/// Finds the message at a position within a line.
struct LineMessages<'a> {
    bytes: &'a [u8],
    detected: Detected,
    /// A file that is one transcript, read once.
    whole: Option<Transcript<'a>>,
}

impl<'a> LineMessages<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let detected = detected(bytes);
        let whole = match &detected {
            Detected::Known(format, Layout::File) => {
                Some(format.read(bytes, 1, &mut Warnings::default()))
            }
            Detected::Known(_, Layout::Line) | Detected::Unsupported(_) => None,
        };
        LineMessages {
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

/// The characters of a line around `at`.
fn cut(line: &str, at: usize) -> String {
    const BEFORE: usize = 40;
    const LENGTH: usize = 160;
    let start = at.saturating_sub(BEFORE);
    let text: String = line
        .trim_end_matches(EOL)
        .chars()
        .skip(start)
        .take(LENGTH)
        .collect();
    let dots = if start > 0 { "…" } else { "" };
    format!("{dots}{}", printable(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_the_same_place_stand_for_each_other() {
        assert_eq!(
            by_line(b"a\nold\nb\nc\n", b"a\nnew\nb\nd\ne\n"),
            "  line 2: expected old\n  line 2:      got new\n  line 4: expected c\n  line 4:      got d\n  line 5: not expected: e\n"
        );
        assert_eq!(by_line(b"a\nb\n", b"b\n"), "  line 1: missing: a\n");
        assert_eq!(
            by_line(b"a\r\n", b"a\n"),
            "  line 1: the same text with other bytes or another end: a\n"
        );
    }

    #[test]
    fn outputs_that_have_nothing_in_common_take_no_time_and_little_room() {
        let text =
            |step: usize| -> String { (0..200_000).map(|n| format!("{}\n", n * step)).collect() };
        let shown = by_line(text(2).as_bytes(), text(3).as_bytes());
        assert!(shown.lines().count() <= 2 * MOST_LINES + 1, "{shown}");
        assert!(shown.ends_with(" lines more\n"), "{shown}");
    }
}
