//! Whether a conversation is summarised: over the trigger, and worth it.
//!
//! PURE. Counts are those after the free layers. The reason either way is for people.

use super::{Cut, Cutter};
use crate::policy::{Layer, Policy, SummaryWhen};
use crate::text::thousands;

/// Whether a conversation is summarised, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// It is; the cut is the policy's.
    Yes(Cut, String),
    /// It is not.
    No(String),
}

/// Whether a policy could summarise a conversation that has at most `total` tokens: what has to be looked at closely.
pub fn may_be_due(policy: &Policy, total: u64) -> bool {
    policy.has(Layer::Summarize)
        && match policy.summary.when {
            SummaryWhen::Never => false,
            SummaryWhen::Always => true,
            SummaryWhen::Auto => policy
                .threshold()
                .is_some_and(|threshold| policy.trigger.compare.holds(total, threshold)),
        }
}

/// Whether a conversation of `total` tokens is summarised; `tokens` are those of each message, and `system` those of its
/// system messages, which nothing can save.
pub fn due(policy: &Policy, cutter: &Cutter<'_>, tokens: &[u64], total: u64, system: u64) -> Due {
    let no = |why: &str| Due::No(why.to_owned());
    if !policy.has(Layer::Summarize) || policy.summary.when == SummaryWhen::Never {
        return no("summaries are off");
    }
    let cut = cutter.by_policy(&policy.summary, tokens);
    let why = match (policy.summary.when, policy.threshold()) {
        (SummaryWhen::Always, _) => "asked for".to_owned(),
        (SummaryWhen::Auto | SummaryWhen::Never, None) => return no("no threshold is set"),
        (SummaryWhen::Auto | SummaryWhen::Never, Some(threshold)) => {
            let now = thousands(total);
            if !policy.trigger.compare.holds(total, threshold) {
                return Due::No(format!(
                    "{now} tokens do not reach the trigger of {}",
                    thousands(threshold)
                ));
            }
            // As the published system counts it: what the policy keeps, before the cut is moved.
            let kept: u64 = tokens[cut.asked.min(tokens.len())..].iter().sum();
            let savings = total.saturating_sub(kept).saturating_sub(system);
            let least = policy.trigger.min_savings;
            if savings < least {
                return Due::No(format!(
                    "only {} tokens stand before the kept messages, fewer than {}",
                    thousands(savings),
                    thousands(least)
                ));
            }
            format!("{now} tokens, over the trigger of {}", thousands(threshold))
        }
    };
    Due::Yes(cut, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Left;
    use crate::format::{Format, Warnings};
    use crate::policy::{Compare, TriggerOn, preset};

    /// What is said of four messages of these tokens under the default policy with some keys changed.
    fn said(keys: impl FnOnce(&mut Policy)) -> (bool, String) {
        let mut policy = preset("").unwrap();
        policy.summary.keep_messages = 1;
        policy.summary.keep_tokens = 0;
        (policy.trigger.on, policy.trigger.tokens) = (TriggerOn::Tokens, 99);
        keys(&mut policy);
        let lines = [
            r#"{"role":"system","content":"be kind"}"#,
            r#"{"role":"user","content":"do it"}"#,
            r#"{"role":"assistant","content":"so"}"#,
            r#"{"role":"user","content":"go on"}"#,
        ];
        let bytes = lines.join("\n").into_bytes();
        let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
        let left = [Left::Nothing; 4];
        let cutter = Cutter::new(&transcript, &transcript.conversations[0], &left);
        // 100 tokens in all, 10 of them the system's, 30 in the last message.
        let due = due(&policy, &cutter, &[0, 20, 40, 30], 100, 10);
        assert_eq!(matches!(due, Due::Yes(..)), {
            let may_be = may_be_due(&policy, 100);
            may_be && !matches!(&due, Due::No(why) if why.starts_with("only"))
        });
        match due {
            Due::Yes(cut, why) => {
                assert_eq!(cut.tail, 3);
                (true, why)
            }
            Due::No(why) => (false, why),
        }
    }

    #[test]
    fn the_trigger_decides_unless_it_is_not_asked() {
        let yes = |why: &str| (true, why.to_owned());
        let no = |why: &str| (false, why.to_owned());
        assert_eq!(said(|_| {}), yes("100 tokens, over the trigger of 99"));
        let below = no("100 tokens do not reach the trigger of 100");
        assert_eq!(said(|policy| policy.trigger.tokens = 100), below);
        let at_least = said(|policy| {
            policy.trigger.tokens = 100;
            policy.trigger.compare = Compare::AtLeast;
        });
        assert_eq!(at_least, yes("100 tokens, over the trigger of 100"));
        assert_eq!(
            said(|policy| policy.trigger.tokens = 0),
            no("no threshold is set")
        );
        let always = said(|policy| {
            policy.trigger.tokens = 100;
            policy.trigger.min_savings = 1_000;
            policy.summary.when = SummaryWhen::Always;
        });
        assert_eq!(always, yes("asked for"));
        let off = no("summaries are off");
        assert_eq!(said(|policy| policy.summary.when = SummaryWhen::Never), off);
        assert_eq!(said(|policy| policy.layers.clear()), off);
    }

    #[test]
    fn what_stands_before_the_kept_messages_must_be_worth_it() {
        assert!(said(|policy| policy.trigger.min_savings = 60).0);
        assert_eq!(
            said(|policy| policy.trigger.min_savings = 61),
            (
                false,
                "only 60 tokens stand before the kept messages, fewer than 61".to_owned()
            )
        );
    }
}
