//! Old messages become a summary: which conversations, what it says, and the transcript with it.
//!
//! The main conversation comes first: a task that it no longer holds takes its sidechain along, and that needs no summary
//! then. What a summary tells is taken from the input as it was read, before anything was cleared.

use std::collections::BTreeMap;

use super::{Input, Pipeline, Rejected};
use crate::apply;
use crate::artifacts::{Reply, Unread, recents};
use crate::facts::{Left, said};
use crate::format::{self, Format, Revision, Splice, Warnings};
use crate::ids::IdSet;
use crate::outcome::{Action, ActionKind, ConversationOutcome, Rejection, TargetOutcome, Warning};
use crate::plan::{Cutter, Due, due, may_be_due};
use crate::policy::{History, Source, UserWords};
use crate::settle::{Settled, Summarised, Summing};
use crate::text::count;
use crate::tokens::Sizes;
use crate::transcript::{Conversation, ConversationId, Role, Transcript, Typed};

/// What came of summarising, for one conversation.
#[derive(Debug)]
pub(super) struct Told {
    /// The conversation in the input.
    pub(super) id: ConversationId,
    /// The same conversation in the result.
    pub(super) id_after: String,
    /// The line (from 0) and the number (from 0) of the first message that a summary replaces.
    pub(super) first: (u32, usize),
    /// Why it was summarised; why not, where it was not.
    pub(super) why: String,
    /// What came of it.
    pub(super) settled: Settled,
}

/// What came of summarising a transcript.
#[derive(Debug, Default)]
pub(super) struct Telling {
    /// The conversations that were looked at.
    pub(super) told: Vec<Told>,
    /// The user's words that no longer stand as they were written.
    pub(super) warnings: Vec<Warning>,
    /// Why the result cannot stand, if it cannot.
    pub(super) rejected: Option<Rejected>,
}

impl Telling {
    /// The summaries that were made, with the conversations that they were made of.
    pub(super) fn summaries(&self) -> impl Iterator<Item = (&Told, &Summarised)> {
        self.told.iter().filter_map(|told| match &told.settled {
            Settled::Summarised(summarised) => Some((told, summarised.as_ref())),
            Settled::Stays { .. } => None,
        })
    }
}

impl Told {
    /// Puts what came of it into the conversation's outcome.
    pub(super) fn report(&self, first_line: u64, outcome: &mut ConversationOutcome) {
        match &self.settled {
            Settled::Stays { tried, target, .. } => {
                outcome.summary.clone_from(tried);
                outcome.target = *target;
            }
            Settled::Summarised(summarised) => {
                let action = Action {
                    kind: ActionKind::Summarize,
                    line: u64::from(self.first.0) + first_line,
                    message: self.first.1 as u64 + 1,
                    tool: None,
                    reason: self.why.clone(),
                    tokens_before: summarised.replaced,
                    tokens_after: summarised.tokens,
                };
                outcome.actions.push(action);
                let restored = summarised.restored.iter().map(|restored| Action {
                    kind: ActionKind::Restore,
                    line: u64::from(self.first.0) + first_line,
                    message: self.first.1 as u64 + 1,
                    tool: None,
                    reason: restored.path.clone(),
                    tokens_before: 0,
                    tokens_after: restored.tokens,
                });
                outcome.actions.extend(restored);
                outcome.summary = Some(summarised.outcome.clone());
                outcome.restored.clone_from(&summarised.restored);
                outcome.target = summarised.target;
            }
        }
    }

    /// What came of it, for people.
    pub(super) fn in_words(&self) -> String {
        match &self.settled {
            Settled::Summarised(summarised) => {
                let messages = count(summarised.outcome.messages, "message");
                format!("{messages} summarised: {}", self.why)
            }
            Settled::Stays { .. } => format!("not summarised: {}", self.why),
        }
    }
}

