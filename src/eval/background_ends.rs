//! How background commands ended; used to evaluate summaries.
//!
//! PURE. Reads them independently of `facts`, the source of summaries. Knows the forms of Codex and Claude Code.

use std::collections::BTreeMap;

use super::call::End;
use super::events::{Event, EventKind};

/// For each event that calls such a command, the event that states its end, and that end.
pub(super) fn settled(events: &[Event]) -> Vec<Option<(usize, End)>> {
    let mut settled = vec![None; events.len()];
    let mut running: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, event) in events.iter().enumerate() {
        let text = &event.text[..];
        let (name, end) = match &event.what {
            EventKind::Result {
                of: Some(of), end, ..
            } => {
                let EventKind::Call { tool, call } = &events[*of].what else {
                    continue;
                };
                if let Some(name) = name(text) {
                    if !call.commands.is_empty() {
                        running.insert(name, *of);
                    }
                    continue;
                }
                if !matches!(&tool[..], "write_stdin" | "TaskOutput" | "BashOutput") {
                    continue;
                }
                let mut names = events[*of].text.lines().map(str::trim);
                let name = names.find(|line| running.contains_key(line));
                (name, code(text, "<exit_code>").map_or(*end, End::Code))
            }
            EventKind::Notice if text.starts_with("<task-notification>") => {
                let mut name = text.split(['<', '>']).skip_while(|part| *part != "task-id");
                let end = code(text, "(exit code ").or_else(|| code(text, "with exit code "));
                (name.nth(1), end.map_or(End::Fine, End::Code))
            }
            EventKind::Result { of: None, .. }
            | EventKind::Call { .. }
            | EventKind::User
            | EventKind::Agent
            | EventKind::Notice => continue,
        };
        if let (Some(name), End::Code(_)) = (name, end)
            && let Some(call) = running.remove(name)
        {
            settled[call] = Some((number, end));
        }
    }
    settled
}

/// The name of a command that is still running, from its result.
fn name(result: &str) -> Option<&str> {
    let mut lines = result.lines().take(5);
    let after = |line| {
        let session = "Process running with session ID ";
        let task = "Command running in background with ID: ";
        str::strip_prefix(line, session).or_else(|| str::strip_prefix(line, task))
    };
    let name = lines.find_map(after)?.split_ascii_whitespace().next()?;
    Some(name.trim_end_matches('.'))
}

/// The number after `sign`.
fn code(text: &str, sign: &str) -> Option<i64> {
    let (_, rest) = text.split_once(sign)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-');
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::events::{Queued, events};
    use super::*;
    use crate::format::{Format, Warnings};

    #[test]
    fn a_session_has_ended_when_a_call_that_reads_from_it_says_so() {
        let call = |id: u32, tool: &str, input: &str| {
            let input = input.replace('"', "\\\"");
            format!(
                r#"{{"timestamp":"t","type":"response_item","payload":{{"type":"function_call","name":"{tool}","arguments":"{input}","call_id":"{id}"}}}}"#
            )
        };
        let result = |id: u32, said: &str| {
            format!(
                r#"{{"timestamp":"t","type":"response_item","payload":{{"type":"function_call_output","call_id":"{id}","output":"Chunk ID: a\nWall time: 1.0 seconds\n{said}\nOutput:\n"}}}}"#
            )
        };
        let lines = [
            r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s","timestamp":"t","cwd":"/w","originator":"o","cli_version":"0.1"}}"#.to_owned(),
            call(1, "exec_command", r#"{"cmd":"make a"}"#),
            result(1, "Process running with session ID 7"),
            call(2, "exec_command", r#"{"cmd":"make b"}"#),
            result(2, "Process running with session ID 8"),
            call(3, "write_stdin", r#"{"session_id":7,"chars":""}"#),
            result(3, "Process running with session ID 7"),
            call(4, "write_stdin", r#"{"session_id":7,"chars":""}"#),
            result(4, "Process exited with code 2"),
        ];
        let text = lines.join("\n");
        let transcript = Format::Codex.read(text.as_bytes(), 1, &mut Warnings::default());
        let events = events(&transcript, &transcript.conversations[0], Queued::Counted);
        let ends: Vec<_> = settled(&events).into_iter().flatten().collect();
        assert_eq!(ends, [(7, End::Code(2))]);
    }
}
