//! How large an input and its lines may be, and how much memory processing it takes.
//!
//! The memory is estimated from the input's bytes before they are parsed. The estimate is high: refusing a file is better than
//! running out of memory.

use crate::error::{Error, ErrorKind};
use crate::scan::occurrences;
use crate::text::size;

/// Limits that the user can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of an input, unpacked; `None` = as many as memory allows.
    pub file_bytes: Option<u64>,
    /// The most bytes of a line.
    pub line_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            file_bytes: None,
            line_bytes: Limits::LINE,
        }
    }
}

impl Limits {
    /// The default for lines, in bytes.
    pub const LINE: u64 = 64 << 20;

    /// The error for a line that is too long; `line` counts from 1.
    pub(super) fn long_line(&self, line: u64) -> Error {
        let message = format!("the line has more than {}", size(self.line_bytes));
        Error::new(ErrorKind::TooLarge, message)
            .on_line(line)
            .hint("--max-line-bytes SIZE allows longer ones")
    }
}

/// How an input is processed, as far as that affects memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// It is compacted, counted or checked once.
    Once,
    /// It is replayed turn by turn under several policies.
    Replay,
    /// It is cut and compacted many times, and the parts are compared.
    Eval,
}

impl Workload {
    fn factor(self) -> u64 {
        match self {
            Workload::Once => 1,
            Workload::Replay => 2,
            Workload::Eval => 4,
        }
    }
}

/// The measures of a text that determine how much memory it takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InputMeasure {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    /// Opening braces: each message and each block has one.
    pub(super) objects: u64,
}

/// Measured over hostile inputs of all formats (one string, blank lines, `{}`, the smallest messages, blocks and calls): the
/// maximum was 6.6 bytes of memory per byte of text, 54 per line, 320 per object.
const MEMORY_PER_BYTE: u64 = 8;
const MEMORY_PER_LINE: u64 = 96;
const MEMORY_PER_OBJECT: u64 = 420;
/// The smallest average size of objects in real transcripts, in bytes.
const USUAL_OBJECT: u64 = 100;

impl InputMeasure {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let [lines, objects] = occurrences(bytes, [b'\n', b'{']);
        InputMeasure {
            bytes: bytes.len() as u64,
            lines,
            objects,
        }
    }

    pub(super) fn add(&mut self, other: InputMeasure) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.objects += other.objects;
    }

    /// The memory that a text with these measures takes.
    pub(super) fn need(self, job: Workload) -> u64 {
        let need = self.bytes * MEMORY_PER_BYTE
            + self.lines * MEMORY_PER_LINE
            + self.objects * MEMORY_PER_OBJECT;
        need * job.factor()
    }
}

/// The memory for an input of `bytes` bytes, before anything else is known of it.
pub(super) fn usual_need(bytes: u64, job: Workload) -> u64 {
    bytes.saturating_mul((MEMORY_PER_BYTE + MEMORY_PER_OBJECT / USUAL_OBJECT) * job.factor())
}

/// The largest input, in bytes, that fits into `memory`.
pub(super) fn usual_bytes(memory: u64, job: Workload) -> u64 {
    memory / ((MEMORY_PER_BYTE + MEMORY_PER_OBJECT / USUAL_OBJECT) * job.factor())
}
