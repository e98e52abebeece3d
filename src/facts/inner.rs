//! The calls in the cells of code mode, as calls of their own.
//!
//! PURE. A cell's result belongs to all its calls together; what it says of each is taken apart here, as far as it is sure.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::cell::{Cell, CellCall};
use super::exchanges::{Ended, Exchange, FactLocation, InnerCall, exchanges};
use super::input::Input;
use super::tools::{Basis, recognised, understands};
use super::{kind_of, looks, lossy};
use crate::ids::IdMap;
use crate::policy::Tools;
use crate::scan::unescape;
use crate::transcript::{Block, Conversation, Transcript};

/// The tool of code mode.
const CELL_TOOL: &str = "exec";
/// The tool that changes files.
const PATCH_TOOL: &str = "apply_patch";
/// The tool that waits for a cell which runs.
const WAIT_TOOL: &str = "wait";

/// All calls of a conversation, in its order: instead of a cell, the calls in it that could be read. A cell of which none could
/// be stays one call.
pub fn calls(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    added: &Tools,
) -> Vec<Exchange> {
    let exchanges = exchanges(transcript, conversation, added);
    let mut waits = None;
    let mut calls = Vec::with_capacity(exchanges.len());
    for exchange in &exchanges {
        let call = transcript.block(exchange.call.block);
        match cell(transcript, call, &exchange.tool(transcript)) {
            Some((cell, code)) => {
                let waits = waits.get_or_insert_with(|| Waits::of(transcript, &exchanges));
                match cell.calls.is_empty() {
                    true => calls.push(exchange.clone()),
                    false => calls.extend(inner(transcript, exchange, &cell, waits, added)),
                }
                calls.extend(possible_patch(exchange, &cell, &code, added));
            }
            None => calls.push(exchange.clone()),
        }
    }
    if waits.is_some() {
        settle_sessions(&mut calls);
    }
    looks::settle(transcript, conversation, &mut calls);
    calls
}

/// Whether all calls in the cell that a call runs are understood; `None` if it runs none.
pub(super) fn understands_cell(
    transcript: &Transcript<'_>,
    call: &Block,
    tool: &str,
    added: &Tools,
) -> Option<bool> {
    let (cell, _) = cell(transcript, call, tool)?;
    let mut calls = cell.calls.iter();
    Some(
        cell.unread == 0
            && calls.all(|call| {
                let input = call.input.to_string();
                understands(&call.tool, || Input::in_json(input.as_bytes()), added)
            }),
    )
}

/// The cell that a call runs, and its code.
fn cell<'t>(
    transcript: &'t Transcript<'_>,
    call: &Block,
    tool: &str,
) -> Option<(Cell, Cow<'t, str>)> {
    if tool != CELL_TOOL {
        return None;
    }
    let [b'"', code @ .., b'"'] = transcript.bytes(call.line, call.content) else {
        return None;
    };
    let code = lossy(unescape(code));
    code.contains("tools").then(|| (Cell::read(&code), code))
}

/// The results of waiting for cells, by the ids of these.
struct Waits(IdMap<String, Vec<FactLocation>>);

impl Waits {
    fn of(transcript: &Transcript<'_>, exchanges: &[Exchange]) -> Self {
        let mut waits: IdMap<String, Vec<FactLocation>> = IdMap::default();
        for exchange in exchanges {
            if exchange.tool(transcript) == WAIT_TOOL
                && let Some(result) = exchange.result
                && let Some(id) = exchange.input(transcript).text(&["cell_id"])
            {
                waits.entry(id.into_owned()).or_default().push(result);
            }
        }
        Waits(waits)
    }

    /// The results of waiting for that cell after `result`, in order.
    fn after(&self, result: FactLocation, id: &str) -> &[FactLocation] {
        let all = self.0.get(id).map_or(&[][..], Vec::as_slice);
        &all[all.partition_point(|wait| wait.block <= result.block)..]
    }
}

