use crate::apply::apply;
use crate::facts::{CommandStatus, commands, exchanges};
use crate::format::shapes::splice::Summary;
use crate::format::{Detected, Detector, Dialect, Format, Layout, Share, Warnings};
use crate::policy::Tools;
use crate::transcript::{BlockKind, Role, Transcript, Typed};

use super::OpenCode;

fn read(text: &str) -> Transcript<'_> {
    Format::OpenCode.read(text.as_bytes(), 1, &mut Warnings::default())
}

fn detected(text: &str) -> Result<(Format, Layout), String> {
    let mut detector = Detector::default();
    detector.look(text.as_bytes());
    match detector.decide() {
        Detected::Known(format, layout) => Ok((format, layout)),
        Detected::Unsupported(why) => Err(why.to_string()),
    }
}

fn bytes(transcript: &Transcript<'_>) -> String {
    let pieces: Vec<&[u8]> = transcript.pieces().collect();
    String::from_utf8(pieces.concat()).unwrap()
}

/// The messages of the window: roles and texts.
fn window(transcript: &Transcript<'_>) -> Vec<(Role, String)> {
    let conversation = &transcript.conversations[0];
    let text = |block: &u32| transcript.block_text(transcript.block(*block));
    let messages = conversation.messages.iter();
    messages
        .map(|message| {
            let texts: Vec<_> = conversation.blocks(message).iter().map(text).collect();
            (message.role, texts.join("|"))
        })
        .collect()
}

fn message(id: u32, info: &str, parts: &str) -> String {
    format!(
        r#"{{"info":{{"id":"msg_{id}","sessionID":"s","time":{{"created":{id}}},{info}}},"parts":[{parts}]}}"#
    )
}

