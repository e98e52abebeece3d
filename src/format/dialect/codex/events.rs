//! What an event contains: copies of tool outputs for a viewer, and a provider's token counts.
//!
//! Newer versions write an item within an event, older ones have one type of event per kind. Never decides what is live.

use super::type_of;
use crate::scan::{Cursor, Kind, Parse, Span};
use crate::transcript::{LineKind, Link, LinkKind, Record};

/// Events of a turn: they repeat its items or report its progress, and are removed with them. Others (names, goals, settings)
/// describe the session.
const OF_A_TURN: [&[u8]; 41] = [
    b"task_started",
    b"turn_started",
    b"task_complete",
    b"turn_complete",
    b"turn_aborted",
    b"user_message",
    b"agent_message",
    b"agent_reasoning",
    b"agent_reasoning_raw_content",
    b"agent_reasoning_section_break",
    b"item_started",
    b"item_completed",
    b"exec_command_begin",
    b"exec_command_end",
    b"exec_command_output_delta",
    b"patch_apply_begin",
    b"patch_apply_end",
    b"mcp_tool_call_begin",
    b"mcp_tool_call_end",
    b"dynamic_tool_call_request",
    b"dynamic_tool_call_response",
    b"web_search_begin",
    b"web_search_end",
    b"image_generation_begin",
    b"image_generation_end",
    b"view_image_tool_call",
    b"collab_agent_spawn_begin",
    b"collab_agent_spawn_end",
    b"collab_agent_interaction_begin",
    b"collab_agent_interaction_end",
    b"collab_waiting_begin",
    b"collab_waiting_end",
    b"collab_close_begin",
    b"collab_close_end",
    b"context_compacted",
    b"plan_update",
    b"turn_diff",
    b"guardian_assessment",
    b"error",
    b"warning",
    b"stream_error",
];

/// The keys of an event whose value is a copy of an output.
const OUTPUTS: [&[u8]; 7] = [
    b"stdout",
    b"stderr",
    b"aggregated_output",
    b"formatted_output",
    b"result",
    b"content_items",
    b"output",
];

/// The values of an event that are needed.
#[derive(Default)]
struct EventFields {
    call: Span,
    repeated: Vec<Span>,
    info: Span,
    turns: Span,
}

/// The payload of an event.
pub(super) fn event(
    c: &mut Cursor<'_>,
    record: &mut Record<'_, '_>,
    link: &mut Link,
) -> Parse<LineKind> {
    let kind = type_of(c)?;
    let mut fields = EventFields::default();
    c.object(|key, c| fields.key(key, c, b"call_id"))?;
    match kind {
        b"token_count" => {
            if !fields.info.is_empty() {
                link.content = fields.info;
                link.kind = LinkKind::Count;
            }
            Ok(LineKind::Control)
        }
        b"thread_rolled_back" => {
            link.content = fields.turns;
            link.kind = LinkKind::GoBack;
            Ok(LineKind::Control)
        }
        kind if OF_A_TURN.contains(&kind) => {
            if !fields.call.is_empty() {
                for value in fields.repeated {
                    record.mirror(value, fields.call);
                }
            }
            Ok(LineKind::Mirror)
        }
        _ => Ok(LineKind::Session),
    }
}

impl EventFields {
    /// Reads a key of the event, or of the item within it; `id` is the key that holds the call's id.
    fn key(&mut self, key: &[u8], c: &mut Cursor<'_>, id: &[u8]) -> Parse<()> {
        match (key, c.kind()?) {
            (key, Kind::String) if key == id => self.call = c.string_span()?,
            (b"item", Kind::Object) => {
                c.object(|key, c| self.key(key, c, b"id"))?;
            }
            (b"info", Kind::Object) => self.info = c.skip()?,
            (b"num_turns", Kind::Number) => self.turns = c.skip()?,
            (key, _) if OUTPUTS.contains(&key) => self.repeated.push(c.skip()?),
            _ => drop(c.skip()?),
        }
        Ok(())
    }
}
