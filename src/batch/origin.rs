//! Where and when a session took place, according to its file: for reports, which group by it.
//!
//! Reads only what is in memory; the work is bounded, whatever the size of the file. What a transcript says is text, never used as
//! a path.

use std::borrow::Cow;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use super::project::directory_of_text;
use crate::format::{Detected, Layout};

/// The number of bytes at the end that are searched for the last timestamp.
pub(super) const TAIL: usize = 1 << 20;

/// What is known of a session.
#[derive(Debug, Default)]
pub(super) struct SessionOrigin {
    /// The folder in which its agent worked.
    pub(super) project: Option<String>,
    /// The last time recorded on its lines, in RFC 3339.
    pub(super) last_message: Option<String>,
}

impl SessionOrigin {
    /// The origin of a file with this text. A file of many conversations has none, and neither does a format without an agent.
    pub(super) fn of(path: &Path, detected: &Detected, text: &[u8]) -> Self {
        let (format, agent) = match detected {
            Detected::Known(format, Layout::File) => (*format, format.agent()),
            Detected::Known(_, Layout::Line) | Detected::Unsupported(_) => return Self::default(),
        };
        if agent.is_none() {
            return Self::default();
        }
        let tail = &text[text.len().saturating_sub(TAIL)..];
        SessionOrigin {
            project: directory_of_text(path, format, text),
            last_message: last_time(tail).map(|time| time.to_string()),
        }
    }
}

/// The part of a line that records a time.
#[derive(Deserialize)]
struct Stamped<'l> {
    #[serde(borrow)]
    timestamp: Cow<'l, str>,
}

/// The last time recorded at the end of a file. If the end begins within a line, that line is not valid JSON, and is ignored.
pub(super) fn last_time(tail: &[u8]) -> Option<Timestamp> {
    let mut lines = tail.rsplit(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let stamped: Stamped<'_> = serde_json::from_slice(line).ok()?;
        stamped.timestamp.parse().ok()
    })
}
