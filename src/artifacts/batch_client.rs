//! The interface to a batch API.
//!
//! Data and a trait, which is implemented where requests are sent. In one run the requests are collected, while their
//! conversations stay as they are; in a later one their answers are in the store, where summaries find them.

use std::fmt::Debug;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};

/// What a run has asked for and the store has no answer to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// Requests.
    pub requests: u64,
    /// Their tokens, estimated.
    pub input_tokens: u64,
    /// The most tokens that their answers may have together.
    pub output_tokens: u64,
}

/// What came of sending requests, or of looking for their answers.
#[derive(Debug, Default)]
pub struct BatchReport {
    /// A sentence for each batch of which there is something to tell.
    pub said: Vec<String>,
    /// The names of the batches that were sent.
    pub sent: Vec<String>,
    /// How many batches have ended and were collected.
    pub ended: u64,
    /// How many are not known to have ended.
    pub open: u64,
    /// What went wrong. The rest was done.
    pub faults: Vec<Error>,
}

/// Holds back the requests of a run until all of them are known.
pub trait BatchClient: Debug + Send + Sync {
    /// What was asked for so far and is neither answered nor sent.
    fn demand(&self) -> Demand;

    /// Collects what has ended of the batches that these stores know.
    fn fetch(&self, stores: &[PathBuf]) -> BatchReport;

    /// Sends what was asked for and is not on its way already.
    fn submit(&self) -> BatchReport;

    /// Writes what was asked for, one request a line, in the form in which the provider takes it as a file. How many there were.
    ///
    /// # Errors
    /// The errors of `out`.
    fn write(&self, out: &mut dyn Write) -> Result<u64>;

    /// Reads the answers to what was asked for from a file of a provider's batch; others are counted.
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
