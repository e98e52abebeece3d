//! The interface to a batch API.
//!
//! Data and a trait, which is implemented where requests are sent. One run collects the requests and leaves their conversations as
//! they are; in a later run their answers are in the store, where summaries find them.

use std::fmt::Debug;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};

/// What a run has asked for and the store has no answer to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// The number of requests.
    pub requests: u64,
    /// Their estimated tokens.
    pub input_tokens: u64,
    /// The most tokens that their answers may have together.
    pub output_tokens: u64,
}

/// The outcome of sending requests, or of looking for their answers.
#[derive(Debug, Default)]
pub struct BatchReport {
    /// One sentence for each batch that there is something to report about.
    pub said: Vec<String>,
    /// The names of the batches that were sent.
    pub sent: Vec<String>,
    /// How many batches have ended and were collected.
    pub ended: u64,
    /// The number of batches that are not known to have ended.
    pub open: u64,
    /// What went wrong; everything else was done.
    pub faults: Vec<Error>,
}

/// Holds back the requests of a run until all of them are known.
pub trait BatchClient: Debug + Send + Sync {
    /// What was asked for so far and is neither answered nor sent.
    fn demand(&self) -> Demand;

    /// Collects the results of those batches known to these stores that have ended.
    fn fetch(&self, stores: &[PathBuf]) -> BatchReport;

    /// Sends the requests that are not on their way already.
    fn submit(&self) -> BatchReport;

    /// Writes the requests, one per line, in the provider's batch file format, and returns their number.
    ///
    /// # Errors
    /// The errors of `out`.
    fn write(&self, out: &mut dyn Write) -> Result<u64>;

    /// Reads the answers to the run's requests from a provider's batch result file; counts the others.
    ///
    /// # Errors
    /// The errors of `results`, and of the stores that keep the answers.
    fn read(&self, results: &mut dyn BufRead) -> Result<BatchReport>;

    /// Sleeps.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Interrupted`].
    fn rest(&self, time: Duration) -> Result<()>;
}
