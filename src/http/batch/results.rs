//! Reads results in any order: answers go to the store; for the others, the reason is kept.
//!
//! A result for an unknown request, or a line that cannot be read, is counted and ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};

use super::job::{Failed, FailedKind, answer_of};
use super::shape::{Outcome, result};
use crate::error::Result;
use crate::http::cache::{CachedAnswer, keep_paid};
use crate::http::endpoint::Endpoint;
use crate::http::refused::Rejection;
use crate::http::response::{Failure, read};
use crate::store::Store;
use crate::text::{count, thousands};

/// The maximum length of a line of results, in bytes.
const MAX_LINE: u64 = 16 << 20;
/// The maximum number of reasons to name.
const MAX_NAMED: usize = 3;

/// A summary of the results that were read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Requests that were answered.
    pub(super) answered: BTreeSet<String>,
    /// Requests that were not answered.
    pub(super) failed: BTreeMap<String, Failed>,
    /// What the server rejects in requests, as far as that was not known.
    pub(super) refused: Vec<Rejection>,
    /// Results for unknown requests, and lines that are not results.
    pub(super) unknown: u64,
    /// Tokens that the server counted.
    input: u64,
    output: u64,
}

/// What is known about the requests whose results are read.
#[derive(Debug)]
pub(super) struct Sought<'s> {
    pub(super) endpoint: &'s Endpoint,
    /// Parameters that were omitted from them.
    pub(super) left_out: &'s BTreeSet<String>,
    /// What the server was known to reject when they were sent.
    pub(super) learned: &'s [Rejection],
}

impl Tally {
    /// Reads all lines. `stores` returns the stores that a request is for, or none if the request is unknown. It is called once for
    /// each request.
    ///
    /// # Errors
    /// If an answer cannot be stored, or `results` cannot be read.
    pub(super) fn read(
        &mut self,
        results: &mut dyn BufRead,
        sought: &Sought<'_>,
        mut stores: impl FnMut(&str) -> Vec<Store>,
    ) -> Result<io::Result<()>> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = Read::take(&mut *results, MAX_LINE);
            match limited.read_until(b'\n', &mut line) {
                Ok(0) => return Ok(Ok(())),
                Ok(_) => {}
                Err(e) => return Ok(Err(e)),
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let Some((id, outcome)) = result(&line) else {
                self.unknown += 1;
                continue;
            };
            let stores = match self.answered.contains(&id) || self.failed.contains_key(&id) {
                true => Vec::new(),
                false => stores(&id),
            };
            match stores.is_empty() {
                true => self.unknown += 1,
                false => self.take(id, outcome, sought, &stores)?,
            }
        }
    }

    fn take(
        &mut self,
        id: String,
        outcome: Outcome,
        sought: &Sought<'_>,
        stores: &[Store],
    ) -> Result<()> {
        let endpoint = sought.endpoint;
        let failed = match outcome {
            Outcome::Without(why) => Failed {
                why: crate::text::printable(&why).into_owned(),
                kind: FailedKind::Final,
            },
            Outcome::Response(response) => {
                let (answer, usage) = read(endpoint.provider, &response, endpoint.key.as_ref());
                self.input += usage.input;
                self.output += usage.output;
                match answer {
                    Ok(answer) => {
                        let answer = CachedAnswer {
                            text: answer.text,
                            model: answer.model,
                            ending: answer.ending,
                            left_out: sought.left_out.clone(),
                            counted: usage.input,
                            paid: None,
                        };
                        for store in stores {
                            keep_paid(store, &answer_of(&id), &answer)?;
                        }
                        self.answered.insert(id);
                        return Ok(());
                    }
                    Err(failure) => self.failed(failure, sought),
                }
            }
        };
        let why = match &endpoint.key {
            Some(key) => key.mask(&failed.why),
            None => failed.why,
        };
        self.failed.insert(id, Failed { why, ..failed });
        Ok(())
    }

    /// Classifies the failure of a request.
    fn failed(&mut self, failure: Failure, sought: &Sought<'_>) -> Failed {
        let (why, kind) = match failure {
            Failure::PromptTooLong { why, excess } => (why, FailedKind::TooLong(excess)),
            Failure::Refused {
                why,
                refused: Rejection::Room { .. },
            } => (why, FailedKind::TooLong(None)),
            Failure::Refused { why, refused } if !sought.learned.contains(&refused) => {
                if !self.refused.contains(&refused) {
                    self.refused.push(refused);
                }
                (why, FailedKind::Form)
            }
            Failure::Refused { why, .. }
            | Failure::Busy { why, .. }
            | Failure::Transient(why)
            | Failure::Rejected(why)
            | Failure::Fatal(why)
            | Failure::NoModel(why)
            | Failure::RunLimit(why)
            | Failure::Waiting(why) => (why, FailedKind::Final),
            Failure::Offline | Failure::Interrupted => {
                ("the request was not answered".to_owned(), FailedKind::Final)
            }
        };
        Failed { why, kind }
    }

    /// `45 answers, 2 failed: the batch expired before it (2); 1 result of no request`.
    pub(super) fn sentence(&self) -> String {
        let mut said = count(self.answered.len() as u64, "answer");
        if self.input + self.output > 0 {
            let (input, output) = (thousands(self.input), thousands(self.output));
            said.push_str(&format!(" ({input} tokens read, {output} written)"));
        }
        if !self.failed.is_empty() {
            let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
            for failed in self.failed.values() {
                *reasons.entry(&failed.why).or_default() += 1;
            }
            let failed = thousands(self.failed.len() as u64);
            let mut reasons: Vec<(&str, u64)> = reasons.into_iter().collect();
            reasons.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            let named = reasons.iter().take(MAX_NAMED);
            let named: Vec<String> = named
                .map(|(why, times)| format!("{why} ({})", thousands(*times)))
                .collect();
            said.push_str(&format!(", {failed} without one: {}", named.join(", ")));
            if reasons.len() > MAX_NAMED {
                said.push_str(" and other reasons");
            }
        }
        if self.unknown > 0 {
            let unknown = count(self.unknown, "line");
            said.push_str(&format!("; {unknown} for unknown requests ignored"));
        }
        said
    }
}
