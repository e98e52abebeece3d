//! What is noted of one input: as it is written, and as far as it is read again.
//!
//! Plain data. Whoever takes a note checks first that it still holds.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::outcome::Outcome;

/// A file that was written to so shortly before it was read may change again without another time.
const SETTLED: Duration = Duration::from_secs(2);

/// What an input was when it was read, or an output when it was written, as far as a look tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its size in bytes, as it is stored.
    pub bytes: u64,
    /// Seconds and nanoseconds from 1970 to the last write to it; `None` if that proves nothing.
    pub modified: Option<(u64, u32)>,
}

impl Seen {
    /// What `metadata` says.
    pub fn of(metadata: &Metadata) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since);
        Seen {
            bytes: metadata.len(),
            modified: modified.map(|since| (since.as_secs(), since.subsec_nanos())),
        }
    }

    /// The same, without a time if the file was written to a moment before it was read.
    #[must_use]
    pub fn settled(self) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let is_settled = |(seconds, nanos): &(u64, u32)| {
            let then = Duration::new(*seconds, *nanos);
            now.is_some_and(|now| then + SETTLED <= now)
        };
        Seen {
            modified: self.modified.filter(is_settled),
            ..self
        }
    }

    /// Whether a file that looks like `now` has not been written to since, as its size and time tell.
    pub fn is_still(&self, now: &Metadata) -> bool {
        self.modified.is_some() && *self == Seen::of(now)
    }
}

/// One input that a run has finished. Names are by [`name_of`](crate::store::Store::name_of).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finished {
    /// The input's name.
    pub input: String,
    /// What it was when it was read.
    pub input_seen: Seen,
    /// The output's name; `None` if none was written.
    pub output: Option<String>,
    /// What it was when it was written.
    pub output_seen: Option<Seen>,
    /// The names of what the store keeps for it.
    pub contents: Vec<String>,
    /// What the report says of it, with the hashes of both.
    pub outcome: Outcome,
}

/// Whether the run that finished an input came to its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// It did.
    Whole,
    /// It was interrupted, or is still active.
    Interrupted,
}

/// A line that was read.
#[derive(Debug)]
pub struct Note {
    pub(super) line: Vec<u8>,
    /// Whether the run that wrote it came to its own end.
    pub ended: Ended,
    /// The file that has it, and where, unless a run that is active wrote it.
    pub(super) place: Option<(Arc<File>, u64)>,
}

/// What a note says besides the outcome: the fields of [`Finished`].
#[derive(Debug, Deserialize)]
pub struct Glance<'n> {
    /// As there.
    #[serde(borrow)]
    pub input: JsonText<'n>,
    /// As there.
    pub input_seen: Seen,
    /// As there.
    pub output: Option<JsonText<'n>>,
    /// As there.
    pub output_seen: Option<Seen>,
    /// As there.
    pub contents: Vec<JsonText<'n>>,
    /// Its JSON.
    #[serde(borrow)]
    pub outcome: &'n RawValue,
}

/// A text of JSON, borrowed where it holds no escapes.
#[derive(Debug, Deserialize)]
pub struct JsonText<'n>(#[serde(borrow)] Cow<'n, str>);

impl Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Note {
    /// What it says; what cannot be read is as if it were not there.
    pub fn glance(&self) -> Option<Glance<'_>> {
        serde_json::from_slice(&self.line).ok()
    }

    /// Where the JSON of its outcome is; `None` if the file is not known.
    pub fn place_of(&self, glance: &Glance<'_>) -> Option<Elsewhere> {
        let (file, offset) = self.place.as_ref()?;
        let json = glance.outcome.get();
        let before = json.as_ptr().addr() - self.line.as_ptr().addr();
        Some(Elsewhere {
            file: Arc::clone(file),
            offset: offset + before as u64,
            bytes: u32::try_from(json.len()).ok()?,
        })
    }
}

impl Glance<'_> {
    /// The outcome; `None` for what no run of ours can have written.
    pub fn outcome(&self) -> Option<Outcome> {
        serde_json::from_str(self.outcome.get()).ok()
    }
}

/// Where the JSON of an outcome is.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// The file; it may have lost its name.
    pub file: Arc<File>,
    /// Where the JSON begins there.
    pub offset: u64,
    /// How long it is.
    pub bytes: u32,
}
