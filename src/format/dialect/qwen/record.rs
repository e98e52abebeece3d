//! Reads one line: a message, a record of the agent's own, or a compaction with the history that it left.
//!
//! The agent skips records without ids, so they are in no chain. It sends all parts of a message, including thoughts. Never decides
//! what is live.

use crate::format::shapes::blocks;
use crate::format::shapes::parts::{self, Thoughts};
use crate::scan::{Cursor, Kind, Parse, Span, Value};
use crate::transcript::{BlockKind, Compaction, LineKind, Link, LinkKind, Record, Role, Source};

/// The key beside a history whose first message is a summary that this program wrote.
pub(super) const SUMMARISED: &str = "ctxpackSummary";
/// The model's answer to a summary, as the agent's own compression writes it.
const ACKNOWLEDGEMENT: &[u8] = b"Got it. Thanks for the additional context!";

/// Records beside the chain: the agent never continues from them.
const BESIDE: [&[u8]; 6] = [
    b"session_artifact_event",
    b"session_artifact_snapshot",
    b"session_sources_snapshot",
    b"managed_session_header_v1",
    b"managed_session_event_v1",
    b"managed_session_commit_v1",
];

/// The messages that the agent sends in the user's name.
const INJECTED: [&[u8]; 3] = [b"notification", b"cron", b"goal_runtime"];
/// Spoken messages, which are never sent.
const SPOKEN: &[u8] = b"realtime_message";

/// The values of the keys of a line.
#[derive(Default)]
struct Fields<'a> {
    kind: &'a [u8],
    subtype: &'a [u8],
    id: Span,
    parent: Span,
    is_root: bool,
    has_session: bool,
    message: Option<Cursor<'a>>,
    payload: Option<Cursor<'a>>,
    result: Value<'a>,
}

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let fields = fields(c)?;
    let is_chained = !fields.id.is_empty()
        && (fields.is_root || !fields.parent.is_empty())
        && fields.has_session;
    let mut link = Link {
        id: fields.id,
        parent: fields.parent,
        is_root: fields.is_root,
        kind: LinkKind::Node,
        ..Link::default()
    };
    let kind = match fields.kind {
        // The agent skips it.
        _ if !is_chained => {
            link.kind = LinkKind::Other;
            LineKind::Unknown
        }
        b"user" | b"assistant" | b"tool_result" => said(c, &fields, record, &mut link)?,
        b"system" => system(c, &fields, record, &mut link)?,
        _ => {
            link.kind = LinkKind::Other;
            LineKind::Unknown
        }
    };
    record.link(link);
    Ok(kind)
}

