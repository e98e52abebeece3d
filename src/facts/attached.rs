//! Files that an agent attached: those that the user mentioned, and those that it restored after a compaction.
//!
//! Claude Code writes an attachment as a line of its own, with the text of the file without line numbers. A line can also repeat a
//! read outside of its message, without line numbers. Gemini CLI and Qwen Code append mentioned files to the user's message, each
//! as a part that follows the part naming it; pi puts them before the user's words.

use super::hints::{Bare, stands_for_binary};
use super::input::Input;
use super::lines::Lines;
use super::operation::{Content, Done, FileAction, Operation};
use super::path::{self, Folders};
use super::refused::{is_empty, is_hint};
use super::tools::Basis;
use super::{FactLocation, block_text};
use crate::transcript::{Author, BlockKind, Conversation, Role, Transcript, mentioned_in};

/// The files that are attached in a conversation, in order, with normalised paths.
pub(super) fn attached(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> Vec<(String, Operation)> {
    let folders = Folders::new(transcript);
    let mut written_before = None;
    let one = |(message, number): (usize, u32)| {
        let block = transcript.block(number);
        let named = written_before.take();
        let found = match block.kind {
            BlockKind::Attachment => {
                let attachment = Input::in_value(transcript.bytes(block.line, block.value));
                let (_, written) = path::of(&attachment)?;
                let lines = shown_by(&attachment, "content")?.lines;
                vec![(written.into_owned(), lines)]
            }
            BlockKind::Text if block.author == Author::Program => {
                let text = block_text(transcript, block);
                written_before = name_of_next(&text).map(str::to_owned);
                let shown = named.filter(|_| is_shown(&text));
                shown
                    .map(|written| (written, Lines::ALL))
                    .into_iter()
                    .collect()
            }
            BlockKind::Text if conversation.messages[message].role == Role::User => {
                let raw = transcript.bytes(block.line, block.content);
                memchr::memmem::find(raw, b"<file name=")?;
                let text = block_text(transcript, block);
                let files = mentioned_in(&text).into_iter();
                let shown = files.filter(|file| file.text.is_some_and(is_shown));
                shown
                    .map(|file| (file.path.to_owned(), Lines::ALL))
                    .collect()
            }
            _ => Vec::new(),
        };
        let place = FactLocation {
            message: message as u32,
            line: block.line,
            block: number,
        };
        let read = |(written, lines): (String, Lines)| {
            let path = folders.in_one_spelling(place.line, &written);
            let operation = Operation {
                call: place,
                result: Some(place),
                written,
                what: FileAction::Read(lines),
                done: Done::Yes,
                patch: None,
                basis: Basis::Listed,
                inner: None,
            };
            (path, operation)
        };
        Some(found.into_iter().map(read).collect())
    };
    let found: Vec<Vec<_>> = conversation.all_blocks().filter_map(one).collect();
    found.into_iter().flatten().collect()
}

/// The file named by a part, if the next part holds its content.
fn name_of_next(part: &str) -> Option<&str> {
    let path = part
        .trim()
        .strip_prefix("Content from ")?
        .strip_suffix(':')?;
    Some(path.strip_prefix('@').unwrap_or(path))
}

/// Whether a text is the content of a whole file, as far as the text itself shows.
fn is_shown(text: &str) -> bool {
    let is_cut = text
        .trim_start()
        .starts_with("[WARNING: This file was truncated")
        || Bare::of(text).text.len() != text.len();
    !is_cut && !is_empty(text) && !is_hint(text.trim_start()) && !stands_for_binary(text)
}

/// The part of its file that an attachment shows.
pub(super) fn content(
    transcript: &Transcript<'_>,
    attachment: u32,
    written: &str,
) -> Option<Content> {
    let block = transcript.block(attachment);
    if block.kind == BlockKind::Text {
        let all = block_text(transcript, block);
        let text = match block.author {
            Author::Program => all.into_owned(),
            Author::OfMessage => {
                let mut files = mentioned_in(&all).into_iter();
                files.find(|file| file.path == written)?.text?.to_owned()
            }
        };
        return Some(Content {
            text,
            lines: Lines::ALL,
        });
    }
    let attachment = Input::in_value(transcript.bytes(block.line, block.value));
    shown_by(&attachment, "content")
}

/// The part of the file `written` that a line repeats outside of the read's result.
pub(super) fn repeated(
    transcript: &Transcript<'_>,
    result: FactLocation,
    written: &str,
) -> Option<Content> {
    let line = Input::in_value(transcript.line(result.line));
    let repeated = line.object("toolUseResult")?;
    let file = repeated.object("file")?;
    // A line may have several results but repeats only one of them.
    let (_, path) = path::of(&file)?;
    let folders = Folders::new(transcript);
    let [own, asked] = [&*path, written].map(|path| folders.in_one_spelling(result.line, path));
    (own == asked).then_some(())?;
    shown_by(&line, "toolUseResult")
}

/// A file as Claude Code writes it under a key: its text and line range.
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
    // The enclosing object states whether the text was cut.
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
    use crate::transcript::{Typed, typed_in};

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
    fn mentioned_files_are_read_files_and_the_users_words_are_the_rest() {
        let parts = r#"[{"text":"@a.py explain"},{"text":"\n--- Content from referenced files ---"},{"text":"\nContent from @a.py:\n"},{"text":"x = 1\n"},{"text":"\nContent from @pic.png:\n"},{"text":"[Unsupported image file: \"pic.png\"]"},{"text":"\n--- End of content ---"}]"#;
        let gemini = format!(
            "{}\n{{\"id\":\"u\",\"timestamp\":\"t\",\"type\":\"user\",\"content\":{parts}}}\n",
            r#"{"sessionId":"s","projectHash":"p","startTime":"t","lastUpdated":"t","kind":"main"}"#
        );
        let qwen = format!(
            r#"{{"uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"t","type":"user","cwd":"/w","message":{{"role":"user","parts":{parts}}}}}"#
        );
        let pi = concat!(
            r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#,
            "\n",
            r#"{"type":"message","id":"u","parentId":null,"timestamp":"t","message":{"role":"user","content":[{"type":"text","text":"<file name=\"/w/a.py\">\nx = 1\n\n</file>\n<file name=\"/w/b.png\"></file>\n@a.py explain"}]}}"#,
        );
        for (format, bytes) in [
            (Format::Gemini, &gemini[..]),
            (Format::Qwen, &qwen),
            (Format::Pi, pi),
        ] {
            let transcript = read_as(format, bytes);
            let conversation = &transcript.conversations[0];
            let message = &conversation.messages[0];
            assert_eq!(message.typed, Typed::Yes, "{format:?}");
            let blocks = conversation.blocks(message).iter();
            let said: Vec<String> = blocks
                .map(|block| transcript.block(*block))
                .filter(|block| block.is_words())
                .filter_map(|block| typed_in(&block_text(&transcript, block)).map(str::to_owned))
                .collect();
            assert_eq!(said, ["@a.py explain"], "{format:?}");
            let files = in_main(&transcript, |transcript, exchanges| {
                with_attached(transcript, conversation, files(transcript, exchanges))
            });
            let [file] = &files[..] else {
                panic!("{format:?}: {files:?}");
            };
            assert!(file.path.ends_with("a.py"), "{format:?}");
            let content = file.content(&transcript).unwrap();
            assert_eq!(content.text, "x = 1\n", "{format:?}");
        }
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
