//! Which old results go to the store: those in the first share of the messages, once a conversation is large enough.
//!
//! PURE. System messages do not count among the messages. Whether a result is long enough, and whether its name is any
//! shorter, is settled afterwards.

use super::{Clear, Demote, Offload, Plan, ResultPlan, Superseded, calls, is_skipped, may_leave};
use crate::policy::{Layer, Policy};
use crate::transcript::{BlockKind, Role, Transcript};

/// Whether a conversation of so many live tokens is large enough for results to be offloaded.
pub fn may_offload(policy: &Policy, total: u64) -> bool {
    policy.has(Layer::Offload) && policy.trigger.compare.holds(total, policy.offload.tokens)
}

/// Plans the offload of a transcript whose conversations have so many live tokens. It takes a store to do it.
pub fn offload(transcript: &Transcript<'_>, policy: &Policy, totals: &[u64]) -> Plan<'static> {
    let mut plan = Plan::default();
    if !policy.has(Layer::Offload) {
        return plan;
    }
    for ((number, conversation), total) in (0..).zip(&transcript.conversations).zip(totals) {
        if !may_offload(policy, *total) || is_skipped(policy, transcript, conversation) {
            continue;
        }
        let all = 0..conversation.messages.len();
        let is_counted = |n: &usize| conversation.messages[*n].role != Role::System;
        let mut counted = all.clone().filter(is_counted);
        let old = (policy.offload.share * counted.clone().count() as f64).floor() as usize;
        // The first message that is not old.
        let end = counted.nth(old).unwrap_or(all.end);
        let calls = calls(transcript, conversation);
        for (message, block) in conversation.all_blocks() {
            let result = transcript.block(block);
            let is_old = message < end && result.kind == BlockKind::Result;
            if !is_old || !may_leave(transcript, result) {
                continue;
            }
            let id = transcript.bytes(result.line, result.call_id);
            plan.results.push(ResultPlan {
                conversation: number,
                message: message as u32,
                block,
                named_by: calls.get(id).copied().unwrap_or(block),
                superseded: Superseded::No,
                demote: Demote::No,
                clear: Clear::No,
                offload: Offload::Candidate,
            });
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};
    use crate::policy::preset;

    /// The messages of the results that are candidates in a conversation of a system message and `pairs` calls with their
    /// results, when it has so many tokens.
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
        plan.results.iter().map(|result| result.message).collect()
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
