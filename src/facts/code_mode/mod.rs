//! Code mode: the calls in a cell of JavaScript, and what the cell prints of each.
//!
//! An agent in code mode has one tool whose input is a program that calls the others: `tools.exec_command({cmd: "ls"})`. Codex
//! calls it `exec`. PURE. Never executes anything. A call counts only if it was certainly made, exactly once, with literal
//! arguments; all others are counted as unread.

mod ahead;
mod each;
mod literal;
mod prints;
mod reader;
#[cfg(test)]
mod tests;
mod token;

use serde_json::Value;

use prints::{How, Print, Source};

/// What a cell does, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Cell {
    /// The calls that were read, in order.
    pub(super) calls: Vec<CellCall>,
    /// The number of unread calls: in a condition, a loop or a function, or with a computed tool name.
    pub(super) unread: u32,
    /// The number of times the cell waits: for its calls, or for anything else.
    pub(super) waits: u32,
    /// What the cell prints, in order; only the first part if not all is known.
    prints: Vec<Print>,
    /// Whether `prints` is complete.
    all_prints: bool,
}

/// A call in a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellCall {
    /// The tool's name.
    pub(super) tool: String,
    /// Its input: text, or an object without the keys whose values are unknown.
    pub(super) input: Value,
    /// The constant that its result is assigned to.
    variable: Option<String>,
}

/// What is known about a call from the blocks that the cell printed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Printed {
    /// Its output, if it was printed whole.
    pub(super) output: Option<String>,
    /// Its exit status.
    pub(super) exit_code: Option<i64>,
    /// The session in which it is still running.
    pub(super) session: Option<i64>,
}

/// Longer code is not read, in bytes: a list of its tokens may take a hundred times as much memory.
const LONGEST: usize = 1 << 20;

impl Cell {
    /// Reads a cell's code.
    pub(super) fn read(code: &str) -> Cell {
        match code.len() <= LONGEST {
            true => reader::read(code),
            false => Cell {
                unread: 1,
                ..Cell::default()
            },
        }
    }

    /// What `blocks`, printed by the cell, state about the call with index `call`.
    pub(super) fn printed(&self, call: usize, blocks: &[&str]) -> Printed {
        let mut printed = Printed::default();
        let is_cut = blocks.iter().any(|block| block.starts_with(CUT));
        let fits = match self.all_prints {
            true => blocks.len() == self.prints.len(),
            false => blocks.len() >= self.prints.len(),
        };
        if is_cut || !fits {
            return printed;
        }
        for (print, block) in self.prints.iter().zip(blocks) {
            let Print::Of { what, how } = print else {
                continue;
            };
            if *what == Source::Call(call) {
                printed.add(how, block);
            }
        }
        printed
    }
}

/// The beginning of the single block that remains when the output was too long.
const CUT: &str = "Warning: truncated output";

impl Printed {
    fn add(&mut self, how: &How, block: &str) {
        match how {
            How::Whole | How::Json => match serde_json::from_slice::<Value>(block.as_bytes()) {
                Ok(Value::Object(result)) => {
                    let text = result.get("output").and_then(Value::as_str);
                    let number = |key: &str| result.get(key).and_then(Value::as_i64);
                    self.output = text.map(str::to_owned).or(self.output.take());
                    let beside = || result.get("metadata")?.get("exit_code")?.as_i64();
                    let code = number("exit_code").or_else(beside);
                    self.exit_code = code.or(self.exit_code);
                    self.session = number("session_id").or(self.session);
                }
                // The result of a tool that returns text.
                Ok(Value::String(text)) if *how == How::Json => self.output = Some(text),
                _ if *how == How::Whole => self.output = Some(block.to_owned()),
                _ => {}
            },
            How::Key { before, key, after } => {
                let value = block.strip_prefix(before.as_str());
                let value = value.and_then(|value| value.strip_suffix(after.as_str()));
                match (key.as_str(), value) {
                    ("output", Some(text)) => self.output = Some(text.to_owned()),
                    ("exit_code", Some(text)) => self.exit_code = text.parse().ok(),
                    ("session_id", Some(text)) => self.session = text.parse().ok(),
                    _ => {}
                }
            }
        }
    }
}
