use crate::format::{Detected, Detector, Format, Warnings};
use crate::transcript::{LineKind, Role, Transcript, Typed};
use crate::verify::Rule;

const LOG: &str = concat!(
    r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":["Bash"],"model":"m-1","uuid":"u0"}"#,
    "\n",
    r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Read both."}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u1"}"#,
    "\n",
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I do."}},"session_id":"s","parent_tool_use_id":null,"uuid":"u2"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m1","type":"message","role":"assistant","model":"m-2","content":[{"type":"text","text":"I do."}],"usage":{"input_tokens":10}},"parent_tool_use_id":null,"session_id":"s","uuid":"u3"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m1","type":"message","role":"assistant","model":"m-2","content":[{"type":"tool_use","id":"a","name":"Task","input":{"prompt":"look"}}],"usage":{"input_tokens":10}},"parent_tool_use_id":null,"session_id":"s","uuid":"u4"}"#,
    "\n",
    r#"{"type":"assistant","message":{"id":"m2","type":"message","role":"assistant","model":"m-2","content":[{"type":"tool_use","id":"b","name":"Read","input":{"file_path":"/w/b"}}],"usage":{"input_tokens":4}},"parent_tool_use_id":"a","session_id":"s","uuid":"u5"}"#,
    "\n",
    r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"one"}]},"parent_tool_use_id":"a","session_id":"s","uuid":"u6","tool_use_result":{"file":{"content":"one"}}}"#,
    "\n",
    r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"done"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u7"}"#,
    "\n",
    r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"I do.","session_id":"s","uuid":"u8"}"#,
    "\n",
);

fn read(log: &str) -> Transcript<'_> {
    Format::ClaudeStream.read(log.as_bytes(), 1, &mut Warnings::default())
}

fn detected(log: &str) -> String {
    let mut detector = Detector::default();
    detector.look(log.as_bytes());
    match detector.decide() {
        Detected::Known(format, _) => format.name().to_owned(),
        Detected::Unsupported(why) => why.name.to_owned(),
    }
}

fn rules(log: &str) -> Vec<Rule> {
    let findings = Format::ClaudeStream.verify(&read(log));
    findings.into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn blocks_of_one_answer_are_one_message_and_a_subagent_is_a_conversation() {
    let transcript = read(LOG);
    let of = |number: usize| -> Vec<_> {
        let conversation = &transcript.conversations[number];
        let messages = conversation.messages.iter();
        messages
            .map(|m| (m.role, m.typed, conversation.blocks(m).len()))
            .collect()
    };
    assert_eq!(
        of(0),
        [
            (Role::User, Typed::Yes, 1),
            (Role::Assistant, Typed::No, 2),
            (Role::User, Typed::No, 1),
        ]
    );
    assert_eq!(
        of(1),
        [(Role::Assistant, Typed::No, 1), (Role::User, Typed::No, 1)]
    );
    assert_eq!(transcript.conversations[1].id.to_string(), "a");
    let main = &transcript.conversations[0];
    let model = Format::ClaudeStream.model(&transcript, main);
    assert_eq!(model.as_deref(), Some("m-2"));
    let recorded = Format::ClaudeStream.recorded(&transcript, main, &main.messages[1]);
    assert_eq!(recorded, Some(10));
    let kinds: Vec<LineKind> = transcript.lines().iter().map(|line| line.kind).collect();
    assert_eq!([kinds[0], kinds[2], kinds[8]], [LineKind::Session; 3]);
}

#[test]
fn it_is_no_session_and_a_session_is_no_log() {
    assert_eq!(detected(LOG), "claude-stream");
    let lines: Vec<&str> = LOG.lines().collect();
    assert_eq!(detected(&lines[3..].join("\n")), "claude-stream");
    let session = r#"{"parentUuid":null,"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    assert_eq!(detected(session), "claude-code");
    assert_eq!(detected(&format!("{LOG}{session}\n")), "mixed");
    // Another agent writes the same messages and names itself at the beginning.
    let other = LOG.replace("\"cwd\":", "\"qwen_code_version\":\"0.24.4\",\"cwd\":");
    assert_eq!(detected(&other), "qwen-stream");
    let piece = LOG.replace("\"tool_use\",\"id\":\"b\"", "\"tool_call\",\"id\":\"b\"");
    assert_eq!(detected(&piece), "unknown");
}

#[test]
fn results_answer_calls_of_their_conversation() {
    assert_eq!(rules(LOG), []);
    let lines: Vec<&str> = LOG.lines().collect();
    let but = |line: usize| [&lines[..line], &lines[line + 1..]].concat().join("\n");
    assert_eq!(rules(&but(5)), [Rule::OrphanResult]);
    // The run was stopped.
    assert_eq!(rules(&but(7)), []);
}
