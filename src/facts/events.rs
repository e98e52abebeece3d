//! Codex's viewer events that record how a command ended; the model does not see them.
//!
//! PURE. Such an event may come after the result of the call and then states what the result could not.

use super::exchanges::{FactLocation, Look, TellingLocation};
use super::exit::CommandStatus;
use super::input::Input;
use crate::ids::IdMap;
use crate::transcript::{LineKind, Transcript};

/// The type of such an event.
const TYPE: &str = "exec_command_end";

/// The ends of commands that events record.
pub(super) struct Events {
    by_call: IdMap<Vec<u8>, (u32, i64)>,
    /// Keyed by session name, in line order; names may be reused.
    by_session: IdMap<String, Vec<(u32, i64)>>,
}

impl Events {
    /// Collects the events of a transcript.
    pub(super) fn of(transcript: &Transcript<'_>) -> Self {
        let mut events = Events {
            by_call: IdMap::default(),
            by_session: IdMap::default(),
        };
        // An event has several copies of an output.
        let mut read = None;
        for mirror in transcript.mirrors() {
            let is_event = transcript.lines()[mirror.line as usize].kind == LineKind::Mirror;
            if !is_event || mirror.of.is_empty() || read == Some(mirror.line) {
                continue;
            }
            read = Some(mirror.line);
            let id = transcript.bytes(mirror.line, mirror.of);
            events.add(mirror.line, id, transcript.line(mirror.line));
        }
        events
    }

    fn add(&mut self, line: u32, call: &[u8], raw: &[u8]) {
        if memchr::memmem::find(raw, TYPE.as_bytes()).is_none() {
            return;
        }
        let event = Input::in_value(raw);
        let Some(event) = event.object("payload") else {
            return;
        };
        let Some(code) = event.integer(&["exit_code"]) else {
            return;
        };
        if event.text(&["type"]).as_deref() != Some(TYPE) {
            return;
        }
        self.by_call.insert(call.to_vec(), (line, code));
        if let Some(session) = event.text(&["process_id"]) {
            let all = self.by_session.entry(session.into_owned()).or_default();
            all.push((line, code));
        }
    }

    /// The end of the command that the call with this id ran, or that went on as `session`.
    pub(super) fn end(
        &self,
        id: Option<&[u8]>,
        session: Option<&str>,
        call: FactLocation,
    ) -> Option<Look> {
        let of_session = || {
            let all = self.by_session.get(session?)?;
            all.get(all.partition_point(|(line, _)| *line <= call.line))
        };
        let (line, code) = id.and_then(|id| self.by_call.get(id)).or_else(of_session)?;
        Some(Look {
            at: TellingLocation {
                message: call.message,
                line: *line,
                block: None,
            },
            exit: CommandStatus::Code(*code),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_end_of_a_session_counts_however_many_there_are() {
        const MANY: u32 = 200_000;
        let ends = (0..MANY).map(|line| (2 * line, i64::from(line)));
        let events = Events {
            by_call: IdMap::default(),
            by_session: [("1".to_owned(), ends.collect())].into_iter().collect(),
        };
        let at = |line| FactLocation {
            message: 0,
            line,
            block: 0,
        };
        for number in 0..MANY - 1 {
            let look = events.end(None, Some("1"), at(2 * number)).unwrap();
            assert_eq!(look.exit, CommandStatus::Code(i64::from(number) + 1));
        }
        assert!(events.end(None, Some("1"), at(2 * MANY)).is_none());
    }
}