/// What a result says of its cell.
struct Report {
    state: State,
    /// What the cell has printed, in blocks.
    blocks: Vec<String>,
    /// The id of a cell that runs.
    id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Completed,
    Failed,
    Interrupted,
    Running,
    Unknown,
}

/// How the line before the output begins, and what it means.
const STATES: [(&str, State); 4] = [
    ("Script completed\n", State::Completed),
    ("Script failed\n", State::Failed),
    ("Script running with cell ID ", State::Running),
    ("aborted by user", State::Interrupted),
];

/// What comes before the output.
const OUTPUT: &str = "\nOutput:\n";

impl Report {
    fn of(transcript: &Transcript<'_>, result: FactLocation) -> Self {
        let block = transcript.block(result.block);
        let read = |raw| lossy(unescape(raw));
        let texts = transcript.texts(block).iter();
        let mut texts = texts.map(|text| read(transcript.bytes(block.line, text.span)));
        let unknown = Report {
            state: State::Unknown,
            blocks: Vec::new(),
            id: None,
        };
        // A result that is one text has its first lines as a header.
        let header = read(transcript.header(block));
        let Some(first) = texts.next().map(|first| format!("{header}{first}")) else {
            return unknown;
        };
        let mut states = STATES.iter();
        let Some((begin, state)) = states.find(|(begin, _)| first.starts_with(begin)) else {
            return unknown;
        };
        let rest = &first[begin.len()..];
        let id = rest.lines().next().unwrap_or_default().to_owned();
        let mut blocks: Vec<String> = texts.map(|text| text.into_owned()).collect();
        // A result that is one text has the output after the header.
        if let Some((_, output)) = first.split_once(OUTPUT)
            && !output.is_empty()
        {
            blocks.insert(0, output.to_owned());
        }
        Report {
            state: *state,
            blocks,
            id: (*state == State::Running).then_some(id),
        }
    }

    /// Whether the error that ended the cell is that of a call of this tool: later code can fail, too.
    fn blames(&self, tool: &str) -> bool {
        let error = self.blocks.iter().rev();
        let mut error = error.filter_map(|block| block.strip_prefix("Script error:\n"));
        error.next().is_some_and(|error| match tool {
            // Any other error may come when a part of the patch has been applied.
            PATCH_TOOL => error.starts_with("apply_patch verification failed"),
            tool => error
                .strip_prefix(tool)
                .is_some_and(|rest| rest.starts_with([' ', ':'])),
        })
    }

    /// The same with what waiting for the cell has given.
    fn with(mut self, transcript: &Transcript<'_>, result: FactLocation, waits: &Waits) -> Self {
        let Some(id) = self.id.take() else {
            return self;
        };
        for wait in waits.after(result, &id) {
            let next = Report::of(transcript, *wait);
            self.blocks.extend(next.blocks);
            self.state = next.state;
            if self.state != State::Running {
                break;
            }
        }
        self
    }
}

/// The calls of a cell, as calls of their own.
fn inner(
    transcript: &Transcript<'_>,
    exchange: &Exchange,
    cell: &Cell,
    waits: &Waits,
    added: &Tools,
) -> Vec<Exchange> {
    let report = exchange
        .result
        .map(|result| Report::of(transcript, result).with(transcript, result, waits));
    let calls = cell.calls.iter().enumerate().map(|(number, call)| {
        let inner = inner_call(cell, number, call, report.as_ref());
        let (kind, basis) = recognised(&inner.tool, || Input::in_json(&inner.input), added);
        Exchange {
            kind,
            basis,
            call: exchange.call,
            result: exchange.result,
            inner: Some(Arc::new(inner)),
            looks: Vec::new(),
        }
    });
    calls.collect()
}

