//! Files that an agent attached: those that the user mentioned, and those that it restored after a compaction.
//!
//! Claude Code writes an attachment as a line of its own, with the text of the file without line numbers. A line can also
//! repeat a read beside its message, without line numbers.

use super::FactLocation;
use super::input::Input;
use super::lines::Lines;
use super::operation::{Content, Done, FileAction, Operation};
use super::path::{self, Folders};
use super::tools::Basis;
use crate::transcript::{BlockKind, Conversation, Transcript};

/// The files that are attached in a conversation, in order, with normalised paths.
pub(super) fn attached(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> Vec<(String, Operation)> {
    let folders = Folders::new(transcript);
    let one = |(message, number): (usize, u32)| {
        let block = transcript.block(number);
        if block.kind != BlockKind::Attachment {
            return None;
        }
        let place = FactLocation {
            message: message as u32,
            line: block.line,
            block: number,
        };
        let attachment = Input::in_value(transcript.bytes(block.line, block.value));
        let (_, written) = path::of(&attachment)?;
        let lines = shown_by(&attachment, "content")?.lines;
        let operation = Operation {
            call: place,
            result: Some(place),
            written: written.to_string(),
            what: FileAction::Read(lines),
            done: Done::Yes,
            patch: None,
            basis: Basis::Listed,
            inner: None,
        };
        Some((folders.in_one_spelling(place.line, &written), operation))
    };
    conversation.all_blocks().filter_map(one).collect()
}

/// The part of its file that an attachment shows.
pub(super) fn content(transcript: &Transcript<'_>, attachment: u32) -> Option<Content> {
    let block = transcript.block(attachment);
    let attachment = Input::in_value(transcript.bytes(block.line, block.value));
    shown_by(&attachment, "content")
}

/// The part of the file `written` that a line repeats beside the result of its read.
pub(super) fn repeated(
    transcript: &Transcript<'_>,
    result: FactLocation,
    written: &str,
) -> Option<Content> {
    let line = Input::in_value(transcript.line(result.line));
    let repeated = line.object("toolUseResult")?;
    let file = repeated.object("file")?;
    // A line may have several results, and repeats only one.
    let (_, path) = path::of(&file)?;
    let folders = Folders::new(transcript);
    let [own, asked] = [&*path, written].map(|path| folders.in_one_spelling(result.line, path));
    (own == asked).then_some(())?;
    shown_by(&line, "toolUseResult")
}

/// A file as Claude Code writes it under a key: its text, and which lines these are.
fn shown_by(object: &Input<'_>, key: &str) -> Option<Content> {
    let shown = object.object(key)?;
    if shown.text(&["type"])? != "text" {
        return None;
    }
    let file = shown.object("file")?;
    let text = file.text(&["content"])?.into_owned();
    let [first, lines, all] =
        ["startLine", "numLines", "totalLines"].map(|name| file.number(&[name]));
    let first = first.unwrap_or(1).max(1);
    let last = match (lines, all) {
        (Some(lines), Some(all)) if first.saturating_add(lines) <= all => {
            Some(first.saturating_add(lines.checked_sub(1)?))
        }
        (Some(_), Some(_)) => None,
        // The attachment does not say whether there is more.
        (_, _) => return None,
    };
    // The object around a text says if the text was cut.
    let is_cut = object.is_true(&["truncated"]) || file.is_true(&["truncated"]);
    (!is_cut).then_some(Content {
        text,
        lines: Lines { first, last },
    })
}

#[cfg(test)]
mod tests {
    use super::super::{files, with_attached};
    use super::*;
    use crate::facts::tests::{in_main, read_as};
    use crate::format::Format;

    const USER: &str = r#"{"type":"user","uuid":"a","parentUuid":null,"cwd":"/w","message":{"role":"user","content":"look at @a.rs"}}"#;

    fn attachment(content: &str) -> String {
        format!(
            r#"{{"type":"attachment","uuid":"b","parentUuid":"a","cwd":"/w","attachment":{{"type":"file","filename":"/w/a.rs","content":{content}}}}}"#
        )
    }

    /// The files of a session in which one is attached: path, text, lines.
    fn found(content: &str) -> Vec<(String, Option<Content>)> {
        let lines = format!("{USER}\n{}\n", attachment(content));
        let transcript = read_as(Format::ClaudeCode, &lines);
        let conversation = &transcript.conversations[0];
        let files = in_main(&transcript, |transcript, exchanges| {
            with_attached(transcript, conversation, files(transcript, exchanges))
        });
        let of = |file: &super::super::File| (file.path.clone(), file.content(&transcript));
        files.iter().map(of).collect()
    }

    #[test]
    fn an_attached_file_is_known() {
        let whole = r#"{"type":"text","file":{"filePath":"/w/a.rs","content":"x\ny\n","numLines":3,"startLine":1,"totalLines":3}}"#;
        let expected = Content {
            text: "x\ny\n".to_owned(),
            lines: Lines::ALL,
        };
        assert_eq!(found(whole), [("/w/a.rs".to_owned(), Some(expected))]);
    }

    #[test]
    fn a_part_of_a_file_is_known_as_a_part() {
        let part =
            r#"{"type":"text","file":{"content":"y","numLines":1,"startLine":2,"totalLines":3}}"#;
        let expected = Content {
            text: "y".to_owned(),
            lines: Lines {
                first: 2,
                last: Some(2),
            },
        };
        assert_eq!(found(part), [("/w/a.rs".to_owned(), Some(expected))]);
    }

    #[test]
    fn what_does_not_say_how_much_it_shows_tells_nothing() {
        for content in [
            r#"{"type":"text","file":{"content":"y"}}"#,
            r#"{"type":"image","file":{"content":"y","numLines":1,"totalLines":1}}"#,
            r#""y""#,
        ] {
            assert_eq!(found(content), [], "{content}");
        }
    }

    #[test]
    fn a_line_repeats_what_a_read_has_shown() {
        let lines = concat!(
            r#"{"type":"assistant","uuid":"a","parentUuid":null,"cwd":"/w","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/w/a.rs"}}]}}"#,
            "\n",
            r#"{"type":"user","uuid":"b","parentUuid":"a","cwd":"/w","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"     1→a very long line... [truncated]\n     2→b"}]},"toolUseResult":{"type":"text","file":{"filePath":"/w/a.rs","content":"a very long line, whole\nb","numLines":2,"startLine":1,"totalLines":2}}}"#,
            "\n"
        );
        let transcript = read_as(Format::ClaudeCode, lines);
        let files = in_main(&transcript, files);
        let expected = Content {
            text: "a very long line, whole\nb".to_owned(),
            lines: Lines::ALL,
        };
        assert_eq!(files[0].content(&transcript), Some(expected));
    }
}
