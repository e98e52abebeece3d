//! The part of a transcript that can be measured (one session for each conversation, up to its first compaction) and the places
//! where it can be cut.
//!
//! After a recorded compaction, the agent knew only its summary, so its later actions are no evidence about another summary.

use super::names::Folders;
use crate::format::{Format, Warnings};
use crate::ids::IdMap;
use crate::transcript::{
    BlockKind, Conversation, ConversationId, LineKind, Link, LinkKind, Transcript, Typed,
};

/// A session up to its first compaction, with its own lines.
#[derive(Debug)]
pub(super) struct Segment {
    /// `main`, a sidechain's id, or `line:7`.
    pub(super) id: String,
    pub(super) format: Format,
    pub(super) bytes: Vec<u8>,
    /// The line numbers (from 1) of its lines in the file.
    pub(super) lines: Vec<u64>,
}

/// The sessions of a transcript. `line` is its number (from 1) if it is one line of a conversation-per-line file; `first_line`
/// is the number of its first line in the file.
pub(super) fn segments(
    format: Format,
    transcript: &Transcript<'_>,
    first_line: u64,
    line: Option<u64>,
) -> Vec<Segment> {
    let before = match first_compaction(format, transcript) {
        None => transcript.base(),
        Some(line) => &transcript.base()[..transcript.lines()[line].start],
    };
    let part = format.read(before, first_line, &mut Warnings::default());
    let shared = shared_lines(&part);
    let mut segments = Vec::new();
    for conversation in part.conversations.iter().filter(|c| !c.messages.is_empty()) {
        let id = match line {
            Some(line) => ConversationId::Line(line).to_string(),
            None => conversation.id.to_string(),
        };
        let mut segment = Segment {
            id,
            format,
            bytes: Vec::new(),
            lines: Vec::new(),
        };
        let mut push = |line: u32, bytes: &[u8]| {
            segment.bytes.extend_from_slice(bytes);
            segment.bytes.push(b'\n');
            segment.lines.push(first_line + u64::from(line));
        };
        if format.dialect().every_message_is_live() {
            for message in &conversation.messages {
                let line = conversation.first_line(message);
                push(line, part.bytes(line, message.object));
            }
        } else {
            let mut own: Vec<u32> = conversation.path.clone();
            own.extend(conversation.all_lines());
            own.extend(&shared);
            own.sort_unstable();
            own.dedup();
            for line in own {
                push(line, part.line(line));
            }
        }
        segments.push(segment);
    }
    segments
}

/// The number (from 0) of the line of the first recorded compaction.
fn first_compaction(format: Format, transcript: &Transcript<'_>) -> Option<usize> {
    let dialect = format.dialect();
    let mut links = transcript.links().iter();
    links.position(|link| dialect.is_compaction(link))
}

/// The lines that belong to no conversation, and therefore to each, except those that jump back.
fn shared_lines(transcript: &Transcript<'_>) -> Vec<u32> {
    let goes_back = |link: &Link| match link.kind {
        LinkKind::Pointer | LinkKind::ChosenPointer | LinkKind::GoBack | LinkKind::Title => true,
        LinkKind::Other
        | LinkKind::Node
        | LinkKind::Attachment
        | LinkKind::Compaction(_)
        | LinkKind::Request
        | LinkKind::Folder
        | LinkKind::Count => false,
    };
    // A header that names the folder may have an id of its own, and be in no chain.
    let is_of_all =
        |link: &Link| (link.id.is_empty() || link.kind == LinkKind::Folder) && !goes_back(link);
    let is_shared = |line: &u32| {
        let link = transcript.links().get(*line as usize);
        match transcript.lines()[*line as usize].kind {
            LineKind::Message => false,
            LineKind::Mirror
            | LineKind::Control
            | LineKind::Session
            | LineKind::Unknown
            | LineKind::Bad => link.is_none_or(is_of_all),
        }
    };
    let lines = 0..transcript.lines().len() as u32;
    lines.filter(is_shared).collect()
}

/// The folders that the lines of a session name as the agent's working folders.
pub(super) fn folders(bytes: &[u8]) -> Folders {
    // Inside a text, the quotes would be escaped.
    const KEY: &[u8] = b"\"cwd\":";
    let named = memchr::memmem::find_iter(bytes, KEY).filter_map(|at| {
        let after = bytes[at + KEY.len()..].trim_ascii_start();
        let value = after.strip_prefix(b"\"")?;
        let end = value.iter().position(|b| *b == b'"').unwrap_or(0);
        let folder = String::from_utf8_lossy(&value[..end]);
        let folder = folder.trim_end_matches('/');
        (folder.starts_with('/') && folder.len() > 1).then(|| folder.to_owned())
    });
    named.collect()
}

/// A place where a session can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutPoint {
    /// The first message after it, from 0.
    pub(super) message: usize,
    /// The line on which that message begins, from 0.
    pub(super) line: u32,
    /// Whether that message was typed.
    pub(super) typed: Typed,
    /// The tokens before it.
    pub(super) tokens: u64,
}

/// The numbers of the lines before a place: all lines of the messages before it, and all other lines above it.
pub(super) fn lines_before(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    place: CutPoint,
) -> Vec<u32> {
    let mut ones: Vec<Option<bool>> = vec![None; transcript.lines().len()];
    for (number, message) in conversation.messages.iter().enumerate() {
        for line in conversation.lines(message) {
            ones[*line as usize] = Some(number < place.message);
        }
    }
    let lines = (0_u32..).zip(ones);
    let lines = lines.filter(|(line, is_before)| is_before.unwrap_or(*line < place.line));
    lines.map(|(line, _)| line).collect()
}

