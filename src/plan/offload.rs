//! Which old results go to the store: those in the first share of the messages, once a conversation is large enough.
//!
//! PURE. System messages do not count among the messages. Whether a result is long enough, and whether its name is any
//! shorter, is settled afterwards.

use super::results::{
    Candidate, Content, Limits, Reason, Results, is_only_text, is_persisted, limit,
};
use super::{Plan, Why, is_skipped};
use crate::policy::{Layer, Policy};
use crate::transcript::{Conversation, Role, Transcript};

/// Whether a conversation of this many live tokens is large enough for results to be offloaded.
pub fn may_offload(policy: &Policy, total: u64) -> bool {
    policy.has(Layer::Offload) && policy.trigger.compare.holds(total, policy.offload.tokens)
}

/// Plans the offload of a transcript, given the live tokens of each of its conversations: every old result that may go to the store,
/// or would if it were only text. Needs a store.
pub fn offload<'p>(transcript: &Transcript<'_>, policy: &'p Policy, totals: &[u64]) -> Plan<'p> {
    let mut plan = Plan::default();
    let share = policy.offload.share;
    let candidate = |content| Candidate {
        reason: Reason::Known(Why::Offloaded { share }),
        over: Limits {
            tokens: None,
            chars: limit(policy.offload.min_chars),
        },
        text: &policy.offload.text,
        content,
    };
    for (number, conversation) in transcript.conversations.iter().enumerate() {
        if !may_offload(policy, totals[number]) || is_skipped(policy, transcript, conversation) {
            continue;
        }
        let end = end_of_old(conversation, share);
        let results = Results::of(transcript, number);
        let old = results.blocks().filter(|(_, place, block)| {
            (place.message as usize) < end && !is_persisted(transcript, block)
        });
        let found = old.map(|(number, _, block)| match is_only_text(block) {
            true => (number, candidate(Content::Stored)),
            false => (number, candidate(Content::NotOnlyText)),
        });
        plan.results.extend(results.plans(found));
    }
    plan
}

/// The first message that is not among the oldest of a conversation.
fn end_of_old(conversation: &Conversation, share: f64) -> usize {
    let all = 0..conversation.messages.len();
    let is_counted = |n: &usize| conversation.messages[*n].role != Role::System;
    let mut counted = all.clone().filter(is_counted);
    let old = (share * counted.clone().count() as f64).floor() as usize;
    counted.nth(old).unwrap_or(all.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};
    use crate::policy::preset;

    /// The messages of the candidate results in a conversation of this many live tokens: a system message and `pairs` calls with
    /// their results.
    fn candidates(pairs: usize, tokens: u64, share: f64) -> Vec<u32> {
        let mut policy = preset("offload-first").unwrap();
        policy.offload.share = share;
        let mut lines = vec![r#"{"role":"system","content":"be kind"}"#.to_owned()];
        for id in 0..pairs {
            lines.push(format!(
                r#"{{"role":"assistant","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
            ));
            lines.push(format!(
                r#"{{"role":"tool","tool_call_id":"{id}","content":"so"}}"#
            ));
        }
        let bytes = lines.join("\n").into_bytes();
        let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
        let plan = offload(&transcript, &policy, &[tokens]);
        plan.results
            .iter()
            .map(|result| result.place.message)
            .collect()
    }

    #[test]
    fn the_first_half_of_the_messages_is_old_and_the_systems_do_not_count() {
        // The system message is number 0; of ten others, five are old: the results at 2 and 4.
        assert_eq!(candidates(5, 150_000, 0.5), [2, 4]);
        // Of six, three: the result at 2.
        assert_eq!(candidates(3, 150_000, 0.5), [2]);
        assert_eq!(candidates(2, 150_000, 1.0), [2, 4]);
        assert_eq!(candidates(2, 150_000, 0.0), [0; 0]);
    }

    #[test]
    fn nothing_is_old_below_the_trigger() {
        assert_eq!(candidates(5, 149_999, 0.5), [0; 0]);
    }
}
