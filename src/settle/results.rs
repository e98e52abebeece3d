//! Results between the layers, on actual sizes: a result that was demoted is as large as its preview when clearing looks at
//! it. A change that does not save tokens is not made.
//!
//! PURE. Newest first, because a read stands in for an earlier one only if no layer takes out what it shows itself.

use super::{Change, Why};
use crate::artifacts::Artifacts;
use crate::facts::LaterReads;
use crate::ids::IdMap;
use crate::plan::{Clear, ResultPlan, Superseded};
use crate::policy::{Policy, Substitutions, Unit};
use crate::tokens::{Size, Sizes};
use crate::transcript::{Block, Transcript};

/// At most one change for each of the results, in their order.
pub(super) fn results(
    transcript: &Transcript<'_>,
    results: &[ResultPlan],
    artifacts: &Artifacts<'_>,
    sizes: &Sizes,
    policy: &Policy,
) -> Vec<Change> {
    let settle = Settle {
        transcript,
        artifacts,
        sizes,
        policy,
    };
    let mut kept = KeptReads::default();
    let mut changes: Vec<Change> = Vec::new();
    for result in results.iter().rev() {
        let later = kept.newest_covering(transcript, result);
        match settle.result(result, later) {
            Some(change) => changes.push(change),
            None => kept.add(transcript, result),
        }
    }
    changes.reverse();
    changes
}

/// The reads that are kept as they are, by their files.
#[derive(Default)]
struct KeptReads(IdMap<u32, LaterReads<LaterRead>>);

/// A later read of the same.
#[derive(Debug, Clone, Copy)]
struct LaterRead {
    line: u32,
    message: u32,
}

impl KeptReads {
    fn add(&mut self, transcript: &Transcript<'_>, result: &ResultPlan) {
        if let Superseded::Read { file, shows } = result.superseded {
            let read = LaterRead {
                line: transcript.block(result.block).line,
                message: result.message,
            };
            self.0.entry(file).or_default().add(transcript, shows, read);
        }
    }

    fn newest_covering(
        &self,
        transcript: &Transcript<'_>,
        result: &ResultPlan,
    ) -> Option<LaterRead> {
        let Superseded::Read { file, shows } = result.superseded else {
            return None;
        };
        self.0.get(&file)?.newest_covering(transcript, shows)
    }
}

struct Settle<'s, 'a> {
    transcript: &'s Transcript<'a>,
    artifacts: &'s Artifacts<'s>,
    sizes: &'s Sizes,
    policy: &'s Policy,
}

/// A result's content between two layers.
#[derive(Clone, Copy)]
struct Content {
    size: Size,
    chars: u64,
}

impl Settle<'_, '_> {
    fn result(&self, result: &ResultPlan, later: Option<LaterRead>) -> Option<Change> {
        let block = self.transcript.block(result.block);
        let now = Content {
            size: self.sizes.result(self.transcript, result.block),
            chars: self
                .transcript
                .texts(block)
                .iter()
                .map(|text| self.chars(text.scalars, text.astral))
                .sum(),
        };
        let before = later
            .and_then(|later| self.superseded(result, &now, later))
            .or_else(|| self.demote(result, &now))
            .or_else(|| self.offload(result, &now));
        let between = before
            .as_ref()
            .map_or(now, |change| self.said(&change.text, block));
        match self.clear(result, &between) {
            // What clearing saved, it saved against what was there at first.
            Some(cleared) => Some(Change {
                tokens_before: self.sizes.estimator().tokens(now.size),
                ..cleared
            }),
            None => before,
        }
    }

    fn superseded(
        &self,
        result: &ResultPlan,
        now: &Content,
        LaterRead { line, message }: LaterRead,
    ) -> Option<Change> {
        let text = self.policy.superseded.placeholder.render(&Substitutions {
            tool: &result.tool(self.transcript),
            ..Substitutions::default()
        });
        let why = Why::Superseded { line, message };
        self.change(result, why, text, now)
    }

    fn demote(&self, result: &ResultPlan, now: &Content) -> Option<Change> {
        let demoted = self.artifacts.demoted.get(&result.block)?;
        let values = Substitutions {
            name: &demoted.stored.name,
            tool: &result.tool(self.transcript),
            preview: &demoted.preview,
            summary: "",
        };
        let text = self.policy.demote.text.render(&values);
        let why = Why::Oversize {
            limit: self.policy.demote.min_tokens,
        };
        let change = self.change(result, why, text, now)?;
        Some(Change {
            stored: Some(demoted.stored.clone()),
            ..change
        })
    }

    fn offload(&self, result: &ResultPlan, now: &Content) -> Option<Change> {
        let stored = self.artifacts.offloaded.get(&result.block)?;
        let limit = self.policy.offload.min_chars;
        if limit > 0 && now.chars <= limit {
            return None;
        }
        let text = self.policy.offload.text.render(&Substitutions {
            name: &stored.name,
            tool: &result.tool(self.transcript),
            ..Substitutions::default()
        });
        let change = self.change(result, Why::Offloaded, text, now)?;
        Some(Change {
            stored: Some(stored.clone()),
            ..change
        })
    }

    fn clear(&self, result: &ResultPlan, now: &Content) -> Option<Change> {
        let Clear::Candidate { newer } = result.clear else {
            return None;
        };
        let limits = &self.policy.clear;
        let tokens = self.sizes.estimator().tokens(now.size);
        if limits.min_tokens > 0 && tokens <= limits.min_tokens
            || limits.min_chars > 0 && now.chars <= limits.min_chars
        {
            return None;
        }
        let text = limits.placeholder.render(&Substitutions {
            tool: &result.tool(self.transcript),
            ..Substitutions::default()
        });
        self.change(result, Why::Old { newer }, text, now)
    }

    /// The change to `text`, if it saves something.
    fn change(&self, result: &ResultPlan, why: Why, text: String, now: &Content) -> Option<Change> {
        let estimator = self.sizes.estimator();
        let block = self.transcript.block(result.block);
        let new = estimator.replaced(self.transcript, block, &text);
        let (before, after) = (estimator.tokens(now.size), estimator.tokens(new));
        (after < before).then_some(Change {
            conversation: result.conversation,
            message: result.message,
            block: result.block,
            named_by: result.named_by,
            why,
            text,
            tokens_before: before,
            tokens_after: after,
            stored: None,
        })
    }

    /// The content of a result between two layers, when it says `text`.
    fn said(&self, text: &str, block: &Block) -> Content {
        let astral = text.chars().filter(|c| *c as u32 > 0xffff).count() as u32;
        let scalars = text.chars().count() as u32;
        Content {
            size: self
                .sizes
                .estimator()
                .replaced(self.transcript, block, text),
            chars: self.chars(scalars, astral),
        }
    }

    fn chars(&self, scalars: u32, astral: u32) -> u64 {
        match self.policy.tokens.unit {
            Unit::Scalar => u64::from(scalars),
            Unit::Utf16 => u64::from(scalars) + u64::from(astral),
        }
    }
}