fn asked(id: u32, text: &str) -> String {
    let info = r#""role":"user","agent":"build","model":{"providerID":"p","modelID":"m"}"#;
    message(id, info, &format!(r#"{{"type":"text","text":"{text}"}}"#))
}

fn answered(id: u32, parent: u32, parts: &str) -> String {
    let info = format!(
        r#""role":"assistant","parentID":"msg_{parent}","modelID":"m","providerID":"p","path":{{"cwd":"/w","root":"/"}},"finish":"stop","tokens":{{"total":1010,"input":10,"output":10,"reasoning":0,"cache":{{"read":900,"write":90}}}}"#
    );
    message(id, &info, parts)
}

fn call(state: &str) -> String {
    format!(
        r#"{{"type":"tool","tool":"bash","callID":"c","state":{{"input":{{"command":"ls"}},{state}}}}}"#
    )
}

/// A document with one message per line.
fn document(messages: &[String]) -> String {
    format!(
        "{{\"info\":{{\"id\":\"s\"}},\"messages\":[\n{}\n]}}\n",
        messages.join(",\n")
    )
}

const SAID: &str = r#"{"type":"text","text":"so"}"#;

#[test]
fn the_prompt_of_a_command_that_runs_as_a_task_is_the_users() {
    let info = r#""role":"user","agent":"build","model":{"providerID":"p","modelID":"m"}"#;
    let part = r#"{"type":"subtask","prompt":"review it","description":"d","agent":"explore"}"#;
    let text = document(&[message(1, info, part), answered(2, 1, SAID)]);
    let transcript = read(&text);
    assert_eq!(window(&transcript)[0], (Role::User, "review it".to_owned()));
    assert_eq!(transcript.conversations[0].messages[0].typed, Typed::Yes);
}

#[test]
fn a_command_ended_as_the_record_beside_its_output_says() {
    let ended = |exit: &str| {
        let state = format!(
            r#""status":"completed","output":"x","metadata":{{"output":"x","exit":{exit}}}"#
        );
        let text = document(&[asked(1, "go"), answered(2, 1, &call(&state))]);
        let transcript = read(&text);
        let tools = Tools::default();
        let calls = exchanges(&transcript, &transcript.conversations[0], &tools);
        commands(&transcript, &calls)[0].exit
    };
    assert_eq!(ended("0"), CommandStatus::Code(0));
    assert_eq!(ended("3"), CommandStatus::Code(3));
    assert_eq!(ended("null"), CommandStatus::Interrupted);
}

#[test]
fn a_document_is_recognised_and_its_lines_are_those_of_the_file() {
    let text = document(&[asked(1, "go"), answered(2, 1, SAID)]);
    assert_eq!(detected(&text), Ok((Format::OpenCode, Layout::File)));
    let transcript = read(&text);
    let lines = transcript.conversations[0].all_lines().to_vec();
    assert_eq!(lines, [1, 2]);
    assert_eq!(
        detected(&text.replace('\n', "")),
        Ok((Format::OpenCode, Layout::File))
    );
    assert_eq!(
        detected(&document(&[])),
        Ok((Format::OpenCode, Layout::File))
    );
    let part = text.replace(r#""type":"text","text":"so""#, r#""type":"hologram""#);
    assert_eq!(
        detected(&part).unwrap_err(),
        "looks like opencode, but has 1 message with a block of type hologram that no reader knows"
    );
    let undone = text.replace(
        r#"{"id":"s"}"#,
        r#"{"id":"s","revert":{"messageID":"msg_2"}}"#,
    );
    assert_eq!(
        detected(&undone).unwrap_err(),
        "looks like opencode, but has 1 message with info.revert (undone messages) that no reader knows"
    );
    assert_eq!(
        detected(text.trim_end().trim_end_matches('}')).unwrap_err(),
        "a JSON document that breaks off"
    );
    let behind = "a JSON document followed by another one or by text";
    assert_eq!(detected(&format!("{text}{text}")).unwrap_err(), behind);
    let line = text.replace('\n', "");
    assert_eq!(detected(&format!("{line}\n{line}\n")).unwrap_err(), behind);
}

#[test]
fn conversations_with_an_info_beside_them_are_no_sessions() {
    let line = r#"{"info":{"task":1},"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#;
    let lines = format!("{line}\n{line}\n");
    assert_eq!(detected(&lines), Ok((Format::OpenAi, Layout::Line)));
    assert_eq!(detected(line), Ok((Format::OpenAi, Layout::Line)));
}

#[test]
fn a_model_sees_what_the_agent_sends() {
    let parts = [
        r#"{"type":"step-start"},{"type":"reasoning","text":"hm"}"#.to_owned(),
        call(
            r#""status":"completed","output":"a b","metadata":{"exit":1},"time":{"start":1,"end":2}"#,
        ),
        call(r#""status":"completed","output":"gone","time":{"start":1,"end":2,"compacted":3}"#),
        call(r#""status":"error","error":"no","time":{}"#),
        call(
            r#""status":"error","error":"no","metadata":{"interrupted":true,"output":"half"},"time":{}"#,
        ),
        call(r#""status":"running","time":{}"#),
    ];
    let failed = answered(3, 1, SAID).replace(
        r#""finish":"stop""#,
        r#""finish":"stop","error":{"name":"APIError","data":{}}"#,
    );
    let text = document(&[asked(1, "go"), answered(2, 1, &parts.join(",")), failed]);
    let transcript = read(&text);
    let expected = [
        (Role::User, "go"),
        (Role::Assistant, "hm|||||"),
        (Role::Tool, "a b||no|half"),
    ];
    assert_eq!(
        window(&transcript),
        expected.map(|(role, text)| (role, text.to_owned()))
    );
}

/// A question of a compaction and its answer.
fn compaction(id: u32, tail: Option<u32>) -> [String; 2] {
    let tail = tail.map_or(String::new(), |tail| {
        format!(r#","tail_start_id":"msg_{tail}""#)
    });
    let part = format!(r#"{{"type":"compaction","auto":true{tail}}}"#);
    let info = r#""role":"user","agent":"build","model":{"providerID":"p","modelID":"m"}"#;
    let said = answered(id + 1, id, r#"{"type":"text","text":"in short"}"#);
    [
        message(id, info, &part),
        said.replace(r#""finish":"stop""#, r#""finish":"stop","summary":true"#),
    ]
}

#[test]
fn a_compaction_of_the_agent_ends_what_was_before_but_for_what_it_keeps() {
    let old = [
        asked(1, "one"),
        answered(2, 1, SAID),
        asked(3, "two"),
        answered(4, 3, SAID),
    ];
    let whole = |tail| {
        let messages = [&old[..], &compaction(5, tail), &[asked(7, "three")]].concat();
        document(&messages)
    };
    let text = whole(None);
    let expected = [(Role::User, "in short"), (Role::User, "three")];
    assert_eq!(
        window(&read(&text)),
        expected.map(|(r, t)| (r, t.to_owned()))
    );
    let text = whole(Some(4));
    let kept = [
        (Role::User, "in short"),
        (Role::Assistant, "so"),
        (Role::User, "three"),
    ];
    let kept = kept.map(|(role, text)| (role, text.to_owned()));
    let mut transcript = read(&text);
    assert_eq!(window(&transcript), kept);
    let dead = Format::OpenCode.dead(&transcript);
    assert_eq!(dead.drop.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
    apply(Format::OpenCode, &mut transcript, dead);
    assert_eq!(window(&transcript), kept);
    // An answer to a removed message now answers the compaction.
    let [question, summary] = compaction(5, Some(4));
    let expected = document(&[answered(4, 5, SAID), question, summary, asked(7, "three")]);
    assert_eq!(bytes(&transcript), expected);
}

#[test]
fn a_summary_is_a_compaction_before_the_first_kept_message() {
    let text = document(&[asked(1, "one"), answered(2, 1, SAID), asked(3, "two")]);
    for tail in [2, 3] {
        let mut transcript = read(&text);
        let summary = Summary {
            role: Role::User,
            text: "all",
            acknowledgement: "",
            tokens_before: 9,
        };
        let conversation = &transcript.conversations[0];
        let splice = OpenCode
            .splice(&transcript, conversation, tail, Some(summary))
            .unwrap();
        apply(Format::OpenCode, &mut transcript, splice.changes);
        let mut expected = vec![(Role::User, "all".to_owned())];
        expected.extend((tail < 3).then(|| (Role::User, "two".to_owned())));
        assert_eq!(window(&transcript), expected);
        let dead = Format::OpenCode.dead(&transcript);
        apply(Format::OpenCode, &mut transcript, dead);
        assert_eq!(window(&transcript), expected);
        let written = bytes(&transcript);
        assert_eq!(detected(&written), Ok((Format::OpenCode, Layout::File)));
        assert_eq!(window(&read(&written)), expected);
        // It has the time of the message before it, and an id that continues that message's id.
        let before = if tail == 2 { 2 } else { 3 };
        assert!(written.contains(&format!(
            "\"time\":{{\"created\":{before}}},\"agent\":\"build\""
        )));
        assert!(
            written.contains(&format!("\"id\":\"msg_{before}0")),
            "{written}"
        );
        assert_eq!(written.lines().count(), 7 - tail);
    }
}

#[test]
fn the_last_answers_figures_are_lowered() {
    let text = document(&[asked(1, "one"), answered(2, 1, SAID)]);
    let transcript = read(&text);
    let share = Share {
        before: 100,
        after: 4,
    };
    let conversation = &transcript.conversations[0];
    let replace = OpenCode.corrected_usage(&transcript, conversation, share);
    let with: Vec<_> = replace
        .iter()
        .map(|r| String::from_utf8_lossy(&r.with).into_owned())
        .collect();
    // 960 of 1 000 tokens were removed.
    assert_eq!(with, ["0", "30", "50"]);
}

#[test]
fn a_message_that_says_nothing_any_more_leaves() {
    let thought = r#"{"type":"reasoning","text":"hm"}"#;
    let text = document(&[
        asked(1, "one"),
        answered(2, 1, thought),
        answered(3, 1, &format!("{thought} , {SAID}")),
    ]);
    let mut transcript = read(&text);
    let blocks = 0..transcript.block_count() as u32;
    let thoughts = blocks.filter(|b| transcript.block(*b).kind == BlockKind::Thinking);
    let thoughts = thoughts.collect();
    let changes = OpenCode.without(&transcript, &transcript.conversations[0], &thoughts);
    apply(Format::OpenCode, &mut transcript, changes);
    assert_eq!(
        bytes(&transcript),
        document(&[asked(1, "one"), answered(3, 1, SAID)])
    );
}

#[test]
fn results_belong_to_the_calls_in_their_parts_whatever_ids_these_have() {
    use crate::facts::calls;
    use crate::policy::Tools;

    let done = |output: &str| {
        call(&format!(
            r#""status":"completed","output":"{output}","metadata":{{"exit":0}},"time":{{"start":1,"end":2}}"#
        ))
    };
    let running = call(r#""status":"running","time":{}"#);
    let parts = [done("first"), running, done("last")].join(",");
    for parts in [parts.clone(), parts.replace(r#""callID":"c","#, "")] {
        let text = document(&[asked(1, "go"), answered(2, 1, &parts)]);
        let transcript = read(&text);
        let calls = calls(&transcript, &transcript.conversations[0], &Tools::default());
        let said = calls.iter().map(|call| {
            let result = call.result?;
            Some(transcript.block_text(transcript.block(result.block)))
        });
        let said: Vec<Option<_>> = said.collect();
        assert_eq!(said, [Some("first".into()), None, Some("last".into())]);
    }
}