/// The bytes of these lines, including their line ends.
pub(super) fn bytes_of(transcript: &Transcript<'_>, lines: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(transcript.line(*line));
        bytes.push(b'\n');
    }
    bytes
}

/// The places before a request, where no call is separated from its result. `growth` has the tokens after each message.
pub(super) fn places(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    growth: &[u64],
) -> Vec<CutPoint> {
    let messages = &conversation.messages;
    let count = messages.len();
    let mut opens = vec![0_i64; count + 2];
    let mut results = vec![false; count];
    let mut calls: IdMap<&[u8], usize> = IdMap::default();
    for (message, number) in conversation.all_blocks() {
        let block = transcript.block(number);
        let id = transcript.bytes(block.line, block.call_id);
        if block.kind == BlockKind::Call {
            calls.insert(id, message);
        } else if block.kind == BlockKind::Result {
            results[message] = true;
            if let Some(call) = calls.get(id) {
                opens[call + 1] += 1;
                opens[message + 1] -= 1;
            }
        }
    }
    let mut places = Vec::new();
    let mut open = 0;
    for message in 1..count {
        open += opens[message];
        let typed = messages[message].typed;
        let is_asked = typed == Typed::Yes || results[message - 1] && !results[message];
        if open == 0 && is_asked {
            places.push(CutPoint {
                message,
                line: conversation.first_line(&messages[message]),
                typed,
                tokens: growth[message - 1],
            });
        }
    }
    places
}

/// The place nearest to a percentage of `whole` tokens; preferably before a typed message, if one is almost as near.
pub(super) fn nearest(places: &[CutPoint], percent: f64, whole: u64) -> Option<CutPoint> {
    const ALMOST: f64 = 0.03;
    let target = whole as f64 * percent / 100.0;
    let distance = |place: &&CutPoint| (place.tokens as f64 - target).abs();
    let least = |of: &mut dyn Iterator<Item = &CutPoint>| {
        of.fold(None, |best: Option<CutPoint>, place| match best {
            Some(best) if distance(&&best) <= distance(&place) => Some(best),
            Some(_) | None => Some(*place),
        })
    };
    let typed = least(&mut places.iter().filter(|place| place.typed == Typed::Yes));
    let any = least(&mut places.iter())?;
    let is_near = |typed: &CutPoint| distance(&typed) <= distance(&&any) + ALMOST * whole as f64;
    Some(typed.filter(is_near).unwrap_or(any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_at_its_first_compaction() {
        let line = |id: &str, parent: &str, rest: &str| {
            format!("{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s\",{rest}}}\n")
        };
        let user = |text: &str| {
            format!("\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}")
        };
        let text = line("a", "null", &user("one"))
            + &line("x", "\"a\"", &user("left"))
            + &line("b", "\"a\"", &user("two"))
            + &line(
                "c",
                "null",
                r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"b""#,
            )
            + &line(
                "d",
                "\"c\"",
                &(user("summary") + ",\"isCompactSummary\":true"),
            )
            + &line("e", "\"d\"", &user("three"));
        let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
        let segments = segments(Format::ClaudeCode, &transcript, 1, None);
        let found: Vec<_> = segments.iter().map(|s| (&s.id[..], &s.lines[..])).collect();
        assert_eq!(found, [("main", &[1, 3][..])]);
    }

    #[test]
    fn a_cut_parts_no_call_from_its_result() {
        let text = r#"{"role":"user","content":"go"}
{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}
{"role":"assistant","content":"done"}
{"role":"user","content":"more"}
{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"x","input":{}}]}
"#;
        let transcript = Format::Anthropic.read(text.as_bytes(), 1, &mut Warnings::default());
        let places = places(
            &transcript,
            &transcript.conversations[0],
            &[10, 20, 30, 40, 50, 60],
        );
        let place = |message, tokens, typed| CutPoint {
            message,
            line: message as u32,
            typed,
            tokens,
        };
        let expected = [place(3, 30, Typed::No), place(4, 40, Typed::Yes)];
        assert_eq!(places, expected);
        assert_eq!(nearest(&places, 50.0, 60), Some(expected[0]));
        assert_eq!(nearest(&places, 58.0, 60), Some(expected[1]));
        assert_eq!(nearest(&[], 50.0, 60), None);
    }

    #[test]
    fn a_session_keeps_the_header_that_names_its_folder() {
        let text = r#"{"type":"session.start","data":{"sessionId":"s","context":{"cwd":"/w/app"}},"id":"0","parentId":null}
{"type":"user.message","data":{"content":"go"},"id":"1","parentId":"0"}
{"type":"assistant.message","data":{"content":"gone"},"id":"2","parentId":"1"}
"#;
        let transcript = Format::Copilot.read(text.as_bytes(), 1, &mut Warnings::default());
        let [segment] = &segments(Format::Copilot, &transcript, 1, None)[..] else {
            panic!("no session");
        };
        assert_eq!(segment.lines, [1, 2, 3]);
        let folder = Folders::from_iter(["/w/app".to_owned()]);
        assert_eq!(folders(&segment.bytes), folder);
    }

    #[test]
    fn folders_are_those_of_the_lines() {
        let bytes = br#"{"cwd":"/w/app/","x":"\"cwd\":\"/no\""} {"cwd": "/w/app/sub"} {"cwd":"."}"#;
        let named = ["/w/app/sub", "/w/app"].map(str::to_owned);
        assert_eq!(folders(bytes), Folders::from_iter(named));
    }
}
