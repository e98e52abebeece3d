//! A conversation as its agent writes it, message by message.
//!
//! Written with `serde_json`: other generators vary how a line is written.

use ctxpack::format::Format;
use ctxpack::transcript::Outcome;
use serde_json::Value;

use super::{Dialect, of};

/// The lines of a file as they are written.
pub(in super::super) struct Script {
    pub(in super::super) dialect: &'static dyn Dialect,
    pub(in super::super) bytes: Vec<u8>,
    lines: usize,
}

impl Script {
    pub(in super::super) fn new(format: Format) -> Self {
        let dialect = of(format);
        let (bytes, lines) = (Vec::new(), 0);
        let mut script = Script {
            dialect,
            bytes,
            lines,
        };
        if let Some(header) = dialect.header() {
            script.push(header);
        }
        script
    }

    /// Appends a line; returns its number.
    fn push(&mut self, line: Value) -> u64 {
        self.bytes.extend(line.to_string().bytes());
        self.bytes.push(b'\n');
        self.lines += 1;
        self.lines as u64
    }

    fn message(&mut self, message: Value) -> u64 {
        self.push(self.dialect.line(self.lines, message))
    }

    pub(in super::super) fn system(&mut self, text: &str) {
        if let Some(system) = self.dialect.system(text) {
            self.message(system);
        }
    }

    pub(in super::super) fn user(&mut self, text: &str) -> u64 {
        self.message(self.dialect.user(text))
    }

    pub(in super::super) fn answer(&mut self, text: &str) -> u64 {
        self.message(self.dialect.answer(text))
    }

    /// A call and its result, each on its own line; returns their numbers.
    pub(in super::super) fn call(
        &mut self,
        (tool, input): (&str, Value),
        text: &str,
        outcome: Outcome,
    ) -> [u64; 2] {
        let id = format!("call_{}", self.lines);
        let call = self.message(self.dialect.call(&id, tool, &input));
        let result = self.dialect.result(&id, tool, text, outcome);
        [call, self.message(result)]
    }

    /// A call without a result; returns its number.
    pub(in super::super) fn unanswered(&mut self, (tool, input): (&str, Value)) -> u64 {
        let id = format!("call_{}", self.lines);
        self.message(self.dialect.call(&id, tool, &input))
    }
}
