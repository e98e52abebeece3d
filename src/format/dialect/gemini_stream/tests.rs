use crate::format::{Detected, Detector, Format, Warnings};
use crate::transcript::{BlockKind, LineKind, Outcome, Role, Transcript, Typed};
use crate::verify::Rule;

const LOG: &str = concat!(
    r#"{"type":"init","timestamp":"t","session_id":"s","model":"m-1"}"#,
    "\n",
    r#"{"type":"message","timestamp":"t","role":"user","content":"Read both."}"#,
    "\n",
    r#"{"type":"message","timestamp":"t","role":"assistant","content":"I ","delta":true}"#,
    "\n",
    r#"{"type":"message","timestamp":"t","role":"assistant","content":"do.","delta":true}"#,
    "\n",
    r#"{"type":"tool_use","timestamp":"t","tool_name":"read_file","tool_id":"a","parameters":{"file_path":"/a"}}"#,
    "\n",
    r#"{"type":"tool_use","timestamp":"t","tool_name":"read_file","tool_id":"b","parameters":{"file_path":"/b"}}"#,
    "\n",
    r#"{"type":"tool_result","timestamp":"t","tool_id":"a","status":"success","output":"one \"line\""}"#,
    "\n",
    r#"{"type":"tool_result","timestamp":"t","tool_id":"b","status":"error","error":{"type":"e","message":"no such file"}}"#,
    "\n",
    r#"{"type":"error","timestamp":"t","severity":"warning","message":"loop"}"#,
    "\n",
    r#"{"type":"message","timestamp":"t","role":"assistant","content":"Done.","delta":true}"#,
    "\n",
    r#"{"type":"result","timestamp":"t","status":"success","stats":{"total_tokens":9}}"#,
    "\n",
);

fn read(log: &str) -> Transcript<'_> {
    Format::GeminiStream.read(log.as_bytes(), 1, &mut Warnings::default())
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
    let findings = Format::GeminiStream.verify(&read(log));
    findings.into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn pieces_and_calls_in_a_row_are_one_answer() {
    let transcript = read(LOG);
    let conversation = &transcript.conversations[0];
    let said = |blocks: &[u32]| -> Vec<String> {
        let blocks = blocks.iter().map(|block| transcript.block(*block));
        blocks
            .map(|block| transcript.block_text(block).into_owned())
            .collect()
    };
    let messages = conversation.messages.iter();
    let messages: Vec<_> = messages
        .map(|m| (m.role, m.typed, said(conversation.blocks(m))))
        .collect();
    let strings = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        messages,
        [
            (Role::User, Typed::Yes, strings(&["Read both."])),
            (Role::Assistant, Typed::No, strings(&["I ", "do.", "", ""])),
            (
                Role::Tool,
                Typed::No,
                strings(&["one \"line\"", "no such file"])
            ),
            (Role::Assistant, Typed::No, strings(&["Done."])),
        ]
    );
    let model = Format::GeminiStream.model(&transcript, conversation);
    assert_eq!(model.as_deref(), Some("m-1"));
}

#[test]
fn calls_have_their_names_and_results_say_whether_they_failed() {
    let transcript = read(LOG);
    let blocks = transcript.conversations[0].all_blocks();
    let blocks = blocks.map(|(_, block)| transcript.block(block));
    let text = |line, span| String::from_utf8_lossy(transcript.bytes(line, span)).into_owned();
    let calls: Vec<_> = blocks
        .filter(|block| matches!(block.kind, BlockKind::Call | BlockKind::Result))
        .map(|b| {
            (
                text(b.line, b.call_id),
                text(b.line, b.tool),
                text(b.line, b.content),
                b.outcome,
            )
        })
        .collect();
    let call = |id: &str, tool: &str, content: &str, outcome| {
        (id.to_owned(), tool.to_owned(), content.to_owned(), outcome)
    };
    assert_eq!(
        calls,
        [
            call("a", "read_file", r#"{"file_path":"/a"}"#, Outcome::Fine),
            call("b", "read_file", r#"{"file_path":"/b"}"#, Outcome::Fine),
            call("a", "", r#""one \"line\"""#, Outcome::Fine),
            call("b", "", r#""no such file""#, Outcome::Failed),
        ]
    );
    let kinds: Vec<LineKind> = transcript.lines().iter().map(|line| line.kind).collect();
    assert_eq!([kinds[0], kinds[8], kinds[10]], [LineKind::Session; 3]);
}

#[test]
fn it_is_known_by_its_first_line_or_its_calls() {
    assert_eq!(detected(LOG), "gemini-stream");
    let lines: Vec<&str> = LOG.lines().collect();
    // The calls without the beginning, and the beginning without the calls.
    assert_eq!(detected(&lines[4..].join("\n")), "gemini-stream");
    assert_eq!(detected(&lines[..4].join("\n")), "gemini-stream");
    // Fragments alone could be of any format.
    assert_eq!(detected(&lines[2..4].join("\n")), "unknown");
    let foreign = r#"{"parentUuid":null,"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    assert_eq!(detected(&format!("{LOG}{foreign}\n")), "mixed");
}

#[test]
fn results_answer_calls_before_them_once() {
    assert_eq!(rules(LOG), []);
    let lines: Vec<&str> = LOG.lines().collect();
    let but = |line: usize| [&lines[..line], &lines[line + 1..]].concat().join("\n");
    assert_eq!(rules(&but(4)), [Rule::OrphanResult]);
    // The run was stopped.
    assert_eq!(rules(&but(6)), []);
    let twice = |line: usize| [&lines[..=line], &lines[line..]].concat().join("\n");
    assert_eq!(rules(&twice(4)), [Rule::DuplicateCall]);
    assert_eq!(rules(&twice(6)), [Rule::DuplicateResult]);
}