/// The patch that a cell may have applied in a call that could not be read: it names the same files, so that none of them counts
/// as known afterwards.
fn possible_patch(exchange: &Exchange, cell: &Cell, code: &str, added: &Tools) -> Option<Exchange> {
    const HEADERS: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let is_text = |call: &CellCall| call.tool != PATCH_TOOL || call.input.is_string();
    if cell.unread == 0 && cell.calls.iter().all(is_text) {
        return None;
    }
    let named = HEADERS.iter().flat_map(|header| {
        let headers = code.match_indices(header);
        headers.filter_map(|(at, header)| {
            let path = code[at + header.len()..]
                .split(['\n', '\\', '"', '\'', '`'])
                .next()?;
            Some(format!("*** Update File: {path}\n"))
        })
    });
    let named: String = named.collect();
    (!named.is_empty()).then(|| Exchange {
        kind: kind_of(PATCH_TOOL, added),
        basis: Basis::Listed,
        call: exchange.call,
        result: exchange.result,
        inner: Some(Arc::new(InnerCall {
            tool: PATCH_TOOL.to_owned(),
            input: Value::String(format!("*** Begin Patch\n{named}*** End Patch"))
                .to_string()
                .into_bytes(),
            output: None,
            ended: Ended::Unknown,
            session: None,
        })),
        looks: Vec::new(),
    })
}

fn inner_call(cell: &Cell, number: usize, call: &CellCall, report: Option<&Report>) -> InnerCall {
    let blocks: Vec<&str> = match report {
        Some(report) if report.state == State::Completed => {
            report.blocks.iter().map(String::as_str).collect()
        }
        Some(_) | None => Vec::new(),
    };
    let printed = cell.printed(number, &blocks);
    // Where the cell stopped is sure only if nothing else in it can fail or take time.
    let is_only = cell.calls.len() == 1 && cell.unread == 0 && cell.waits == 1;
    let state = report.map_or(State::Unknown, |report| report.state);
    let ended = match (state, printed.exit_code, printed.session) {
        (State::Completed, Some(status), _) => Ended::Status(status),
        (State::Completed, None, Some(_)) => Ended::Running,
        (State::Completed, None, None) => Ended::Returned,
        (State::Failed, ..)
            if report.is_some_and(|report| report.blames(&call.tool)) && is_only =>
        {
            Ended::Failed
        }
        (State::Interrupted, ..) if is_only => Ended::Interrupted,
        (State::Running, ..) if is_only => Ended::Running,
        (State::Failed | State::Interrupted | State::Running | State::Unknown, ..) => {
            Ended::Unknown
        }
    };
    InnerCall {
        tool: call.tool.clone(),
        input: call.input.to_string().into_bytes(),
        // Of a failed call, the error.
        output: match (ended, report) {
            (Ended::Failed, Some(report)) => Some(report.blocks.join("\n")),
            _ => printed.output,
        },
        ended,
        session: printed.session,
    }
}

