//! Plays sessions step by step, under one policy after the other.

use rayon::prelude::*;

use super::gates::Gates;
use super::recording::{Recorded, Recording};
use super::round::{Asked, outcome};
use super::window::{Costs, Window};
use super::{Done, Event, Figures, PolicyReplay, SessionReplay, Step, TurnReplay, Verdict};
use crate::artifacts::Replies;
use crate::error::Result;
use crate::pipeline::{Gates as Open, Pipeline, SummaryGate};
use crate::plan::{Keeping, is_over};
use crate::policy::{Layer, Policy, preset};
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{Transcript, Typed};

/// A policy, ready to be played.
#[derive(Debug)]
pub struct Player<'p> {
    policy: &'p Policy,
    pipeline: Pipeline<'p>,
    estimator: Estimator,
}

/// Several policies to compare.
#[derive(Debug)]
pub struct Replayer<'p> {
    players: Vec<Player<'p>>,
    /// The estimator for comparing figures.
    alike: Estimator,
}

impl<'p> Player<'p> {
    /// A policy with the answers of its scripted summariser.
    ///
    /// # Errors
    /// If the policy asks for something that is not built in.
    pub fn new(policy: &'p Policy, replies: Replies) -> Result<Self> {
        Ok(Player {
            policy,
            pipeline: Pipeline::new(policy, Keeping::Store)?.with_replies(replies),
            estimator: Estimator::new(&policy.tokens)?,
        })
    }

    /// The plain lines that remain of a session at its end.
    pub fn remaining_lines(&self, recording: &Recording) -> Vec<u8> {
        let play = self.play(recording, &self.estimator);
        let transcript = &play.window.work.transcript;
        let lines = 0..transcript.lines().len() as u32;
        let lines = lines.filter(|line| transcript.is_there(*line));
        lines
            .flat_map(|line| [transcript.line(line), b"\n"].concat())
            .collect()
    }

    /// Plays one session; `alike` is the estimator for figures that are compared.
    fn play<'r>(&'p self, recording: &'r Recording, alike: &Estimator) -> Play<'r, 'p> {
        let mut play = Play {
            player: self,
            window: Window::new(recording, self.estimator.clone(), alike.clone()),
            gates: Gates::new(self.policy),
            held: None,
            request: 0,
            costs: Costs::default(),
            done: Done::default(),
            windows: Vec::new(),
            turns: Vec::new(),
            steps: Vec::new(),
        };
        for answer in recording.answers() {
            play.append(answer);
            play.layers();
            play.send();
            play.append(answer + 1);
        }
        if play.window.next < recording.messages.len() {
            play.append(recording.messages.len());
            play.layers();
        }
        play
    }
}

/// A session in progress.
struct Play<'r, 'p> {
    player: &'p Player<'p>,
    window: Window<'r>,
    gates: Gates<'p>,
    /// The closed gate that was last reported.
    held: Option<String>,
    /// Requests so far.
    request: u64,
    costs: Costs,
    done: Done,
    windows: Vec<u64>,
    turns: Vec<TurnReplay>,
    steps: Vec<Step>,
}

impl Play<'_, '_> {
    /// Appends the messages up to index `end`.
    fn append(&mut self, end: usize) {
        let recording = self.window.recording;
        while self.window.next < end {
            let from = self.window.next;
            let is_typed = |message: &Recorded| message.typed == Typed::Yes;
            if from == 0 || is_typed(&recording.messages[from]) {
                self.turn(&recording.messages[from]);
            }
            // Up to the next turn, if that begins before the end.
            let next = recording.messages[from + 1..end].iter().position(is_typed);
            self.window.append(next.map_or(end, |next| from + 1 + next));
        }
    }

    fn turn(&mut self, first: &Recorded) {
        self.end_turn();
        self.gates.turn();
        let before_all = first.typed == Typed::No;
        let turn = match self.turns.last() {
            Some(last) => last.turn + 1,
            None => u64::from(!before_all),
        };
        self.turns.push(TurnReplay {
            turn,
            line: first.line,
            requests: 0,
            sent: 0,
            context: 0,
        });
    }

    fn end_turn(&mut self) {
        if let Some(turn) = self.turns.last_mut() {
            turn.context = self.window.total();
        }
    }