fn fields<'a>(c: &mut Cursor<'a>) -> Parse<Fields<'a>> {
    let line = c.line();
    let mut read = Fields::default();
    c.object(|key, c| {
        let kind = c.kind()?;
        match key {
            b"type" => read.kind = c.string_span()?.of(line),
            b"subtype" => read.subtype = c.string_span()?.of(line),
            b"uuid" => read.id = c.string_span()?,
            b"parentUuid" => {
                read.parent = c.string_span()?;
                read.is_root = kind == Kind::Null || kind == Kind::String && read.parent.is_empty();
            }
            b"sessionId" => read.has_session = !c.string_span()?.is_empty(),
            b"message" => {
                read.message = (kind == Kind::Object).then(|| c.clone());
                c.skip()?;
            }
            b"systemPayload" => {
                read.payload = (kind == Kind::Object).then(|| c.clone());
                c.skip()?;
            }
            b"toolCallResult" => read.result = Value::part(line, c.skip()?),
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    Ok(read)
}

/// A message of the user or the model, or one with results.
fn said(
    c: &mut Cursor<'_>,
    fields: &Fields<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let by_type = match fields.kind {
        b"assistant" => Role::Assistant,
        _ => Role::User,
    };
    link.role = Some(by_type);
    let Some(mut at) = fields.message.clone().filter(|_| fields.subtype != SPOKEN) else {
        return Ok(LineKind::Control);
    };
    let is_injected = INJECTED.contains(&fields.subtype);
    let read = message(&mut at, record, by_type, |words| match is_injected {
        true => Source::Injected,
        false => blocks::source(words),
    })?;
    c.anomalies.insert(at.anomalies);
    (link.role, link.content) = (Some(read.0), read.1);
    let shown = fields.result.field("resultDisplay");
    if let Some(Kind::String | Kind::Object | Kind::Array) = shown.kind() {
        record.mirror(shown.span(), Span::default());
    }
    Ok(LineKind::Message)
}

/// Reads a message object; `source` says who wrote it, by its first words. Returns its role and the span of its parts.
fn message(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    by_type: Role,
    source: impl FnOnce(Option<&[u8]>) -> Source,
) -> Parse<(Role, Span)> {
    let line = c.line();
    let (mut role, mut list) = (by_type, None);
    let object = c.object(|key, c| {
        match (key, c.kind()?) {
            (b"role", Kind::String) => {
                role = match c.string_span()?.of(line) {
                    b"model" => Role::Assistant,
                    _ => Role::User,
                }
            }
            (b"parts", kind) => {
                list = (kind == Kind::Array).then(|| c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let (start, texts) = (record.block_mark(), record.text_mark());
    let mut span = Span::default();
    if let Some(at) = &list {
        let mut at = at.clone();
        let content = parts::content(&mut at, record, Thoughts::Sent)?;
        c.anomalies.insert(at.anomalies);
        span = content.span;
        if role == Role::User && content.only_results {
            role = Role::Tool;
        }
    }
    let source = source(record.first_words(start, line));
    if let (Source::Summary, Some(mut at)) = (source, list) {
        record.forget(start, texts);
        summary(&mut at, record)?;
    }
    record.unit(role, object, span, source, start);
    Ok((role, span))
}

/// The parts of a summary: its texts count as plain texts, without the objects that contain them.
fn summary(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<()> {
    c.array(|c| {
        let (mut at, mut said) = (c.clone(), None);
        if c.kind()? == Kind::Object {
            at.object(|key, c| {
                match key {
                    b"text" => said = c.string_or_skip()?,
                    _ => drop(c.skip()?),
                }
                Ok(())
            })?;
        }
        match said {
            Some(text) => {
                blocks::said(record, BlockKind::Text, text);
                c.skip().map(drop)
            }
            None => parts::part(c, record, None, Thoughts::Sent).map(drop),
        }
    })
    .map(drop)
}

/// A record of the agent's own.
fn system(
    c: &mut Cursor<'_>,
    fields: &Fields<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    match fields.subtype {
        subtype if BESIDE.contains(&subtype) => {
            link.kind = LinkKind::Other;
            Ok(LineKind::Session)
        }
        // Calls and answers again, for the statistics that the agent shows.
        b"ui_telemetry" => Ok(LineKind::Mirror),
        b"slash_command" => {
            link.kind = LinkKind::GoBack;
            if let Some(mut at) = fields.payload.clone() {
                link.content = command_alone(&mut at)?;
            }
            Ok(LineKind::Control)
        }
        b"chat_compression" => {
            let Some(mut at) = fields.payload.clone() else {
                return Ok(LineKind::Control);
            };
            let kind = compression(&mut at, record, link)?;
            c.anomalies.insert(at.anomalies);
            Ok(kind)
        }
        _ => Ok(LineKind::Control),
    }
}

/// The command, between the quotes, if only the agent itself answered it: then what the user typed is not sent.
fn command_alone(c: &mut Cursor<'_>) -> Parse<Span> {
    let [phase, is_sent, items, command] =
        c.fields(["phase", "sentToModel", "outputHistoryItems", "rawCommand"])?;
    let (mut all, mut any) = (true, false);
    items.elements(|item| {
        any = true;
        all &= item.field("type").string() == Some(b"assistant");
    });
    let is_alone = phase.string() == Some(b"result") && is_sent.raw() != b"true" && any && all;
    let command = command.inside().filter(|_| is_alone);
    Ok(command.unwrap_or_default())
}

/// A compaction: the history that replaces everything before it.
fn compression(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let line = c.line();
    let (mut list, mut is_ours) = (None, false);
    c.object(|key, c| {
        let kind = c.kind()?;
        match key {
            b"compressedHistory" => {
                let at = c.clone();
                // The agent ignores a compaction without a history, and cannot read one whose history is no list.
                let is_there = match (kind, c.skip()?.of(line)) {
                    (Kind::Array | Kind::Object, _) => true,
                    (Kind::String | Kind::Number | Kind::Bool | Kind::Null, raw) => {
                        !matches!(raw, b"null" | b"false" | b"0" | b"\"\"")
                    }
                };
                list = is_there.then_some((kind, at));
            }
            key if key == SUMMARISED.as_bytes() => is_ours = c.is_true()?,
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let Some((kind, mut at)) = list else {
        return Ok(LineKind::Control);
    };
    if kind != Kind::Array {
        link.kind = LinkKind::Compaction(Compaction::Unreadable);
        return Ok(LineKind::Control);
    }
    link.kind = LinkKind::Compaction(Compaction::Replacement);
    let is_native = is_acknowledged(at.clone())?;
    let mut number = 0;
    link.content = at.array(|c| {
        if c.kind()? != Kind::Object {
            return c.skip().map(drop);
        }
        let source = |words: Option<&[u8]>| match number {
            0 if is_ours || is_native => Source::Summary,
            // What the agent adds after its own summary: files, pictures, reminders.
            _ if is_native => Source::Injected,
            _ => blocks::source(words),
        };
        message(c, record, Role::User, source)?;
        number += 1;
        Ok(())
    })?;
    c.anomalies.insert(at.anomalies);
    Ok(match number {
        0 => LineKind::Control,
        _ => LineKind::Message,
    })
}

/// Whether a history begins like one that the agent summarised: its second message acknowledges the first.
fn is_acknowledged(mut c: Cursor<'_>) -> Parse<bool> {
    let line = c.line();
    let (mut number, mut is_it) = (0, false);
    let list = c.skip()?;
    Value::part(line, list).elements(|item| {
        if number == 1 {
            let mut first = None;
            item.field("parts").elements(|part| {
                first.get_or_insert(part);
            });
            let said = first.and_then(|part| part.field("text").string());
            is_it = item.field("role").string() == Some(b"model") && said == Some(ACKNOWLEDGEMENT);
        }
        number += 1;
    });
    Ok(is_it)
}