/// What the free layers have seen and done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Free<'f> {
    /// The live tokens of the conversations of the input.
    pub(super) before: &'f BTreeMap<ConversationId, u64>,
    /// The results that were replaced, by their blocks in the input.
    pub(super) replaced: &'f IdSet<u32>,
}

/// The input as it was read, where a summary has to know it.
struct Original<'a> {
    transcript: Transcript<'a>,
    by_id: BTreeMap<ConversationId, usize>,
}

/// A conversation that is summarised, by its number in the transcript as it is now.
struct Made {
    number: usize,
    told: Told,
    /// The messages that the conversation has afterwards.
    messages: usize,
    /// The id of the line that it begins with afterwards, in formats whose lines have one.
    begins: Option<String>,
}

impl Pipeline<'_> {
    /// Summarises what is due after the free layers.
    pub(super) fn summarise(
        &self,
        input: Input<'_>,
        transcript: &mut Transcript<'_>,
        sizes: &mut Sizes,
        free: Free<'_>,
    ) -> Telling {
        let mut telling = Telling::default();
        let mut original = None;
        let mut next_reply = 0;
        for is_main in [true, false] {
            let mut made = Vec::new();
            for number in 0..transcript.conversations.len() {
                let conversation = &transcript.conversations[number];
                let is_aside = matches!(conversation.id, ConversationId::Sidechain(_));
                if is_aside == is_main {
                    continue;
                }
                let total = sizes.conversation(transcript, conversation);
                if !may_be_due(self.policy, total) {
                    continue;
                }
                let original = original.get_or_insert_with(|| Original::read(input));
                let told = self.settled(
                    (input, free),
                    (transcript, number),
                    original,
                    sizes,
                    &mut next_reply,
                    &mut telling.warnings,
                );
                if let Settled::Summarised(summarised) = &told.settled {
                    let conversation = &transcript.conversations[number];
                    let source = original.of(transcript, conversation);
                    telling
                        .warnings
                        .extend(self.unsaid(input, source, summarised));
                    made.push(Made {
                        number,
                        messages: messages_after(conversation, summarised),
                        begins: None,
                        told,
                    });
                } else {
                    telling.told.push(told);
                }
            }
            let (told, rejected) = self.spliced(input.format, transcript, made);
            telling.told.extend(told);
            telling.rejected = telling.rejected.or(rejected);
        }
        telling
    }

    /// What becomes of one conversation.
    fn settled(
        &self,
        (input, free): (Input<'_>, Free<'_>),
        (transcript, number): (&Transcript<'_>, usize),
        original: &Original<'_>,
        sizes: &mut Sizes,
        next_reply: &mut usize,
        warnings: &mut Vec<Warning>,
    ) -> Told {
        let conversation = &transcript.conversations[number];
        let (source, was) = original.of(transcript, conversation);
        let left = self.earlier.left(source, was);
        let cutter = Cutter::new(transcript, conversation, &left);
        let now = sizes.messages(transcript, conversation);
        let mut summing = Summing {
            transcript: source,
            conversation: was,
            left: &left,
            earlier: &self.earlier,
            first_line: input.first_line,
            sizes: &now,
            before: free.before.get(&conversation.id).copied().unwrap_or(0),
            cutter: &cutter,
            reply: None,
            recents: &[],
            replaced: free.replaced,
            summaries: input.format.summaries(),
            estimator: &self.estimator,
            policy: self.policy,
        };
        let total = self.estimator.total(now.iter().copied());
        let (settled, why) = match due(
            self.policy,
            &cutter,
            &summing.tokens(),
            total,
            summing.system(),
        ) {
            Due::No(why) => (
                Settled::Stays {
                    why: why.clone(),
                    tried: None,
                    target: None,
                },
                why,
            ),
            Due::Yes(cut, why) => {
                let reply = summing
                    .has_work(cut)
                    .then(|| self.ask(next_reply))
                    .flatten();
                summing.reply = reply.as_ref();
                let (recents, unread) = recents(
                    source,
                    was,
                    self.policy,
                    &self.placeholders,
                    self.root.as_ref(),
                );
                summing.recents = &recents;
                match summing.settle(cut) {
                    Settled::Stays { why, tried, target } => {
                        let reason = why.clone();
                        (Settled::Stays { why, tried, target }, reason)
                    }
                    settled @ Settled::Summarised(_) => {
                        warnings.extend(unread.into_iter().map(not_read));
                        (settled, why)
                    }
                }
            }
        };
        let is_first = |n: &usize| conversation.messages[*n].role != Role::System;
        let first = (0..conversation.messages.len()).find(is_first).unwrap_or(0);
        let line = was
            .messages
            .get(first)
            .map_or(0, |message| was.first_line(message));
        Told {
            id: conversation.id.clone(),
            id_after: conversation.id.to_string(),
            first: (line, first),
            why,
            settled,
        }
    }

    fn ask(&self, next: &mut usize) -> Option<Reply> {
        match self.policy.summary.source {
            Source::Scripted => Some(self.replies.ask(next, self.policy.summary.tries)),
            Source::Extractive | Source::Anthropic | Source::Openai => None,
        }
    }

    /// The transcript with these summaries in it.
    fn spliced(
        &self,
        format: Format,
        transcript: &mut Transcript<'_>,
        mut made: Vec<Made>,
    ) -> (Vec<Told>, Option<Rejected>) {
        if made.is_empty() {
            return (Vec::new(), None);
        }
        let mut all = Splice::default();
        let mut edits = Vec::new();
        for Made {
            number,
            told,
            begins,
            ..
        } in &mut made
        {
            let Settled::Summarised(summarised) = &told.settled else {
                continue;
            };
            let conversation = &transcript.conversations[*number];
            let now = summarised.now;
            let summary = format::Summary {
                tail: summarised.tail,
                role: summarised.role,
                text: &summarised.text,
                acknowledgement: &summarised.acknowledgement,
                tokens_before: now,
            };
            let Some(splice) = format.splice(transcript, conversation, summary) else {
                told.settled = Settled::Stays {
                    why: "the first message that stays hangs on nothing".to_owned(),
                    tried: None,
                    target: summarised
                        .target
                        .map(|target| TargetOutcome::new(target.tokens, now)),
                };
                continue;
            };
            let saved = now.saturating_sub(summarised.total);
            edits.extend(apply::refigured(format.corrected_usage(
                transcript,
                conversation,
                saved,
            )));
            edits.extend(apply::patched(splice.patches));
            for (line, lines) in splice.inserted {
                all.inserted.entry(line).or_default().extend(lines);
            }
            all.dropped.extend(splice.dropped);
            *begins = splice.id;
        }
        edits.retain(|edit| !all.dropped.contains(&edit.line));
        let new = apply::apply(transcript, edits);
        format.edit(
            transcript,
            Revision {
                new,
                dropped: &all.dropped,
                inserted: all.inserted,
            },
        );
        let rejected = made.iter().find_map(|made| made.check(transcript));
        if self.policy.history == History::Drop {
            let dead = format.dead(transcript);
            let mut edits: Vec<_> = apply::relinked(&dead).collect();
            edits.retain(|edit| !dead.lines.contains(&edit.line));
            let new = apply::apply(transcript, edits);
            format.edit(
                transcript,
                Revision {
                    new,
                    dropped: &dead.lines,
                    inserted: BTreeMap::new(),
                },
            );
        }
        // A sidechain takes its name from its first line, which may have left.
        for made in &mut made {
            if let Some(conversation) = made.conversation(transcript) {
                made.told.id_after = conversation.id.to_string();
            }
        }
        (made.into_iter().map(|made| made.told).collect(), rejected)
    }

    /// Words of the user that the policy wants to stay as they are, and that do not.
    fn unsaid(
        &self,
        input: Input<'_>,
        (source, was): (&Transcript<'_>, &Conversation),
        summarised: &Summarised,
    ) -> Vec<Warning> {
        if self.policy.summary.user_words == UserWords::Budget {
            return Vec::new();
        }
        let left = self.earlier.left(source, was);
        let messages = was.messages.iter().enumerate().take(summarised.tail);
        let typed = messages
            .filter(|(n, message)| message.typed == Typed::Yes && left[*n] == Left::Nothing);
        let is_there = |message| {
            let mut blocks = was.blocks(message).iter().map(|b| source.block(*b));
            blocks.all(|block| {
                let said = said(source, block);
                // What the agent has put beside them is not the user's.
                said.trim_start().starts_with("<system-reminder>")
                    || summarised.text.contains(said.trim())
            })
        };
        typed
            .filter(|(_, message)| !is_there(*message))
            .map(|(_, message)| Warning {
                kind: "user_words".to_owned(),
                line: Some(u64::from(was.first_line(message)) + input.first_line),
                message: "the user's words are not all there: they are longer than summary.user_message_max, \
                          or than the target leaves room for"
                    .to_owned(),
            })
            .collect()
    }
}

impl<'a> Original<'a> {
    fn read(input: Input<'a>) -> Self {
        let mut said = Warnings::default();
        let transcript = input.format.read(input.bytes, input.first_line, &mut said);
        let by_id = transcript.conversations.iter().map(|c| c.id.clone());
        Original {
            by_id: by_id.zip(0..).collect(),
            transcript,
        }
    }

    /// A conversation as it was read; as it is now where lines that were broken make it another one.
    fn of<'s>(
        &'s self,
        transcript: &'s Transcript<'a>,
        conversation: &'s Conversation,
    ) -> (&'s Transcript<'a>, &'s Conversation) {
        let number = self.by_id.get(&conversation.id);
        let was = number.map(|number| &self.transcript.conversations[*number]);
        match was.filter(|was| was.messages.len() == conversation.messages.len()) {
            Some(was) => (&self.transcript, was),
            None => (transcript, conversation),
        }
    }
}

