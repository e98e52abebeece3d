//! How large an input and its lines may be, and how much memory going over it takes.
//!
//! What an input takes is told from its bytes before anything is made of them, and is told high: it is better to refuse
//! a file than to end the run with it.

use crate::error::{Error, ErrorKind};
use crate::text::size;

/// Limits that the user can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of an input, unpacked; without a number, as many as there is memory for.
    pub file_bytes: Option<u64>,
    /// The bytes of a line.
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
    /// What a line may have where nobody says otherwise.
    pub const LINE: u64 = 64 << 20;

    /// A line that is too long; `line` counts from 1.
    pub(super) fn long_line(&self, line: u64) -> Error {
        let message = format!("the line has more than {}", size(self.line_bytes));
        Error::new(ErrorKind::TooLarge, message)
            .on_line(line)
            .hint("--max-line-bytes SIZE allows longer ones")
    }
}

/// What is to be done with an input, as far as it matters for memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// It is compacted, counted or checked once.
    Once,
    /// It is played turn by turn, under several policies.
    Replay,
    /// It is cut and compacted many times, and the parts compared.
    Eval,
}

impl Job {
    fn factor(self) -> u64 {
        match self {
            Job::Once => 1,
            Job::Replay => 2,
            Job::Eval => 4,
        }
    }
}

/// What decides how much memory an input takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    /// Opening braces: each message and each block has one.
    pub(super) objects: u64,
}

/// Measured over hostile shapes of all formats (one string, blank lines, `{}`, the smallest messages, blocks and calls):
/// the largest was 6.6 bytes of memory for a byte of text, 54 for a line, 320 for an object.
const A_BYTE: u64 = 8;
const A_LINE: u64 = 96;
const AN_OBJECT: u64 = 420;
/// Objects in real transcripts are so large at least.
const USUAL_OBJECT: u64 = 100;

impl Extent {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Extent {
            bytes: bytes.len() as u64,
            lines: memchr::memchr_iter(b'\n', bytes).count() as u64,
            objects: memchr::memchr_iter(b'{', bytes).count() as u64,
        }
    }

    pub(super) fn add(&mut self, other: Extent) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.objects += other.objects;
    }

    /// The memory that it takes.
    pub(super) fn need(self, job: Job) -> u64 {
        let need = self.bytes * A_BYTE + self.lines * A_LINE + self.objects * AN_OBJECT;
        need * job.factor()
    }
}

/// What an input of so many bytes takes, as long as nobody knows what is in it.
pub(super) fn usual_need(bytes: u64, job: Job) -> u64 {
    bytes.saturating_mul((A_BYTE + AN_OBJECT / USUAL_OBJECT) * job.factor())
}

/// The bytes of an input for which there is memory.
pub(super) fn usual_bytes(memory: u64, job: Job) -> u64 {
    memory / ((A_BYTE + AN_OBJECT / USUAL_OBJECT) * job.factor())
}