/// Commands that were still running have ended when a later call that reads from their session says so.
fn settle_sessions(calls: &mut [Exchange]) {
    let mut running: IdMap<i64, usize> = IdMap::default();
    for number in 0..calls.len() {
        let Some(inner) = &calls[number].inner else {
            continue;
        };
        let (ended, session) = (inner.ended, inner.session);
        if let Some(session) = session
            && !running.contains_key(&session)
        {
            running.insert(session, number);
        }
        let reads_from = Input::in_json(&inner.input).integer(&["session_id"]);
        if let Ended::Status(_) = ended
            && let Some(started) = reads_from.and_then(|session| running.remove(&session))
            && let Some(started) = calls[started].inner.as_mut()
        {
            Arc::make_mut(started).ended = ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::read_as;
    use super::super::{Done, Effort, Exit, commands, failed_results, files};
    use super::*;
    use crate::format::Format;

    /// A session of cells, each with the texts of its result.
    fn session(cells: &[(&str, Value)]) -> Transcript<'static> {
        let item = |payload: Value| json!({"timestamp": "2026-03-09T11:00:04.000Z", "type": "response_item", "payload": payload});
        let mut lines = vec![
            json!({"timestamp": "2026-03-09T11:00:01.000Z", "type": "session_meta", "payload": {"id": "019a0000-7a1d-7e0c-8b5f-c0a570000001", "cwd": "/w"}}),
            item(
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do"}]}),
            ),
        ];
        for (number, (code, output)) in cells.iter().enumerate() {
            let id = format!("call_{number}");
            let (call, result) = match code.strip_prefix("wait ") {
                Some(cell) => (
                    json!({"type": "function_call", "name": "wait", "arguments": json!({"cell_id": cell}).to_string(), "call_id": id}),
                    "function_call_output",
                ),
                None => (
                    json!({"type": "custom_tool_call", "name": "exec", "input": code, "call_id": id}),
                    "custom_tool_call_output",
                ),
            };
            lines.push(item(call));
            lines.push(item(
                json!({"type": result, "call_id": id, "output": output}),
            ));
        }
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        read_as(Format::Codex, &lines.join("\n"))
    }

    fn calls_of(transcript: &Transcript<'_>) -> Vec<Exchange> {
        calls(transcript, &transcript.conversations[0], &Tools::default())
    }

    fn completed(blocks: &[&str]) -> Value {
        let head = "Script completed\nWall time 0.1 seconds\nOutput:\n";
        let all = [&[head], blocks].concat();
        all.iter()
            .map(|text| json!({"type": "input_text", "text": text}))
            .collect()
    }

    fn exits(cells: &[(&str, Value)]) -> Vec<(String, Exit)> {
        let transcript = session(cells);
        let commands = commands(&transcript, &calls_of(&transcript)).into_iter();
        commands
            .map(|command| (command.text, command.exit))
            .collect()
    }

    #[test]
    fn a_cell_that_runs_ends_where_it_is_waited_for() {
        let code = "const r = await tools.exec_command({cmd: 'make'}); text(JSON.stringify(r));";
        let running = json!("Script running with cell ID 3\nWall time 10.0 seconds\nOutput:\n");
        let make = |exit| vec![("make".to_owned(), exit)];
        assert_eq!(exits(&[(code, running.clone())]), make(Exit::Running));
        let ended = completed(&["{\"exit_code\": 2, \"output\": \"no\"}"]);
        let cells = [
            (code, running.clone()),
            ("wait 3", running.clone()),
            ("wait 3", ended.clone()),
        ];
        assert_eq!(exits(&cells), make(Exit::Code(2)));
        // Another cell.
        assert_eq!(
            exits(&[(code, running), ("wait 4", ended)]),
            make(Exit::Running)
        );
    }

    #[test]
    fn the_result_that_says_so_has_failed() {
        let start = "const r = await tools.exec_command({cmd: 'make'}); text(JSON.stringify(r));";
        let read = "const r = await tools.write_stdin({session_id: 7, chars: ''}); text(JSON.stringify(r));";
        let failed = |cells: &[(&str, Value)]| -> Vec<u32> {
            let transcript = session(cells);
            let calls = calls_of(&transcript);
            let failed = failed_results(&transcript, &calls);
            failed.iter().map(|b| transcript.block(*b).line).collect()
        };
        let fails = completed(&["{\"exit_code\": 1, \"output\": \"no\"}"]);
        let goes_on = completed(&["{\"session_id\": 7, \"output\": \"\"}"]);
        let well = completed(&["{\"exit_code\": 0, \"output\": \"\"}"]);
        assert_eq!(failed(&[(start, fails.clone()), (start, well)]), [3]);
        // The command has failed once, and the second result says so.
        assert_eq!(failed(&[(start, goes_on), (read, fails)]), [5]);
    }

    #[test]
    fn a_session_ends_where_it_is_read_to_its_end() {
        let start = "const r = await tools.exec_command({cmd: 'make'}); text(JSON.stringify(r));";
        let read = "const r = await tools.write_stdin({session_id: 7, chars: ''}); text(JSON.stringify(r));";
        let running = completed(&["{\"session_id\": 7, \"output\": \"\"}"]);
        let ended = completed(&["{\"exit_code\": 0, \"output\": \"done\"}"]);
        let make = |exit| vec![("make".to_owned(), exit)];
        assert_eq!(
            exits(&[(start, running.clone()), (read, running.clone())]),
            make(Exit::Running)
        );
        assert_eq!(
            exits(&[(start, running.clone()), (read, running), (read, ended)]),
            make(Exit::Code(0))
        );
    }

    #[test]
    fn what_failed_or_was_interrupted_is_known_of_the_only_call() {
        let one = "await tools.exec_command({cmd: 'a'});";
        let two = "await tools.exec_command({cmd: 'a'}); await tools.exec_command({cmd: 'b'});";
        let failed: Value = json!([{"type": "input_text", "text": "Script failed\nWall time 0.0 seconds\nOutput:\n"}, {"type": "input_text", "text": "Script error:\nexec_command failed: no such folder"}]);
        let later: Value = json!([{"type": "input_text", "text": "Script failed\nWall time 0.0 seconds\nOutput:\n"}, {"type": "input_text", "text": "Script error:\nTypeError: x is undefined"}]);
        let exit = |code: &str, result: &Value| exits(&[(code, result.clone())])[0].1;
        assert_eq!(exit(one, &failed), Exit::Badly);
        assert_eq!(exit(two, &failed), Exit::Unknown);
        // The call may have succeeded before.
        assert_eq!(exit(one, &later), Exit::Unknown);
        assert_eq!(
            exit(one, &json!("aborted by user after 12s")),
            Exit::Interrupted
        );
        let sleeps = "await tools.exec_command({cmd: 'a'}); await sleep(9);";
        assert_eq!(
            exit(sleeps, &json!("aborted by user after 12s")),
            Exit::Unknown
        );
        assert_eq!(exit(one, &completed(&[])), Exit::Unknown);
        // Cleared by an earlier compaction.
        assert_eq!(
            exit(one, &json!("[Old tool result content cleared]")),
            Exit::Unknown
        );
    }

    #[test]
    fn a_file_is_known_as_the_cell_has_printed_it_and_no_longer_once_it_may_have_changed() {
        let read = "const r = await tools.exec_command({cmd: 'cat a.txt', workdir: '/w'}); text(r.output);";
        let patch = "const p = '*** Begin Patch\\n*** Update File: /w/a.txt\\n@@\\n-one\\n+two\\n*** End Patch'; text(await tools.apply_patch(p));";
        let maybe = "if (x) { text(await tools.apply_patch('*** Begin Patch\\n*** Update File: /w/a.txt\\n@@\\n-one\\n+two\\n*** End Patch')); }";
        let known = |cells: &[(&str, Value)]| {
            let transcript = session(cells);
            let files = files(&transcript, &calls_of(&transcript));
            let file = files.iter().find(|file| file.path == "/w/a.txt").unwrap();
            let known = file.known(&transcript, &[], &Effort::default());
            (
                known.map(|known| known.content.text),
                file.operations.last().unwrap().done,
            )
        };
        let shown = (read, completed(&["one\nand more\n"]));
        assert_eq!(
            known(std::slice::from_ref(&shown)),
            (Some("one\nand more\n".to_owned()), Done::Yes)
        );
        let patched = (patch, completed(&["{}"]));
        assert_eq!(
            known(&[shown.clone(), patched]),
            (Some("two\nand more\n".to_owned()), Done::Yes)
        );
        let unsure = (maybe, completed(&["{}"]));
        assert_eq!(known(&[shown.clone(), unsure]), (None, Done::Unclear));
        // What was not printed, or was only a complaint, shows nothing.
        let silent = "await tools.exec_command({cmd: 'cat a.txt', workdir: '/w'}); text('done');";
        assert_eq!(
            known(&[(silent, completed(&["done"]))]),
            (None, Done::Unclear)
        );
        let complaint = completed(&["cat: a.txt: No such file or directory\n"]);
        assert_eq!(known(&[(read, complaint)]), (None, Done::Failed));
    }
}
