//! Reads one line of a session log: what kind of event it is. `data` reads what it contains.

use super::data;
use super::evidence::is_event;
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{Compaction, LineKind, Link, LinkKind, Record, Role};

/// Events of a turn: they repeat its messages or report its progress, and are removed with them. Others (models, permissions,
/// skills, subagents) describe the session.
const OF_A_TURN: [&[u8]; 14] = [
    b"assistant.turn_start",
    b"assistant.turn_end",
    b"assistant.turn_retry",
    b"assistant.intent",
    b"assistant.reasoning",
    b"assistant.usage",
    b"tool.execution_start",
    b"tool.execution_progress",
    b"tool.execution_partial_result",
    b"tool.user_requested",
    b"hook.start",
    b"hook.end",
    b"permission.requested",
    b"permission.completed",
];

/// One line.
pub(super) fn line(c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
    let line = c.line();
    let (mut kind, mut agent, mut data) = (Span::default(), Span::default(), None);
    let mut link = Link::default();
    c.object(|key, c| {
        match (key, c.kind()?) {
            (b"type", _) => kind = c.string_span()?,
            (b"id", _) => link.id = c.string_span()?,
            (b"parentId", _) => link.parent = c.string_span()?,
            (b"agentId", _) => agent = c.string_span()?,
            (b"data", found) => {
                // Its meaning depends on the type, which may come later.
                data = (found == Kind::Object).then(|| c.clone());
                c.skip()?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    })?;
    let kind = kind.of(line);
    let Some(mut data) = data else {
        record.link(link);
        return Ok(if is_event(kind) {
            LineKind::Session
        } else {
            LineKind::Unknown
        });
    };
    // A subagent's event is recognised by its agent id; consecutive events of a subagent are one answer.
    if !agent.is_empty() {
        (link.is_sidechain, link.message) = (true, agent);
    }
    let found = match kind {
        b"user.message" => data::user(&mut data, record, &mut link)?,
        b"assistant.message" => data::answer(&mut data, record, &mut link)?,
        b"tool.execution_complete" => data::result(&mut data, record, &mut link)?,
        b"system.notification" | b"skill.context_delivered" => {
            data::notice(&mut data, record, &mut link)?
        }
        b"session.compaction_complete" => data::compaction(&mut data, record, &mut link)?,
        b"session.compaction_start" => {
            link.kind = LinkKind::Compaction(Compaction::Boundary);
            LineKind::Control
        }
        b"session.context_cleared" => data::cleared(&mut data, record, &mut link)?,
        b"session.start" | b"session.resume" | b"session.context_changed" => {
            data::folder(&mut data, &mut link)?;
            LineKind::Session
        }
        b"session.truncation" => LineKind::Control,
        b"system.message" => {
            link.role = Some(Role::System);
            LineKind::Control
        }
        kind if OF_A_TURN.contains(&kind) => LineKind::Mirror,
        kind if is_event(kind) => LineKind::Session,
        _ => LineKind::Unknown,
    };
    record.link(link);
    Ok(found)
}
