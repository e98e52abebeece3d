//! Old messages become a summary: which conversations, what it says, and the transcript with it.
//!
//! The main conversation comes first: a task that it no longer holds takes its sidechain along, and that needs no summary
//! then. What a summary tells is taken from the input as it was read, before anything was cleared.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::asking::ToTell;
use super::results::{Telling, Told};
use super::splice::{Made, messages_after};
use super::target::{Crowd, Outputs};
use super::work::Words;
use super::{Input, Pipeline, Round, Summaries, Work};
use crate::apply::apply;
use crate::artifacts::{NotRead, Refused, Reply, Unread, recents, returned};
use crate::facts::{Asked, Left};
use crate::format::Warnings;
use crate::ids::IdSet;
use crate::outcome::{Degraded, DegradedKind, Warning, WarningKind};
use crate::plan::{Cutter, Due, Force, Goal, Live, due, forced, is_skipped, may_be_due};
use crate::policy::{Layer, Source};
use crate::settle::{Lost, Settled, Summarised, Summing};
use crate::text::count;
use crate::transcript::{Conversation, ConversationId, Role, Transcript};

/// The input as it was read, where a summary has to know it.
struct Original<'a> {
    transcript: Transcript<'a>,
    by_id: BTreeMap<ConversationId, usize>,
}

