//! Conversations of a few messages, and whether a summary of them is due.

use super::*;
use crate::facts::MessageOrigin;
use crate::format::{Format, Warnings};
use crate::policy::{Compare, TargetKind, TriggerOn, preset};

/// Whether a summary of four messages is due under the default policy with some keys changed, and the reason.
fn said(keys: impl FnOnce(&mut Policy)) -> (bool, String) {
    let mut policy = preset("").unwrap();
    policy.summary.keep_messages = 1;
    policy.summary.keep_tokens = 0;
    (policy.trigger.on, policy.trigger.tokens) = (TriggerOn::Tokens, 99);
    policy.target.tokens = 0;
    keys(&mut policy);
    let lines = [
        r#"{"role":"system","content":"be kind"}"#,
        r#"{"role":"user","content":"do it"}"#,
        r#"{"role":"assistant","content":"so"}"#,
        r#"{"role":"user","content":"go on"}"#,
    ];
    let bytes = lines.join("\n").into_bytes();
    let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
    let origins = vec![MessageOrigin::Session; 4];
    let cutter = Cutter::new(&transcript, &transcript.conversations[0], origins);
    // 100 tokens in all, 10 of them the system's, 30 in the last message.
    let live = Live {
        tokens: &[0, 20, 40, 30],
        total: 100,
        system: 10,
        goal: Goal::of(&policy.target, 100, 10),
    };
    let due = due(&policy, &Force::No, &cutter, live);
    assert_eq!(matches!(due, Due::Yes(..)), {
        let may_be = may_be_due(&policy, 100, &Force::No);
        let is_not_worth_it = |why: &str| why.starts_with("only") || why.contains("without");
        may_be && !matches!(&due, Due::No(why) if is_not_worth_it(why))
    });
    match due {
        Due::Yes(cut, why) => {
            assert_eq!(cut.first_kept, 3);
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
    assert_eq!(at_least, yes("100 tokens, at or over the trigger of 100"));
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
fn system_messages_alone_make_nothing_due_for_an_aim() {
    let keys = |tokens, kind| {
        move |policy: &mut Policy| (policy.target.tokens, policy.target.kind) = (tokens, kind)
    };
    let not = "90 tokens (without system messages) do not reach the trigger of 99";
    assert_eq!(said(keys(90, TargetKind::Aim)), (false, not.to_owned()));
    assert!(said(keys(89, TargetKind::Aim)).0);
    assert!(said(keys(90, TargetKind::Cap)).0);
    let content = |policy: &mut Policy| {
        keys(90, TargetKind::Aim)(policy);
        (policy.trigger.compare, policy.trigger.tokens) = (Compare::AtLeast, 90);
    };
    assert!(said(content).0);
}

#[test]
fn what_stands_before_the_kept_messages_must_be_worth_it() {
    assert!(said(|policy| policy.trigger.min_savings = 60).0);
    assert_eq!(
        said(|policy| policy.trigger.min_savings = 61),
        (
            false,
            "only 60 tokens precede the kept messages; at least 61 are required".to_owned()
        )
    );
}

#[test]
fn turns_over_the_trigger_keep_as_many_of_them_as_are_not() {
    let lines = [
        r#"{"role":"user","content":"do it"}"#,
        r#"{"role":"assistant","content":"so"}"#,
    ];
    let bytes = lines.repeat(3).join("\n").into_bytes();
    let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
    let origins = vec![MessageOrigin::Session; 6];
    let cutter = Cutter::new(&transcript, &transcript.conversations[0], origins);
    let tokens = [30; 6];
    let first_kept = |trigger: u64, keep_turns: u64, keep_tokens: u64| {
        let mut policy = preset("").unwrap();
        (policy.trigger.on, policy.trigger.tokens) = (TriggerOn::Tokens, trigger);
        let summary = &mut policy.summary;
        (summary.keep_messages, summary.keep_turns) = (0, keep_turns);
        summary.keep_tokens = keep_tokens;
        let cut = cutter.by_policy(&policy.summary, &tokens);
        below_trigger(&policy, &cutter, cut, &tokens).first_kept
    };
    for (trigger, keep_turns, keep_tokens, expected) in [
        (180, 3, 0, 0),
        (179, 3, 0, 2),
        (119, 3, 0, 4),
        (119, 9, 0, 4),
        // Not even the last turn: its last round, or what another rule keeps.
        (59, 2, 0, 4),
        (59, 2, 30, 4),
        (59, 2, 99, 3),
    ] {
        let cut = first_kept(trigger, keep_turns, keep_tokens);
        assert_eq!(cut, expected, "{trigger} {keep_turns} {keep_tokens}");
    }
}
