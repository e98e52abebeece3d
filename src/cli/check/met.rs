//! Checks a compaction against `expect.toml`.
//!
//! Each expectation that is not met yields a line with its place in the file and what was found instead. Writes nothing.

use std::path::Path;

use super::expect::{Expect, Expectation, Figure, What};
use super::limit::{Limit, Unit};
use super::texts::Texts;
use crate::artifacts::Replies;
use crate::batch::{each_transcript, eval_bytes, unread};
use crate::cli::eval::{CUTS, measured};
use crate::cli::without_server::without_server;
use crate::diff::{Differ, Fate, Row, Source};
use crate::error::Result;
use crate::eval::{Budget, Candidate, Cutting, Evaluator, Metric, Totals};
use crate::facts::{Earlier, MessageOrigin};
use crate::format::Warnings;
use crate::outcome::{Outcome, Status};
use crate::pipeline::Part;
use crate::policy::Effective;
use crate::text::{count, printable, thousands};
use crate::transcript::ConversationId;
use crate::verify::Severity;

/// The most characters that are shown of an expected text.
const MAX_SHOWN_CHARS: usize = 60;

/// What is expected of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// A model still reads it.
    Still,
    /// A model no longer reads it.
    NoLonger,
}

/// A compacted input.
pub(super) struct Compacted<'c> {
    pub(super) input: &'c [u8],
    pub(super) output: &'c [u8],
    pub(super) outcome: &'c Outcome,
    pub(super) effective: &'c Effective,
    pub(super) replies: &'c Replies,
}

impl Expect {
    /// The expectations that are not met, as lines; `name` is the name of the file.
    pub(super) fn unmet(&self, name: &str, of: &Compacted<'_>) -> Result<String> {
        let name = printable(name);
        let is_status = |one: &Expectation| matches!(one.what, What::Status(_));
        if let Some(why) = of.nothing().filter(|_| !self.all.iter().any(is_status)) {
            let status = of.outcome.status;
            return Ok(match self.all.is_empty() {
                true => String::new(),
                false => format!(
                    "  {name}: nothing was compacted: {why}; status = \"{status}\" expects that\n"
                ),
            });
        }
        let mut how = String::new();
        for one in &self.all {
            if let Some(found) = of.found(one, self.budget)? {
                how.push_str(&format!("  {name}:{}: {found}\n", one.line));
            }
        }
        Ok(how)
    }
}

