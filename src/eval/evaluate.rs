//! Cuts a session, compacts it by every method with every budget, and searches the results.

use std::borrow::Cow;

use rayon::prelude::*;

use super::baselines::{KeptPassages, kept};
use super::events::{Event, Queued, events};
use super::index::{Index, missing};
use super::references::{References, Remains, share};
use super::segment::{CutPoint, Segment, before, folders, nearest, places, segments};
use super::state::State;
use super::{Baseline, Budget, Cut, Kind, MethodScores, Scores, SessionEval, Skipped};
use crate::artifacts::Replies;
use crate::error::Result;
use crate::format::{Format, Warnings};
use crate::ids::IdSet;
use crate::pipeline::{self, Part, Pipeline};
use crate::plan::Keeping;
use crate::policy::{Encoding, Method, Per, Policy, Scope, Tokens, preset};
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{Conversation, ConversationId, Transcript};

/// A policy to be measured.
#[derive(Debug)]
pub struct Candidate<'p> {
    name: String,
    /// The policy's own texts, such as how a summary begins.
    words: String,
    /// One for each budget.
    pipelines: Vec<Pipeline<'p>>,
}

impl<'p> Candidate<'p> {
    /// The settings under which every policy is measured, but for the budget.
    pub const SETTINGS: [(&'static str, &'static str); 5] = [
        ("tokens.method", "bpe"),
        ("tokens.encoding", "cl100k_base"),
        ("tokens.scope", "content"),
        ("tokens.per", "conversation"),
        ("archive", "never"),
    ];

    /// What a budget needs: a policy with a summary reaches it by that, whenever it would summarise by itself.
    pub const FOR_BUDGETS: (&'static str, &'static str) = ("summary.when", "always");

    /// The key that takes a budget.
    pub const BUDGET: &'static str = "target.percent";

    /// A policy as it is for each of the budgets of its [`Evaluator`], with the answers of its scripted summariser.
    ///
    /// # Errors
    /// If the policy asks for something that is not built in.
    pub fn new(
        name: String,
        of_budgets: impl Iterator<Item = &'p Policy>,
        replies: &Replies,
    ) -> Result<Self> {
        let mut words = String::new();
        let of_budgets = of_budgets.inspect(|policy| words = format!("{policy:?}"));
        let pipeline = |policy| {
            let pipeline = Pipeline::new(policy, Keeping::Nothing)?;
            Ok(pipeline.with_replies(replies.clone()))
        };
        let pipelines = of_budgets.map(pipeline).collect::<Result<_>>()?;
        Ok(Candidate {
            name,
            words,
            pipelines,
        })
    }
}

/// Measures sessions.
#[derive(Debug)]
pub struct Evaluator<'p> {
    candidates: Vec<Candidate<'p>>,
    baselines: Vec<Baseline>,
    budgets: Vec<Budget>,
    cuts: Vec<f64>,
    estimator: Estimator,
}

/// What is measured at one cut of a session.
struct At<'s> {
    place: CutPoint,
    /// The lines before it.
    bytes: Vec<u8>,
    references: References,
    state: State<'s>,
    /// For each budget, the needed names that a sliding window does not contain.
    far: Vec<Vec<u32>>,
}

/// A session with its index.
struct Session<'s, 'a> {
    format: Format,
    transcript: &'s Transcript<'a>,
    conversation: &'s Conversation,
    index: Index,
    /// The tokens of each event.
    tokens: Vec<u64>,
}

impl<'p> Evaluator<'p> {
    /// An evaluator for these policies and baselines with these budgets (in percent of the tokens before a cut), at these cuts
    /// (in percent of a session's tokens).
    ///
    /// # Errors
    /// None for a program that passes its tests.
    pub fn new(
        candidates: Vec<Candidate<'p>>,
        baselines: Vec<Baseline>,
        budgets: Vec<Budget>,
        cuts: Vec<f64>,
    ) -> Result<Self> {
        let tokens = Tokens {
            method: Method::Bpe,
            encoding: Encoding::Cl100kBase,
            scope: Scope::Content,
            per: Per::Conversation,
            ..preset("")?.tokens
        };
        Ok(Evaluator {
            candidates,
            baselines,
            budgets,
            cuts,
            estimator: Estimator::new(&tokens)?,
        })
    }

    /// Measures the sessions of a transcript. `line` is its number (from 1) where it is one line of a
    /// conversation-per-line file, and `first_line` that of its first line in its file.
    pub fn evaluate(
        &self,
        format: Format,
        transcript: &Transcript<'_>,
        first_line: u64,
        line: Option<u64>,
    ) -> Vec<SessionEval> {
        let speaks = transcript.conversations.iter();
        if !speaks.clone().any(|c| !c.messages.is_empty()) {
            return Vec::new();
        }
        let segments = segments(format, transcript, first_line, line);
        if segments.is_empty() {
            let id = line.map_or(ConversationId::Main, ConversationId::Line);
            let nothing = SessionEval::skipped(id.to_string(), Skipped::CompactedFromTheStart);
            return vec![nothing];
        }
        segments
            .iter()
            .map(|segment| self.segment(segment))
            .collect()
    }