fn not_read((path, why): Unread) -> Warning {
    Warning {
        kind: "file_not_read".to_owned(),
        line: None,
        message: format!("not read below the files' folder: {path}: {}", why.reason()),
    }
}

fn messages_after(conversation: &Conversation, summarised: &Summarised) -> usize {
    let system = |n: &usize| conversation.messages[*n].role == Role::System;
    let new = if summarised.acknowledgement.is_empty() {
        1
    } else {
        2
    };
    (0..summarised.tail).filter(system).count() + new + conversation.messages.len()
        - summarised.tail
}

impl Made {
    /// The conversation in the transcript with the summary in it.
    fn conversation<'c>(&self, transcript: &'c Transcript<'_>) -> Option<&'c Conversation> {
        let Some(id) = &self.begins else {
            return transcript.conversations.get(self.number);
        };
        let begins = |c: &&Conversation| {
            let first = c.path.first().copied();
            first.is_some_and(|line| {
                let link = transcript.links()[line as usize];
                transcript.bytes(line, link.id) == id.as_bytes()
            })
        };
        transcript.conversations.iter().find(begins)
    }

    /// Whether what was to stay is still there: an agent that meets a missing link loses the rest without a word, and so
    /// would we.
    fn check(&self, transcript: &Transcript<'_>) -> Option<Rejected> {
        let Settled::Summarised(_) = self.told.settled else {
            return None;
        };
        let conversation = self.conversation(transcript);
        let there = conversation.map_or(0, |c| c.messages.len());
        (there != self.messages).then(|| Rejected {
            why: Rejection::LostMessages,
            message: format!(
                "the result would have {there} instead of {} in conversation {}",
                count(self.messages as u64, "message"),
                self.told.id
            ),
            line: None,
        })
    }
}
