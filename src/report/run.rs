//! What the report of any command consists of: data about the run as a whole, and an entry for each input.
//!
//! Knows no command: the data about a command's runs and inputs have types of their own.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

use crate::outcome::{Entry, NotRead};

use super::times::RunTimings;

/// The version of the report's JSON; it is incremented when a key is removed or changes its meaning.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// A run's report. The fields are the JSON keys, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport<A, T, F> {
    #[serde(flatten)]
    pub(super) head: Head<A, T>,
    /// The inputs, in path order.
    pub(super) files: Vec<F>,
}

/// A report without its files: also the last line of a `.jsonl` report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Head<A, T> {
    pub(super) schema_version: u32,
    /// The version of the program that made it.
    pub(super) version: Cow<'static, str>,
    /// How the run was made.
    #[serde(flatten)]
    pub(super) about: A,
    pub(super) totals: T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_read: Vec<NotRead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timings: Option<RunTimings>,
}

impl<A, T> Head<A, T> {
    /// The head of a report by this version of the program.
    pub fn new(about: A, totals: T) -> Self {
        Head {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            about,
            totals,
            not_read: Vec::new(),
            timings: None,
        }
    }

    /// How the run was made.
    pub fn about(&self) -> &A {
        &self.about
    }

    /// The sums over all inputs.
    pub fn totals(&self) -> &T {
        &self.totals
    }

    /// What was not read, by kind.
    pub fn not_read(&self) -> &[NotRead] {
        &self.not_read
    }

    /// How long the run took, if timings were requested.
    pub fn timings(&self) -> Option<&RunTimings> {
        self.timings.as_ref()
    }
}

impl<A, T, F> RunReport<A, T, F> {
    /// A report by this version of the program; `files` are in path order.
    pub(super) fn of(about: A, totals: T, files: Vec<F>) -> Self {
        RunReport {
            head: Head::new(about, totals),
            files,
        }
    }

    /// The same report, also saying how long the run and its phases took.
    #[must_use]
    pub fn with_timings(mut self, wall: Option<Duration>) -> Self
    where
        F: Entry,
    {
        self.head.timings = wall.map(|wall| RunTimings::of(wall, &self.files));
        self
    }

    /// What it says about the run as a whole.
    pub fn head(&self) -> &Head<A, T> {
        &self.head
    }

    /// The sums over all inputs.
    pub fn totals(&self) -> &T {
        &self.head.totals
    }

    /// The inputs, in path order.
    pub fn files(&self) -> &[F] {
        &self.files
    }

    /// The inputs, for use in another report.
    pub fn into_files(self) -> Vec<F> {
        self.files
    }
}
