//! Tests with hand-written rollouts: who wrote an item, and which calls failed.

use crate::format::{Format, Warnings};
use crate::transcript::{BlockKind, LineKind, Outcome, Role, Transcript, Typed};

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"t","type":"{kind}","payload":{{{payload}}}}}"#)
}

fn said(words: &str) -> String {
    line(
        "response_item",
        &format!(
            r#""type":"message","role":"user","content":[{{"type":"input_text","text":"{words}"}}]"#
        ),
    )
}

fn read(lines: &[String]) -> Transcript<'static> {
    let header = line("session_meta", r#""id":"s","cwd":"/w""#);
    let text = format!("{header}\n{}\n", lines.join("\n"));
    Format::Codex.read(text.into_bytes().leak(), 1, &mut Warnings::default())
}

#[test]
fn what_the_agent_says_of_a_goal_is_not_typed_and_answers_no_call() {
    let transcript = read(&[
        said("make it green"),
        said("<codex_internal_context source=\\\"goal\\\">\\nContinue.</codex_internal_context>"),
        line(
            "response_item",
            r#""type":"function_call_output","id":"f","name":"goal_objective","namespace":"agent","output":"make all tests green""#,
        ),
    ]);
    let conversation = &transcript.conversations[0];
    let typed: Vec<Typed> = conversation.messages.iter().map(|m| m.typed).collect();
    assert_eq!(typed, [Typed::Yes, Typed::No, Typed::No]);
    let goal = &conversation.messages[2];
    assert_eq!(goal.role, Role::User);
    let block = transcript.block(conversation.blocks(goal)[0]);
    assert_eq!(block.kind, BlockKind::Text);
    assert_eq!(transcript.block_text(block), "make all tests green");
    assert!(Format::Codex.verify(&transcript).is_empty());
}

#[test]
fn what_only_begins_like_a_message_of_the_agents_is_typed() {
    const NOTES: [(&str, &str); 8] = [
        (
            "# AGENTS.md instructions for /w\\n\\n<INSTRUCTIONS>\\n",
            "</INSTRUCTIONS>",
        ),
        ("<environment_context>\\n", "</environment_context>\\n"),
        ("<user_instructions>", "</user_instructions>"),
        ("<turn_aborted>", "</turn_aborted>"),
        ("<skill>\\n", "\\n</skill>"),
        ("<goal_context>", "</goal_context>"),
        ("<system-reminder>", "</system-reminder>"),
        ("<local-command-stdout>", "</local-command-stdout>"),
    ];
    for (begin, end) in NOTES {
        let typed = |words: String| {
            let transcript = read(&[said(&words)]);
            transcript.conversations[0].messages[0].typed
        };
        assert_eq!(typed(format!("{begin}x{end}")), Typed::No, "{begin}");
        assert_eq!(typed(format!("{begin} is odd")), Typed::Yes, "{begin}");
        let pasted = format!("{begin}x{end}\\nI pasted this, why?");
        assert_eq!(typed(pasted), Typed::Yes, "{begin}");
    }
}

#[test]
fn a_call_that_the_agent_did_not_carry_out_has_failed() {
    let transcript = read(&[
        said("go"),
        line(
            "response_item",
            r#""type":"custom_tool_call","call_id":"a","name":"apply_patch","input":"x""#,
        ),
        line(
            "response_item",
            r#""type":"custom_tool_call_output","call_id":"a","output":"apply_patch verification failed: no""#,
        ),
    ]);
    let conversation = &transcript.conversations[0];
    let last = conversation.all_blocks().last().unwrap().1;
    assert_eq!(transcript.block(last).outcome, Outcome::Failed);
}

#[test]
fn the_usage_of_a_request_is_known() {
    let transcript = read(&[
        said("go"),
        line(
            "token_usage_record",
            r#""thread_id":"s","usage":{"input_tokens":1}"#,
        ),
    ]);
    assert_eq!(transcript.lines()[2].kind, LineKind::Session);
}

#[test]
fn each_of_many_turns_that_were_taken_back_is_dead() {
    const MANY: usize = 30_000;
    let back = line("event_msg", r#""type":"thread_rolled_back","num_turns":1"#);
    let mut lines = vec![said("go")];
    for _ in 0..MANY {
        lines.extend([said("left"), back.clone()]);
    }
    // Turns, the last of which are rolled back one by one.
    lines.extend(vec![said("left"); 3]);
    lines.extend(vec![back; 3]);
    lines.push(said("on"));
    let transcript = read(&lines);
    let dead = Format::Codex.dead(&transcript).drop;
    assert_eq!(dead.len(), 2 * MANY + 6);
    assert!(!dead.contains(&1) && dead.contains(&2));
}

#[test]
fn a_message_of_another_agent_begins_a_turn_that_is_taken_back() {
    let of_agent = line(
        "response_item",
        r#""type":"agent_message","author":"/root/w","recipient":"/root","content":[{"type":"input_text","text":"done"}]"#,
    );
    let back = line("event_msg", r#""type":"thread_rolled_back","num_turns":1"#);
    let transcript = read(&[said("go"), said("keep"), of_agent, back, said("on")]);
    let dead = Format::Codex.dead(&transcript).drop;
    let dead: Vec<u32> = dead.into_iter().collect();
    assert!(!dead.contains(&2) && dead.contains(&3), "{dead:?}");
}
