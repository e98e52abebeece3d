//! Counts the conversations of a run without a summary by the requested model, and states why, in one sentence.
//!
//! PURE. Only counts outcomes; with a single such request, its own message is shown instead.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::outcome::Outcome;
use crate::policy::Source;
use crate::text::{count, thousands};

/// The maximum number of reasons that are named.
const NAMED: usize = 5;

/// The maximum number of reasons that are distinguished, since a server's wordings may be unlimited.
const REASONS: usize = 1_000;

/// The conversations without a model's summary.
#[derive(Debug, Default)]
pub(super) struct Unsummarised {
    /// The conversations for which a model was asked.
    asked: u64,
    /// The number of conversations without a summary for each reason, keyed by what its wordings have in common.
    reasons: BTreeMap<String, Reason>,
    /// The number for all further reasons.
    others: u64,
}

/// Why there is no summary.
#[derive(Debug)]
struct Reason {
    /// Its first wording.
    why: String,
    conversations: u64,
}

impl Unsummarised {
    /// Looks at an outcome.
    pub(super) fn see(&mut self, outcome: &Outcome) {
        let summaries = outcome.conversations.iter().flat_map(|c| &c.summary);
        for summary in summaries.filter(|s| s.source != Source::Extractive.name()) {
            self.asked += 1;
            let Some(why) = &summary.error else {
                continue;
            };
            let wording = without_figures(why);
            if self.reasons.len() >= REASONS && !self.reasons.contains_key(&wording) {
                self.others += 1;
                continue;
            }
            let reason = self.reasons.entry(wording);
            let new = || Reason {
                why: why.clone(),
                conversations: 0,
            };
            reason.or_insert_with(new).conversations += 1;
        }
    }

    /// `7 of 45 conversations have no model's summary: status 529: Overloaded (5), the answer refuses to summarise (2)`; `None` if
    /// only one was requested.
    pub(super) fn sentence(&self) -> Option<String> {
        let known: u64 = self.reasons.values().map(|r| r.conversations).sum();
        let missing = known + self.others;
        if missing == 0 || self.asked < 2 {
            return None;
        }
        let mut reasons: Vec<&Reason> = self.reasons.values().collect();
        reasons.sort_by_key(|reason| Reverse(reason.conversations));
        let (named, others) = reasons.split_at(reasons.len().min(NAMED));
        let others: u64 = others.iter().map(|reason| reason.conversations).sum();
        let others = others + self.others;
        let number = |reason: &&Reason| {
            let conversations = thousands(reason.conversations);
            format!("{} ({conversations})", reason.why)
        };
        let mut named: Vec<String> = named.iter().map(number).collect();
        if others > 0 {
            named.push(format!("other reasons ({})", thousands(others)));
        }
        let have = match missing {
            1 => "has",
            _ => "have",
        };
        Some(format!(
            "{} of {} {have} no model's summary: {}",
            thousands(missing),
            count(self.asked, "conversation"),
            named.join(", ")
        ))
    }
}

/// A reason without the figures of one conversation, such as the tokens of a prompt. Statuses have three digits.
fn without_figures(why: &str) -> String {
    const SHORTEST: usize = 4;
    let is_digit = |c: char| c.is_ascii_digit();
    let mut rest = why;
    let mut text = String::new();
    while let Some(start) = rest.find(is_digit) {
        let figures = &rest[start..];
        let end = figures.find(|c| !is_digit(c)).unwrap_or(figures.len());
        text.push_str(&rest[..start]);
        text.push_str(if end < SHORTEST { &figures[..end] } else { "#" });
        rest = &figures[end..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_large_figures_are_one() {
        let of = |tokens: u64| without_figures(&format!("status 400: {tokens} tokens > 8192"));
        assert_eq!(of(9_000), "status 400: # tokens > #");
        assert_eq!(of(9_000), of(123_456));
        assert_eq!(
            without_figures("status 529: Overloaded"),
            "status 529: Overloaded"
        );
    }
}