    fn segment(&self, segment: &Segment) -> SessionEval {
        let mut warnings = Warnings::default();
        let transcript = segment.format.read(&segment.bytes, 1, &mut warnings);
        let mut session = SessionEval::skipped(segment.id.clone(), Skipped::NoCut);
        let Some(conversation) = transcript.conversations.first() else {
            return session;
        };
        let mut sizes = Sizes::new(self.estimator.clone());
        let growth = sizes.growth(&transcript, conversation);
        session.messages = conversation.messages.len() as u64;
        session.tokens = growth.last().copied().unwrap_or(0);
        let places = places(&transcript, conversation, &growth);
        let mut chosen: Vec<CutPoint> = Vec::new();
        for cut in &self.cuts {
            let place = nearest(&places, *cut, session.tokens);
            chosen.extend(place.filter(|place| !chosen.contains(place)));
        }
        if chosen.is_empty() {
            return session;
        }
        session.skipped = None;
        let events = events(&transcript, conversation, Queued::Counted);
        let tokens = events.iter().map(|event| {
            let size = match event.block {
                Some(block) => sizes.block(&transcript, block),
                None => self.estimator.text(&event.text),
            };
            self.estimator.tokens(size)
        });
        let read = Session {
            format: segment.format,
            transcript: &transcript,
            conversation,
            tokens: tokens.collect(),
            index: Index::new(events, folders(&segment.bytes)),
        };
        let cuts: Vec<At<'_>> = chosen
            .par_iter()
            .map(|place| self.at(&read, *place))
            .collect();
        session.cuts = cuts.iter().map(|at| at.cut(segment)).collect();
        session.scores = self.scores(&read, &cuts);
        session
    }