    /// Runs the layers on the window.
    fn layers(&mut self) {
        let policy = self.player.policy;
        let before = self.window.total();
        let closed = self.gates.closed();
        let freed = policy.trigger.offload_freed_below;
        let gates = Open {
            summaries: match (&closed, self.gates.waits(before)) {
                (Some(_), _) => SummaryGate::Never,
                (None, Some(_)) => SummaryGate::Asked,
                (None, None) => SummaryGate::Due,
            },
            freed: (freed > 0).then_some(freed),
        };
        let round = self.window.round(&self.player.pipeline, gates);
        let (mut events, asked) = outcome(&round);
        let after = self.window.total();
        self.gates.asked(asked);
        self.done.failures += u64::from(asked == Asked::Failed);
        for event in &events {
            match event.result {
                Verdict::Failed | Verdict::Held => continue,
                Verdict::Made | Verdict::LeftOut => {}
            }
            match event.layer {
                Layer::Summarize => {
                    self.done.compactions += 1;
                    self.gates.made();
                }
                Layer::Superseded | Layer::Demote | Layer::Clear | Layer::Offload => {
                    self.done.edits += event.count;
                }
                Layer::Drop | Layer::Restore => {}
            }
        }
        if round.tried().next().is_some() {
            self.gates.record_attempt(after);
        }
        let closed = closed.or_else(|| self.gates.waits(before));
        if closed != self.held && is_over(policy, after) {
            events.extend(closed.as_ref().map(|gate| Event {
                layer: Layer::Summarize,
                result: Verdict::Held,
                count: 0,
                freed: 0,
                reason: format!("held back by {gate}"),
            }));
            self.held = closed;
        }
        if events.is_empty() {
            return;
        }
        let recording = self.window.recording;
        let newest = recording.messages[..self.window.next].last();
        self.steps.push(Step {
            request: self.request + 1,
            turn: self.turns.last().map_or(0, |turn| turn.turn),
            line: newest.map_or(0, |message| message.line),
            before,
            after,
            events,
        });
    }

    fn send(&mut self) {
        self.request += 1;
        let sent = self.costs.own.sent;
        self.window.send(&mut self.costs);
        let sent = self.costs.own.sent - sent;
        self.windows.push(sent);
        if let Some(turn) = self.turns.last_mut() {
            turn.requests += 1;
            turn.sent += sent;
        }
    }

    fn finish(mut self) -> PolicyReplay {
        self.end_turn();
        self.window.end(&mut self.costs);
        let policy = self.player.policy;
        PolicyReplay {
            policy: policy.name.clone(),
            done: self.done,
            tokens: self.costs.tokens,
            own: self.costs.own,
            estimator: self.player.estimator.name().into(),
            threshold: policy.threshold(),
            windows: self.windows,
            turns: self.turns,
            steps: self.steps,
        }
    }
}

impl<'p> Replayer<'p> {
    /// Several policies.
    ///
    /// # Errors
    /// None for a program that passes its tests.
    pub fn new(players: Vec<Player<'p>>) -> Result<Self> {
        let alike = Estimator::new(&preset("")?.tokens)?;
        Ok(Replayer { players, alike })
    }

    /// The name of the estimator for figures that are compared.
    pub fn estimator(&self) -> &'static str {
        self.alike.name()
    }

    /// Plays one session under each of the policies.
    pub fn replay(&self, recording: &Recording) -> SessionReplay {
        let players = self.players.par_iter();
        let policies = players.map(|player| player.play(recording, &self.alike).finish());
        let typed = recording.messages.iter();
        let typed = typed.filter(|message| message.typed == Typed::Yes);
        SessionReplay {
            id: recording.id.clone(),
            messages: recording.messages.len() as u64,
            turns: typed.count() as u64,
            requests: recording.answers().count() as u64,
            whole: self.whole(recording),
            policies: policies.collect(),
        }
    }

    /// The cost of a session without compaction.
    fn whole(&self, recording: &Recording) -> Figures {
        let format = recording.format;
        let mut warnings = crate::format::Warnings::default();
        let transcript: Transcript<'_> = format.read(&recording.bytes, 1, &mut warnings);
        let conversation = &transcript.conversations[0];
        let growth = Sizes::new(self.alike.clone()).growth(&transcript, conversation);
        let before = |answer: usize| answer.checked_sub(1).map_or(0, |n| growth[n]);
        Figures {
            sent: recording.answers().map(before).sum(),
            cache_lost: 0,
            peak: recording.answers().map(before).max().unwrap_or(0),
            last: growth.last().copied().unwrap_or(0),
        }
    }
}
