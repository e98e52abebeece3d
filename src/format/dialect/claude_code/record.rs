//! Reads one line of a session file.

use crate::format::shapes::blocks;
use crate::scan::{Cursor, Kind, Parse, Span, Value};
use crate::transcript::{
    Answer, Block, BlockKind, Compaction, LineKind, Link, LinkKind, Record, Role,
};

/// Attachments that Claude Code sends along with the messages; the others are for its own use.
const SENT_ATTACHMENTS: [&[u8]; 7] = [
    b"file",
    b"compact_file_reference",
    b"deferred_tools_delta",
    b"mcp_instructions_delta",
    b"skill_listing",
    b"todo_reminder",
    b"queued_command",
];

/// The model name in answers that the agent itself wrote.
const SYNTHETIC_MODEL: &[u8] = b"<synthetic>";

/// An attachment, with its `type` and its `prompt`.
struct Attachment<'a> {
    value: Span,
    kind: Value<'a>,
    prompt: Value<'a>,
}

/// The values read before the line's `type` was known.
#[derive(Default)]
struct Parts<'a> {
    kind: Span,
    subtype: Span,
    call: Span,
    leaf: Span,
    is_chosen: bool,
    tool_use_result: Option<Span>,
    data: Option<Span>,
    attachment: Option<Attachment<'a>>,
    link: Link,
}

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let line = c.line();
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    let mut parts = Parts::default();
    c.object(|key, c| {
        let link = &mut parts.link;
        match key {
            b"type" => parts.kind = c.string_span()?,
            b"subtype" => parts.subtype = c.string_span()?,
            b"uuid" => link.id = c.string_span()?,
            b"parentUuid" => {
                link.parent = c.string_span()?;
                link.is_root |= link.parent.is_empty();
            }
            b"leafUuid" => parts.leaf = c.string_span()?,
            b"explicit" => parts.is_chosen |= c.is_true()?,
            b"isSidechain" => link.is_sidechain |= c.is_true()?,
            b"isMeta" => link.is_injected |= c.is_true()?,
            b"isCompactSummary" => link.is_summary |= c.is_true()?,
            b"isApiErrorMessage" => {
                if c.is_true()? {
                    link.answer = Answer::ApiError;
                }
            }
            b"toolUseResult" => parts.tool_use_result = Some(c.skip()?),
            b"parentToolUseID" => parts.call = c.string_span()?,
            b"data" => parts.data = Some(c.skip()?),
            b"attachment" if c.kind()? == Kind::Object => {
                let start = c.place()?;
                let [kind, prompt] = c.fields(["type", "prompt"])?;
                let value = Span::new(start, c.last_end());
                parts.attachment = Some(Attachment {
                    value,
                    kind,
                    prompt,
                });
            }
            b"message" if c.kind()? == Kind::Object => {
                record.forget(blocks, texts);
                message(c, record, link)?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let kind = parts.kind.of(line);
    let role = match kind {
        b"user" => Role::User,
        b"assistant" => Role::Assistant,
        _ => {
            record.forget(blocks, texts);
            return Ok(without_message(line, record, parts));
        }
    };
    let words = record.first_words(blocks, line);
    let mut link = parts.link;
    link.role = Some(role);
    link.is_echo = words.is_some_and(blocks::is_echo);
    link.kind = LinkKind::Node;
    if let Some(value) = parts.tool_use_result {
        record.mirror(value, Span::default());
    }
    record.link(link);
    Ok(LineKind::Message)
}

/// A line of another type than the two with messages.
fn without_message(line: &[u8], record: &mut Record<'_, '_>, parts: Parts<'_>) -> LineKind {
    let mut link = parts.link;
    let line_kind = match parts.kind.of(line) {
        b"attachment" => {
            link.kind = LinkKind::Node;
            attachment(record, &mut link, parts.attachment)
        }
        b"progress" => {
            if let Some(data) = parts.data.filter(|_| !parts.call.is_empty()) {
                record.mirror(data, parts.call);
            }
            LineKind::Mirror
        }
        b"system" => {
            link.kind = match parts.subtype.of(line) {
                b"compact_boundary" => LinkKind::Compaction(Compaction::Boundary),
                _ => LinkKind::Node,
            };
            LineKind::Control
        }
        b"last-prompt" => {
            link = Link {
                parent: parts.leaf,
                ..Link::default()
            };
            // A line without a leaf is not a pointer, unless the user went back to before the first message.
            if parts.is_chosen {
                link.kind = LinkKind::ChosenPointer;
            } else if !parts.leaf.is_empty() {
                link.kind = LinkKind::Pointer;
            }
            LineKind::Control
        }
        b"summary" => {
            link = Link {
                parent: parts.leaf,
                kind: LinkKind::Title,
                ..Link::default()
            };
            LineKind::Session
        }
        b"file-history-snapshot"
        | b"queue-operation"
        | b"permission-mode"
        | b"mode"
        | b"ai-title"
        | b"custom-title"
        | b"agent-name"
        | b"tools-used"
        | b"cost-state"
        | b"atis-latch" => {
            // The ids of such a line do not matter: the agents do not follow the chain through it.
            link = Link::default();
            LineKind::Session
        }
        b"api-request" | b"api-request-shape" | b"api-request-blob" => {
            link = Link {
                kind: LinkKind::Request,
                ..Link::default()
            };
            LineKind::Session
        }
        _ => LineKind::Unknown,
    };
    record.link(link);
    line_kind
}

/// The API message of a user or assistant line.
fn message(c: &mut Cursor<'_>, record: &mut Record<'_, '_>, link: &mut Link) -> Parse<()> {
    let (blocks, texts) = (record.block_mark(), record.text_mark());
    let line = c.line();
    c.object(|key, c| {
        match key {
            b"id" => link.message = c.string_span()?,
            b"model" => {
                if c.string_span()?.of(line) == SYNTHETIC_MODEL {
                    link.answer = link.answer.max(Answer::Uncounted);
                }
            }
            b"content" => {
                record.forget(blocks, texts);
                link.content = blocks::content(c, record)?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })
    .map(drop)
}

fn attachment(
    record: &mut Record<'_, '_>,
    link: &mut Link,
    attachment: Option<Attachment<'_>>,
) -> LineKind {
    let Some(Attachment {
        value,
        kind,
        prompt,
    }) = attachment
    else {
        return LineKind::Control;
    };
    if !SENT_ATTACHMENTS.contains(&kind.string().unwrap_or_default()) {
        return LineKind::Control;
    }
    link.kind = LinkKind::Attachment;
    let texts = record.text_mark();
    let mut block = Block::whole(BlockKind::Attachment, value);
    count_pictures(&mut block, prompt);
    record.block(block, texts);
    LineKind::Message
}

/// Counts the pictures among what the user typed while the agent worked.
fn count_pictures(block: &mut Block, prompt: Value<'_>) {
    prompt.elements(|part| match part.field("type").string() {
        Some(b"image") => block.images += 1,
        Some(b"document") => block.documents += 1,
        Some(_) | None => {}
    });
}