    /// What to search for at a cut.
    fn at<'s>(&self, session: &'s Session<'_, '_>, place: CutPoint) -> At<'s> {
        let index = &session.index;
        let cut = index.event_of(place.message);
        let references = References::new(index, cut);
        let far = |budget: &Budget| {
            // Without a budget, there is no window to be out of.
            if !Baseline::Window.works_with(*budget) {
                return Vec::new();
            }
            let window = self.kept(session, Baseline::Window, cut, budget.tokens(place.tokens));
            let seen = index.seen(window.passages.iter().map(AsRef::as_ref), cut);
            let needed = references.needed.iter().copied();
            needed.filter(|name| !seen.names.contains(name)).collect()
        };
        At {
            place,
            bytes: before(session.transcript, session.conversation, place),
            far: self.budgets.iter().map(far).collect(),
            references,
            state: State::new(index, cut),
        }
    }

    fn kept<'s>(
        &self,
        session: &'s Session<'_, '_>,
        baseline: Baseline,
        cut: usize,
        budget: u64,
    ) -> KeptPassages<'s> {
        let events = &session.index.events[..cut];
        kept(
            baseline,
            events,
            &session.tokens[..cut],
            budget,
            &self.estimator,
        )
    }

    /// The scores of each method, budget by budget.
    fn scores(&self, session: &Session<'_, '_>, cuts: &[At<'_>]) -> Vec<MethodScores> {
        let policies = self.candidates.iter().map(How::Policy);
        let baselines = self.baselines.iter().copied().map(How::Baseline);
        let methods: Vec<How<'_, '_>> = policies.chain(baselines).collect();
        let mut runs = Vec::new();
        for budget in 0..self.budgets.len() {
            let works = |how: &&How<'_, '_>| match how {
                How::Policy(_) => true,
                How::Baseline(baseline) => baseline.works_with(self.budgets[budget]),
            };
            for method in methods.iter().filter(works) {
                runs.extend(cuts.iter().map(|at| (budget, method, at)));
            }
        }
        let run = |(budget, method, at): &(usize, &How<'_, '_>, &At<'_>)| match method {
            How::Policy(candidate) => self.policy(session, candidate, *budget, at),
            How::Baseline(baseline) => self.baseline(session, *baseline, *budget, at),
        };
        // Each takes long enough to be worth a task of its own.
        let scores: Vec<Scores> = runs.par_iter().with_max_len(1).map(run).collect();
        let of_cuts = runs.chunks(cuts.len()).zip(scores.chunks(cuts.len()));
        of_cuts
            .map(|(runs, scores)| {
                let (budget, method, _) = runs[0];
                let (method, kind) = match method {
                    How::Policy(candidate) => (candidate.name.clone(), Kind::Policy),
                    How::Baseline(baseline) => (baseline.name().to_owned(), Kind::Baseline),
                };
                MethodScores {
                    method,
                    kind,
                    budget: self.budgets[budget],
                    scores: Scores::mean(scores.iter()),
                }
            })
            .collect()
    }

    fn policy(
        &self,
        session: &Session<'_, '_>,
        candidate: &Candidate<'_>,
        budget: usize,
        at: &At<'_>,
    ) -> Scores {
        let format = session.format;
        let input = pipeline::Input {
            format,
            bytes: &at.bytes,
            first_line: 1,
            part: Part::File,
            stored: pipeline::Stored::default(),
            strings: &crate::scan::NO_STRINGS,
            adviser: None,
        };
        let compacted = candidate.pipelines[budget].compact(input, &mut Warnings::default());
        let tokens = compacted.conversations.first().map(|c| c.tokens_after);
        let output: Vec<u8> = compacted.pieces().collect::<Vec<_>>().concat();
        let transcript = format.read(&output, 1, &mut Warnings::default());
        let kept_events = match transcript.conversations.first() {
            Some(conversation) => events(&transcript, conversation, Queued::Ignored),
            None => Vec::new(),
        };
        let passages: Vec<Cow<'_, str>> = kept_events
            .iter()
            .flat_map(|event| [unmarked(&event.text), Cow::Borrowed(&event.body[..])])
            .collect();
        let mut scores = self.score(
            session,
            at,
            budget,
            &passages,
            tokens.unwrap_or(0),
            &kept_events,
        );
        // A summary notes how many tokens the budget is a share of.
        let original = compacted.conversations.first().map(|c| c.tokens_before);
        let original = original.unwrap_or_default().to_string();
        let is_own = |name: &String| candidate.words.contains(&name[..]) || *name == original;
        scores.examples.retain(|name| !is_own(name));
        scores.invented = scores.examples.len() as u64;
        let target = compacted.conversations.first().and_then(|c| c.target);
        if target.is_some_and(|target| !target.reached) {
            scores.unreachable = scores.over;
        }
        scores
    }

    fn baseline(
        &self,
        session: &Session<'_, '_>,
        baseline: Baseline,
        budget: usize,
        at: &At<'_>,
    ) -> Scores {
        let tokens = self.budgets[budget].tokens(at.place.tokens);
        let kept = self.kept(session, baseline, at.references.cut, tokens);
        self.score(session, at, budget, &kept.passages, kept.tokens, &[])
    }

    /// The scores of `passages`. `kept_events` are the events of a policy's output.
    fn score(
        &self,
        session: &Session<'_, '_>,
        at: &At<'_>,
        budget: usize,
        passages: &[Cow<'_, str>],
        tokens: u64,
        kept_events: &[Event],
    ) -> Scores {
        let passages = || passages.iter().map(AsRef::as_ref);
        let references = &at.references;
        let mut seen = session.index.seen(passages(), references.cut);
        // Names of fields do not occur in texts.
        seen.invented = missing(seen.invented, &at.bytes);
        let of = |names: &[u32], found: &IdSet<u32>| {
            let count = names.iter().filter(|name| found.contains(name)).count();
            share(count, names.len())
        };
        let [user, modified, commands, errors] = references.found(&Remains::new(passages()));
        let [files, ended] = at.state.truth(kept_events);
        let before = at.place.tokens.max(1) as f64;
        Scores {
            cuts: 1,
            shares: [
                of(&references.needed, &seen.names),
                of(&references.needed, &seen.grounded),
                of(&at.far[budget], &seen.names),
                user,
                modified,
                commands,
                errors,
                files.share(),
                ended.share(),
                Some(tokens as f64 * 100.0 / before),
            ],
            invented: seen.invented.len() as u64,
            examples: seen.invented,
            over: u64::from(tokens > self.budgets[budget].tokens(at.place.tokens)),
            unreachable: 0,
        }
    }
}

/// How a session is made shorter.
enum How<'e, 'p> {
    Policy(&'e Candidate<'p>),
    Baseline(Baseline),
}

impl At<'_> {
    fn cut(&self, segment: &Segment) -> Cut {
        let references = &self.references;
        Cut {
            message: self.place.message as u64 + 1,
            line: segment.lines[self.place.line as usize],
            tokens: self.place.tokens,
            need: references.needed.len() as u64,
            user: references.sentences.len() as u64,
            modified: references.changed.len() as u64,
            commands: references.commands.len() as u64,
            errors: references.errors.len() as u64,
        }
    }
}

impl SessionEval {
    /// A session that was not measured.
    fn skipped(id: String, why: Skipped) -> SessionEval {
        SessionEval {
            id,
            messages: 0,
            tokens: 0,
            skipped: Some(why),
            cuts: Vec::new(),
            scores: Vec::new(),
        }
    }
}

/// A text without the marks at the beginning of a summary's rows, and without the range of lines that is restored: line numbers
/// are not names.
fn unmarked(text: &str) -> Cow<'_, str> {
    const RESTORED: &str = "[File restored: ";
    if !text.contains("[L") && !text.contains(RESTORED) {
        return Cow::Borrowed(text);
    }
    let bare = |line: &str| {
        if line.starts_with(RESTORED)
            && let Some((path, _)) = line.rsplit_once(", lines ")
        {
            return path.to_owned();
        }
        let marked = line
            .strip_prefix("[L")
            .and_then(|rest| rest.split_once(']'));
        let is_mark = |mark: &str| mark.bytes().all(|b| b.is_ascii_digit() || b == b',');
        let rest = marked.and_then(|(mark, rest)| is_mark(mark).then_some(rest));
        rest.unwrap_or(line).to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(bare).collect();
    Cow::Owned(lines.join("\n"))
}

#[cfg(test)]
mod tests;