impl Compacted<'_> {
    /// Why there is no result to check.
    fn nothing(&self) -> Option<String> {
        let of = self.outcome;
        let error = of
            .file
            .error
            .as_ref()
            .map(|error| printable(&error.message));
        match (of.status, error) {
            (Status::Compacted | Status::Unchanged, _) if of.messages_before() > 0 => None,
            (Status::Compacted | Status::Unchanged, _) => {
                Some("the input has no message".to_owned())
            }
            (_, Some(error)) => Some(error.into_owned()),
            (status, None) => Some(format!("the input is {status}")),
        }
    }

    /// What was found instead, if the expectation is not met.
    fn found(&self, expectation: &Expectation, budget: f64) -> Result<Option<String>> {
        let found = match &expectation.what {
            What::Figure(figure, limit) => self.figure(*figure, limit),
            What::Status(status) => {
                let is = self.outcome.status.to_string();
                (is != *status).then(|| format!("expected {}, got {is}", printable(status)))
            }
            What::Valid(expected) => match (expected, self.outcome.findings_after) {
                (true, 0) | (false, 1..) => None,
                (true, errors) => {
                    let rules = count(errors, "rule");
                    Some(format!("expected true, but {rules} of its provider broken"))
                }
                (false, 0) => {
                    Some("expected false, but no rule of its provider is broken".to_owned())
                }
            },
            What::Findings(rules) => self.findings(rules),
            What::Kept(texts) => self.texts(texts, Reading::Still),
            What::Gone(texts) => self.texts(texts, Reading::NoLonger),
            What::Restored(paths) => self.restored(paths),
            What::LastTurnsIdentical(turns) => self.changed_turn(*turns)?,
            What::Need(limit) => self.need(limit, budget)?,
        };
        Ok(found.map(|found| format!("{}: {found}", expectation.name)))
    }

    fn figure(&self, figure: Figure, limit: &Limit) -> Option<String> {
        let of = self.outcome;
        let tokens = [of.tokens_before(), of.tokens_after()];
        let messages = [of.messages_before(), of.messages_after()];
        let [whole, value] = match figure {
            Figure::TokensBefore => [tokens[0], tokens[0]],
            Figure::TokensAfter => tokens,
            Figure::MessagesBefore => [messages[0], messages[0]],
            Figure::MessagesAfter => messages,
            Figure::Saved => [tokens[0], tokens[0].saturating_sub(tokens[1])],
            Figure::Invented => {
                let conversations = of.conversations.iter();
                let summaries = conversations.filter_map(|one| one.summary.as_ref());
                let invented = summaries.map(|summary| summary.invented).sum();
                [invented, invented]
            }
        };
        let share = value as f64 * 100.0 / whole.max(1) as f64;
        let (holds, got) = match limit.unit {
            Unit::One => (limit.holds(value as f64), thousands(value)),
            Unit::Percent => (limit.holds(share), format!("{share:.1}%")),
        };
        (!holds).then(|| format!("expected {limit}, got {got}"))
    }

    /// The difference between the rules that the result breaks and those that it should break.
    fn findings(&self, expected: &[String]) -> Option<String> {
        let mut rules: Vec<&str> = Vec::new();
        if let Some(of) = Source::detect(self.output) {
            each_transcript(of.bytes, of.layout, |bytes, first_line, _| {
                let transcript = of.format.read(bytes, first_line, &mut Warnings::default());
                let found = of.format.verify(&transcript);
                let errors = found.iter().filter(|one| one.severity == Severity::Error);
                rules.extend(errors.map(|one| one.rule.name()));
            });
        }
        rules.sort_unstable();
        rules.dedup();
        let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        expected.sort_unstable();
        expected.dedup();
        (rules != expected).then(|| {
            let [expected, rules] =
                [expected, rules].map(|names| printable(&names.join(", ")).into_owned());
            format!("expected [{expected}], got [{rules}]")
        })
    }

    fn restored(&self, paths: &[String]) -> Option<String> {
        let restored = self
            .outcome
            .conversations
            .iter()
            .flat_map(|one| &one.restored);
        let restored: Vec<&str> = restored.map(|file| file.path.as_str()).collect();
        let is_missing = |path: &&String| {
            let is_it = |file: &&str| {
                let end = file.strip_suffix(path.as_str());
                end.is_some_and(|before| before.is_empty() || before.ends_with('/'))
            };
            !restored.iter().any(is_it)
        };
        let missing: Vec<&str> = paths
            .iter()
            .filter(is_missing)
            .map(String::as_str)
            .collect();
        (!missing.is_empty()).then(|| {
            let [missing, restored] =
                [missing, restored].map(|names| printable(&names.join(", ")).into_owned());
            format!("{missing} was not; restored were [{restored}]")
        })
    }

    /// The texts that a model does not read although it should, or still reads although it should not.
    fn texts(&self, texts: &[String], expected: Reading) -> Option<String> {
        let read = Source::detect(self.output).map(Texts::of);
        let is_read = |text: &str| read.as_ref().is_some_and(|read| read.hold(text));
        let (wrong, what): (Vec<&String>, _) = match expected {
            Reading::Still => (
                texts.iter().filter(|text| !is_read(text)).collect(),
                "is not there",
            ),
            Reading::NoLonger => (
                texts.iter().filter(|text| is_read(text)).collect(),
                "is still there",
            ),
        };
        let wrong: Vec<String> = wrong
            .into_iter()
            .map(|text| format!("{:?} {what}", shortened(text)))
            .collect();
        (!wrong.is_empty()).then(|| wrong.join(", "))
    }

    /// The first message of the last turns that has changed.
    fn changed_turn(&self, turns: usize) -> Result<Option<String>> {
        let (Some(old), Some(new)) = (Source::detect(self.input), Source::detect(self.output))
        else {
            return Ok(Some("the format is not known".to_owned()));
        };
        let differ = Differ::new(&self.effective.policy)?;
        let earlier = Earlier::of(&self.effective.policy)?;
        let diff = differ.diff(old, new, &self.outcome.conversations);
        let mut changed = None;
        let mut most = 0;
        each_transcript(old.bytes, old.layout, |bytes, first_line, part| {
            let transcript = old.format.read(bytes, first_line, &mut Warnings::default());
            for conversation in &transcript.conversations {
                let origins = earlier.origins(&transcript, conversation);
                let messages = conversation.messages.iter().zip(origins).enumerate();
                let typed = messages.filter(|(at, (_, origin))| {
                    transcript.begins_turn(conversation, *at) && *origin == MessageOrigin::Session
                });
                let typed: Vec<usize> = typed.map(|(at, _)| at).collect();
                most = most.max(typed.len());
                let Some(first) = typed.get(typed.len().saturating_sub(turns)) else {
                    continue;
                };
                // In a file of several conversations, a report names each of them like this.
                let id = match part {
                    Part::File => conversation.id.to_string(),
                    Part::Line => ConversationId::Line(first_line).to_string(),
                };
                let rows = diff.conversations.iter().filter(|of| of.id == id);
                let rows = rows.flat_map(|of| &of.rows);
                let is_before = |row: &&Row| row.old.is_none_or(|old| old.message <= *first as u64);
                let mut rows = rows.skip_while(is_before);
                if let Some(row) = rows.find(|row| row.fate != Fate::Kept) {
                    changed.get_or_insert((row.old.or(row.new), row.fate, id));
                }
            }
        });
        let found = match (changed, most) {
            (Some((place, fate, id)), _) => {
                let place = place.map_or(String::new(), |at| {
                    format!(
                        "message {} of {} (line {})",
                        at.message,
                        printable(&id),
                        at.line
                    )
                });
                format!("{place} is {}", fate.name())
            }
            (None, 0) => "nobody typed anything".to_owned(),
            (None, most) if most < turns => format!(
                "there {} only {}",
                if most == 1 { "is" } else { "are" },
                count(most as u64, "turn")
            ),
            (None, _) => return Ok(None),
        };
        Ok(Some(format!("expected {turns}, but {found}")))
    }

    /// How much of what was needed later is kept, as measured by `eval`.
    fn need(&self, limit: &Limit, budget: f64) -> Result<Option<String>> {
        let asked = without_server(self.effective.clone(), "check")?;
        let budgets = [Budget::Percent(budget)];
        let (effective, of_budgets) = measured(asked, &budgets)?;
        let policies = of_budgets.iter().map(|effective| &effective.policy);
        let policies = policies.zip(budgets);
        let candidate = Candidate::new(effective.policy.name, policies, self.replies)?;
        let evaluator = Evaluator::new(
            vec![candidate],
            Vec::new(),
            budgets.to_vec(),
            Cutting::at(&CUTS),
        )?;
        let entries = &[eval_bytes(Path::new("input.jsonl"), self.input, &evaluator)][..];
        let totals = Totals::of(&entries).map_err(unread)?;
        let need = totals
            .scores
            .first()
            .and_then(|of| of.scores.share(Metric::Need));
        Ok(match need {
            None => Some(
                "could not be measured; the session is too short, or nothing in it is needed later"
                    .to_owned(),
            ),
            Some(need) if limit.holds(need) => None,
            Some(need) => Some(format!(
                "expected {limit}, got {need:.1} at a budget of {budget}%"
            )),
        })
    }
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Policy, resolve};

    #[test]
    fn what_is_inserted_among_the_last_turns_changes_them() {
        let line =
            |role: &str, text: &str| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n");
        let [first, second] =
            ["one", "two"].map(|text| line("user", text) + &line("assistant", text));
        let added = line("assistant", "and more");
        let input = format!("{first}{second}");
        let changed = |output: &str| {
            let of = Compacted {
                input: input.as_bytes(),
                output: output.as_bytes(),
                outcome: &Outcome::unchanged(Path::new("input.jsonl"), 0, ""),
                effective: &resolve(Policy::default(), &[]).unwrap(),
                replies: &Replies::default(),
            };
            of.changed_turn(1).unwrap()
        };
        assert_eq!(changed(&input), None);
        // A message before these turns is not part of them.
        assert_eq!(changed(&format!("{first}{added}{second}")), None);
        let says = "expected 1, but message 5 of main (line 5) is inserted";
        assert_eq!(changed(&format!("{input}{added}")).as_deref(), Some(says));
    }
}