impl Pipeline<'_> {
    /// Summarises what is due after the free layers; `round` says what these have replaced.
    pub(super) fn summarise(
        &self,
        work: &mut Work<'_, '_>,
        round: &mut Round,
        outside: Summaries,
    ) -> Telling {
        let mut telling = Telling::default();
        let mut original = None;
        for is_main in [true, false] {
            let mut made = Vec::new();
            for number in 0..work.transcript.conversations.len() {
                let conversation = &work.transcript.conversations[number];
                let is_aside = matches!(conversation.id, ConversationId::Sidechain(_));
                if is_aside == is_main {
                    continue;
                }
                let force = match outside {
                    Summaries::Forced => Force::Outside("the last answer broke off".to_owned()),
                    Summaries::Due | Summaries::Asked | Summaries::Never => {
                        self.forced(work, conversation)
                    }
                };
                if outside == Summaries::Asked && force == Force::No {
                    continue;
                }
                let total = work.sizes.conversation(&work.transcript, conversation);
                if !may_be_due(self.policy, total, &force) {
                    continue;
                }
                if is_skipped(self.policy, &work.transcript, conversation) {
                    telling.told.push(Told::left_alone(&conversation.id));
                    continue;
                }
                let original = original.get_or_insert_with(|| self.original(work));
                let original = original.as_ref();
                let mut outputs = Outputs::AsTheyAre;
                let told = loop {
                    let settled = self.settled(
                        (work, number, &outputs),
                        original,
                        (&force, &round.replaced),
                        &mut telling,
                    );
                    match settled {
                        Ok(told) => break told,
                        Err((crowd, due)) => {
                            self.make_room(work, number, crowd, round);
                            outputs = Outputs::Fitted { due };
                        }
                    }
                };
                let conversation = &work.transcript.conversations[number];
                if let Settled::Summarised(summarised) = &told.settled {
                    telling.warnings.extend(unsaid(work.input, summarised));
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
            let (told, rejected) = self.spliced(work, made);
            telling.told.extend(told);
            telling.rejected = telling.rejected.or(rejected);
        }
        telling
    }

    fn forced(&self, work: &Work<'_, '_>, conversation: &Conversation) -> Force {
        let Work {
            input, transcript, ..
        } = work;
        forced(input.format, self.policy, transcript, conversation)
    }

    /// What a summary takes its words from, where that is not the transcript as it is now.
    fn original<'a>(&self, work: &Work<'a, '_>) -> Option<Original<'a>> {
        if work.source == Words::Now {
            return None;
        }
        let mut original = Original::read(work.input);
        self.mask(work.input, &mut original.transcript);
        let offload = &self.policy.offload;
        if self.policy.has(Layer::Offload) && offload.restore_before_summary {
            let transcript = &mut original.transcript;
            let returned = returned(transcript, self.policy, work.input.place.store);
            apply(work.input.format, transcript, returned);
        }
        Some(original)
    }

    /// The live tokens of a conversation before anything was compacted, as far as its summaries or the store know.
    fn original_tokens(
        &self,
        input: Input<'_, '_>,
        (transcript, conversation, left): (&Transcript<'_>, &Conversation, &[Left]),
        before: u64,
    ) -> u64 {
        if !self.policy.target.is_share() {
            return before;
        }
        let noted = self.earlier.original(transcript, conversation, left);
        let recorded = input.place.originals.and_then(|originals| {
            let id = input.id_of(conversation);
            originals.get(&id).copied()
        });
        [noted, recorded]
            .into_iter()
            .flatten()
            .fold(before, u64::max)
    }

    /// What becomes of one conversation; or what has to become smaller first, so that there is room for the summary that is
    /// due, and why it is.
    fn settled(
        &self,
        (work, number, outputs): (&mut Work<'_, '_>, usize, &Outputs),
        original: Option<&Original<'_>>,
        (force, replaced): (&Force, &IdSet<u32>),
        telling: &mut Telling,
    ) -> Result<Told, (Crowd, String)> {
        let Work {
            input,
            transcript,
            sizes,
            before,
            next_reply,
            ..
        } = work;
        let transcript = &*transcript;
        let conversation = &transcript.conversations[number];
        let (source, was) = Original::of(original, transcript, conversation);
        let left = self.earlier.left(source, was);
        let cutter = Cutter::new(transcript, conversation, &left);
        let now = sizes.messages(transcript, conversation);
        let instructions = instructions(&self.policy.summary.instructions, force);
        let before = before.get(&conversation.id).copied().unwrap_or(0);
        let mut summing = Summing {
            transcript: source,
            conversation: was,
            left: &left,
            earlier: &self.earlier,
            first_line: input.first_line,
            sizes: &now,
            before,
            goal: None,
            original: None,
            cutter: &cutter,
            reply: None,
            told: None,
            invented: 0,
            recents: None,
            replaced,
            summaries: input.format.dialect().summaries(),
            estimator: &self.estimator,
            instructions: &instructions,
            archive: input.place.archive.unwrap_or_default(),
            policy: self.policy,
        };
        let total = self.estimator.total(now.iter().copied());
        let original = self.original_tokens(*input, (source, was, &left), before);
        let goal = Goal::of(&self.policy.target, original, summing.system());
        summing.goal = goal;
        summing.original = self.policy.target.is_share().then_some(original);
        let live = Live {
            tokens: &summing.tokens(),
            total,
            system: summing.system(),
            goal,
        };
        let due = due(self.policy, force, &cutter, live);
        // What was due stays so, unless the target holds already.
        let due = match (due, outputs) {
            (Due::No(_), Outputs::Fitted { due: why })
                if goal.is_some_and(|goal| total > goal.cap()) =>
            {
                let cut = cutter.by_policy(&self.policy.summary, &summing.tokens());
                Due::Yes(cut, why.clone())
            }
            (due, Outputs::AsTheyAre | Outputs::Fitted { .. }) => due,
        };
        let (settled, why) = match due {
            Due::No(why) => {
                let goal = goal.filter(|_| *outputs != Outputs::AsTheyAre);
                let stays = Settled::Stays {
                    why: why.clone(),
                    tried: None,
                    target: goal.map(|goal| goal.outcome(total)),
                };
                (stays, why)
            }
            Due::Yes(cut, why) => {
                if *outputs == Outputs::AsTheyAre
                    && let Some(crowd) = self.crowd((transcript, number), &cutter, &summing)
                {
                    return Err((crowd, why));
                }
                let is_asked = self.policy.summary.source != Source::Extractive;
                let to_tell = is_asked.then(|| summing.to_tell(cut)).flatten();
                let answer = to_tell.and_then(|(tail, tokens)| {
                    summing.told = Some(tail);
                    let to_tell = ToTell {
                        versions: [(source, was), (transcript, conversation)],
                        tail,
                        tokens,
                        instructions: &instructions,
                    };
                    self.ask(*input, next_reply, to_tell)
                });
                if let Some(answer) = &answer {
                    summing.reply = Some(&answer.reply);
                    summing.invented = answer.invented;
                    telling.warnings.extend(unread(*input, &answer.reply));
                    telling.degraded.extend(failed(&answer.reply));
                }
                let (recents, unread) = recents(
                    source,
                    was,
                    self.policy,
                    &self.placeholders,
                    self.root.as_ref(),
                );
                summing.recents = recents.as_ref();
                match summing.settle(cut) {
                    Settled::Stays { why, tried, target } => {
                        let reason = why.clone();
                        (Settled::Stays { why, tried, target }, reason)
                    }
                    settled @ Settled::Summarised(_) => {
                        telling.warnings.extend(unread.into_iter().map(not_read));
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
        Ok(Told {
            id: conversation.id.clone(),
            id_after: conversation.id.to_string(),
            first: (line, first),
            why,
            settled,
        })
    }
}

impl<'a> Original<'a> {
    fn read(input: Input<'a, '_>) -> Self {
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
        original: Option<&'s Self>,
        transcript: &'s Transcript<'a>,
        conversation: &'s Conversation,
    ) -> (&'s Transcript<'a>, &'s Conversation) {
        let was = original.and_then(|original| {
            let number = original.by_id.get(&conversation.id)?;
            let was = &original.transcript.conversations[*number];
            let is_same = was.messages.len() == conversation.messages.len();
            is_same.then_some((&original.transcript, was))
        });
        was.unwrap_or((transcript, conversation))
    }
}

/// Why there is no summary where one was asked for.
fn failed(reply: &Reply) -> Option<Degraded> {
    match &reply.text {
        Err(Refused::Failed(why)) => Some(Degraded {
            kind: DegradedKind::SummaryFailed,
            message: format!("no summary could be had: {why}"),
        }),
        Err(Refused::Pending) | Ok(_) => None,
    }
}

/// The rounds that a model was not given because they were too much for it.
fn unread(input: Input<'_, '_>, reply: &Reply) -> Option<Warning> {
    (reply.unread > 0).then(|| Warning {
        kind: WarningKind::NotSummarised,
        line: Some(input.first_line),
        message: format!(
            "the model could not read all at once: its summary does not tell of the oldest {}",
            count(reply.unread, "round")
        ),
    })
}

/// The lines of typed messages that are not all there, and of pictures that are not there.
fn unsaid(input: Input<'_, '_>, summarised: &Summarised) -> Vec<Warning> {
    let (lines, why) = &summarised.lost;
    let message = match why {
        Lost::TooLong => {
            "typed messages are clipped: they are longer than summary.user_message_max"
        }
        Lost::Target => {
            "typed messages are clipped or left out: the target leaves no room for them"
        }
        Lost::Policy => {
            "typed messages are told in part or not at all, as the policy has it (summary.user_words)"
        }
    };
    let warning = |kind, message: &str, line: &u32| Warning {
        kind,
        line: Some(u64::from(*line) + input.first_line),
        message: message.to_owned(),
    };
    let words = lines
        .iter()
        .map(|line| warning(WarningKind::UserWords, message, line));
    let pictures = summarised.pictures.iter();
    let pictures = pictures.map(|line| warning(WarningKind::Pictures, PICTURES, line));
    words.chain(pictures).collect()
}

/// What is said of pictures that left.
const PICTURES: &str = "pictures or documents beside typed messages left with what was summarised";

fn not_read((path, why): Unread) -> Warning {
    let (kind, what) = match why {
        NotRead::Secret => (WarningKind::FileWithheld, "not put back"),
        NotRead::Outside
        | NotRead::Missing
        | NotRead::NoFile
        | NotRead::NoText
        | NotRead::Refused => (WarningKind::FileNotRead, "not read below the files' folder"),
    };
    Warning {
        kind,
        line: None,
        message: format!("{what}: {path}: {}", why.reason()),
    }
}

/// What a summary must keep: the policy's words and those of the agent that asked for it.
fn instructions<'i>(own: &'i str, force: &'i Force) -> Cow<'i, str> {
    match force {
        Force::Asked(Asked { focus, .. }) if own.is_empty() => Cow::Borrowed(focus),
        Force::Asked(Asked { focus, .. }) if !focus.is_empty() => {
            Cow::Owned(format!("{own}\n{focus}"))
        }
        Force::Asked(_) | Force::No | Force::Broke(_) | Force::Outside(_) => Cow::Borrowed(own),
    }
}
