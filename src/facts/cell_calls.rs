//! The calls in the cells of code mode, as calls of their own.
//!
//! PURE. A cell has one result for all of its calls; this splits it where the assignment is certain.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::code_mode::{Cell, CellCall};
use super::exchanges::{Ended, Exchange, FactLocation, InnerCall, exchanges};
use super::input::Input;
use super::tools::{Basis, recognised};
use super::understood::understands;
use super::{background, kind_of};
use crate::ids::IdMap;
use crate::policy::Tools;
use crate::scan::decoded;
use crate::transcript::{Block, Conversation, Transcript};

/// The tool of code mode.
const CELL_TOOL: &str = "exec";
/// The tool that changes files.
const PATCH_TOOL: &str = "apply_patch";
/// The first words of its result if it changed nothing.
const NOT_APPLIED: &str = "apply_patch verification failed";
/// The tool that waits for a running cell.
const WAIT_TOOL: &str = "wait";

/// All calls of a conversation, in order, with each cell replaced by the calls in it that could be read. A cell without any
/// readable call stays one call.
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
    background::settle(transcript, conversation, &mut calls);
    calls
}

/// Whether all calls in the cell that a call runs are understood; `None` if it runs no cell.
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
    let code = decoded(code);
    code.contains("tools").then(|| (Cell::read(&code), code))
}

/// Whether the cell that a call runs has calls that could not be read, or a patch whose text is not known.
pub(super) fn has_unread(transcript: &Transcript<'_>, call: &Block) -> bool {
    let tool = decoded(transcript.bytes(call.line, call.tool));
    let is_known = |call: &CellCall| call.tool != PATCH_TOOL || call.input.is_string();
    cell(transcript, call, &tool)
        .is_some_and(|(cell, _)| cell.unread > 0 || !cell.calls.iter().all(is_known))
}

/// The results of waiting for cells, keyed by cell id.
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

/// What a result says about its cell.
struct Report {
    state: State,
    /// What the cell has printed, in blocks.
    blocks: Vec<String>,
    /// The id of the cell, if it is still running.
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
        let read = |raw| decoded(raw);
        let texts = transcript.texts(block).iter();
        let mut texts = texts.map(|text| read(transcript.bytes(block.line, text.span)));
        let unknown = Report {
            state: State::Unknown,
            blocks: Vec::new(),
            id: None,
        };
        // If a result is a single text, its first lines are the header.
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
        // If a result is a single text, the output follows the header.
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

    /// Whether the error that ended the cell comes from a call of this tool: later code can fail, too.
    fn blames(&self, tool: &str) -> bool {
        let error = self.blocks.iter().rev();
        let mut error = error.filter_map(|block| block.strip_prefix("Script error:\n"));
        error.next().is_some_and(|error| match tool {
            // Any other error may occur after part of the patch was applied.
            PATCH_TOOL => error.starts_with(NOT_APPLIED),
            tool => error
                .strip_prefix(tool)
                .is_some_and(|rest| rest.starts_with([' ', ':'])),
        })
    }

    /// Adds the results of waiting for the cell.
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

/// The patch that a cell may have applied in an unreadable call: it names the same files, so that none of them counts as known
/// afterwards.
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
    // A patch that does not apply raises an error in some versions and returns an ordinary result in others.
    let has_failed = |said: &str| call.tool == PATCH_TOOL && said.starts_with(NOT_APPLIED);
    let may_have_failed = || blocks.iter().any(|block| block.contains(NOT_APPLIED));
    // Where the cell stopped is certain only if nothing else in it can fail or take time.
    let is_only = cell.calls.len() == 1 && cell.unread == 0 && cell.waits == 1;
    let state = report.map_or(State::Unknown, |report| report.state);
    let ended = match (state, printed.exit_code, printed.session) {
        (State::Completed, ..) if printed.output.as_deref().is_some_and(has_failed) => {
            Ended::Failed
        }
        (State::Completed, Some(status), _) => Ended::Status(status),
        (State::Completed, None, None)
            if call.tool == PATCH_TOOL && printed.output.is_none() && may_have_failed() =>
        {
            Ended::Unknown
        }
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
            (Ended::Failed, Some(report)) if state == State::Failed => {
                Some(report.blocks.join("\n"))
            }
            _ => printed.output,
        },
        ended,
        session: printed.session,
    }
}

#[cfg(test)]
mod tests;
