//! Tests of reading, dead lines and summaries, with hand-written sessions.

use crate::apply::apply;
use crate::format::{Detected, Detector, Format, Share, Summary, Warnings};
use crate::ids::IdSet;
use crate::transcript::{BlockKind, Role, Transcript, Typed};

/// A session of these entries, each written without its opening `{`.
fn session(version: &str, entries: &[&str]) -> String {
    let header = format!("{{\"type\":\"session\"{version},\"id\":\"s\",\"cwd\":\"/w\"}}\n");
    let entries = entries.iter().map(|entry| format!("{{{entry}}}\n"));
    header + &entries.collect::<String>()
}

const FIRST: &str = "";
const THIRD: &str = ",\"version\":3";

fn said(id: &str, parent: &str, text: &str) -> String {
    entry(
        id,
        parent,
        &format!("\"role\":\"user\",\"content\":\"{text}\""),
    )
}

/// A message in the third version of the format; the parent "" means none.
fn entry(id: &str, parent: &str, message: &str) -> String {
    let place = place(id, parent);
    format!("\"type\":\"message\",{place},\"timestamp\":\"t{id}\",\"message\":{{{message}}}")
}

fn place(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() {
        "null".to_owned()
    } else {
        format!("\"{parent}\"")
    };
    format!("\"id\":\"{id}\",\"parentId\":{parent}")
}

fn compaction(id: &str, parent: &str, kept: &str) -> String {
    let place = place(id, parent);
    format!(
        "\"type\":\"compaction\",{place},\"summary\":\"so {id}\",\"firstKeptEntryId\":\"{kept}\""
    )
}

fn third(entries: &[String]) -> String {
    session(
        THIRD,
        &entries.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

fn read(text: &str) -> Transcript<'_> {
    Format::Pi.read(text.as_bytes(), 1, &mut Warnings::default())
}

/// For each message, its role, whether it was typed, and the text of its first block.
fn messages(text: &str) -> Vec<(Role, Typed, String)> {
    let transcript = read(text);
    let conversation = &transcript.conversations[0];
    let messages = conversation.messages.iter();
    messages
        .map(|message| {
            let first = conversation.blocks(message).first();
            let said = first.map(|b| crate::facts::block_text(&transcript, transcript.block(*b)));
            let said = said.unwrap_or_default().into_owned();
            (message.role, message.typed, said)
        })
        .collect()
}

fn words(text: &str) -> Vec<String> {
    let messages = messages(text).into_iter();
    messages.map(|(_, _, said)| said).collect()
}

/// The session without its dead lines.
fn alive(text: &str) -> String {
    let mut transcript = read(text);
    let dead = Format::Pi.dead(&transcript);
    apply(Format::Pi, &mut transcript, dead);
    written(&transcript)
}

fn written(transcript: &Transcript<'_>) -> String {
    let pieces: Vec<&[u8]> = transcript.pieces().collect();
    String::from_utf8(pieces.concat()).unwrap()
}

fn spliced(text: &str, tail: usize, says: Option<&str>) -> String {
    let mut transcript = read(text);
    let summary = says.map(|text| Summary {
        role: Role::User,
        text,
        acknowledgement: "",
        tokens_before: 99,
    });
    let conversation = &transcript.conversations[0];
    let splice = Format::Pi
        .dialect()
        .splice(&transcript, conversation, tail, summary);
    apply(Format::Pi, &mut transcript, splice.unwrap().changes);
    written(&transcript)
}

#[test]
fn every_role_is_read_and_what_is_never_sent_is_no_message() {
    use Role::{Assistant, Tool, User};
    let text = session(
        FIRST,
        &[
            r#""type":"model_change","modelId":"m""#,
            r#""type":"message","message":{"role":"user","content":[{"type":"text","text":"go"},{"type":"image","data":"x","mimeType":"image/png"}]}"#,
            r#""type":"message","message":{"content":[{"thinking":"hm","type":"thinking"},{"arguments":{"a":1},"name":"bash","id":"c","type":"toolCall"}],"role":"assistant","stopReason":"toolUse"}"#,
            r#""type":"message","message":{"toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"out"},{"type":"image","data":"y"}],"role":"toolResult","isError":true,"details":{"d":1}}"#,
            r#""type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"d","name":"bash","arguments":{}}],"stopReason":"aborted"}"#,
            r#""type":"message","message":{"role":"bashExecution","command":"ls","output":"a b","exitCode":0}"#,
            r#""type":"message","message":{"role":"bashExecution","command":"pwd","output":"w","excludeFromContext":true}"#,
            r#""type":"custom_message","customType":"x","content":"noted""#,
            r#""type":"branch_summary","summary":"tried it","fromId":"root""#,
            r#""type":"message","message":{"role":"user","content":"<system-reminder>x</system-reminder>"}"#,
            r#""type":"message","message":{"role":"hookMessage","content":"hook"}"#,
            r#""type":"from_the_future","content":"?""#,
        ],
    );
    assert_eq!(
        messages(&text),
        [
            (User, Typed::Yes, "go".to_owned()),
            (Assistant, Typed::No, "hm".to_owned()),
            (Tool, Typed::No, "out".to_owned()),
            (User, Typed::No, "ls".to_owned()),
            (User, Typed::No, "noted".to_owned()),
            (User, Typed::No, "tried it".to_owned()),
            (
                User,
                Typed::No,
                "<system-reminder>x</system-reminder>".to_owned()
            ),
            (User, Typed::No, "hook".to_owned()),
        ]
    );
    let transcript = read(&text);
    let kinds = |line| -> Vec<BlockKind> {
        let blocks = transcript.blocks_of_line(line);
        blocks.map(|b| transcript.block(b).kind).collect()
    };
    assert_eq!(kinds(3), [BlockKind::Thinking, BlockKind::Call]);
    let result = transcript.block(transcript.blocks_of_line(4).start);
    assert_eq!(transcript.bytes(4, result.call_id), b"c");
    assert_eq!(transcript.bytes(4, result.tool), b"bash");
    assert_eq!(result.images, 1);
    assert_eq!(transcript.mirrors().len(), 1);
    assert_eq!(kinds(6), [BlockKind::Text, BlockKind::Result]);
    let output = transcript.block(transcript.blocks_of_line(6).end - 1);
    assert_eq!(transcript.bytes(6, output.tool), b"bash");
}

#[test]
fn in_the_first_version_the_last_compaction_names_what_stays_by_its_number() {
    let text = session(
        FIRST,
        &[
            r#""type":"message","message":{"role":"user","content":"a"}"#,
            r#""type":"compaction","summary":"so a","firstKeptEntryIndex":1"#,
            r#""type":"message","message":{"role":"user","content":"b"}"#,
            r#""type":"message","message":{"role":"user","content":"c"}"#,
            r#""type":"compaction","summary":"so b","firstKeptEntryIndex":4"#,
            r#""type":"message","message":{"role":"user","content":"d"}"#,
        ],
    );
    assert_eq!(words(&text), ["so b", "c", "d"]);
    // Lines that are not entries have no number.
    let earlier = "{\"type\":\"compaction\",\"summary\":\"so a\"";
    let text = text.replace(earlier, &format!("\nno entry\n{earlier}"));
    assert_eq!(words(&text), ["so b", "c", "d"]);
    let after = alive(&text);
    let left = concat!(
        "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/w\"}\n",
        "\nno entry\n",
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"c\"}}\n",
        "{\"type\":\"compaction\",\"summary\":\"so b\",\"firstKeptEntryIndex\":1}\n",
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"d\"}}\n",
    );
    assert_eq!(after, left);
}

#[test]
fn what_hangs_on_the_last_entry_is_live_and_the_rest_of_the_tree_is_dead() {
    let label = |id: &str, parent: &str| {
        let place = place(id, parent);
        format!("\"type\":\"label\",{place},\"targetId\":\"a\"")
    };
    let text = third(&[
        said("a", "", "one"),
        said("b", "a", "tried"),
        label("l", "b"),
        label("m", "a"),
        said("c", "m", "two"),
        said("d", "c", "three"),
        compaction("k", "d", "d"),
        said("e", "k", "four"),
    ]);
    assert_eq!(words(&text), ["so k", "three", "four"]);
    // The branch is removed with its label, the label on the path is kept, and no entry has a removed parent.
    let expected = third(&[
        label("m", ""),
        said("d", "m", "three"),
        compaction("k", "d", "d"),
        said("e", "k", "four"),
    ]);
    assert_eq!(alive(&text), expected);
}

#[test]
fn a_chain_that_breaks_off_keeps_what_it_lost() {
    let text = third(&[said("a", "", "one"), said("b", "gone", "two")]);
    assert_eq!(words(&text), ["two"]);
    assert_eq!(alive(&text), text);
    // A compaction summarises only what is still sent.
    let text = third(&[
        said("a", "", "one"),
        said("b", "gone", "two"),
        compaction("k", "b", "b"),
    ]);
    assert_eq!(alive(&text), text);
}

#[test]
fn a_summary_comes_before_what_stays_with_the_time_of_the_last_entry() {
    let [a, b, c] = [
        said("a", "", "one"),
        said("b", "a", "two"),
        said("c", "b", "three"),
    ];
    let text = third(&[a.clone(), b, c.clone()]);
    let after = spliced(&text, 1, Some("so far"));
    let id = id_of_compaction(&after);
    assert!(
        id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit()),
        "{id}"
    );
    let new = format!(
        "\"type\":\"compaction\",{},\"timestamp\":\"tc\",\"summary\":\"so far\",\"firstKeptEntryId\":\"b\",\"tokensBefore\":99",
        place(&id, "a")
    );
    let b = said("b", &id, "two");
    assert_eq!(after, third(&[a, new.clone(), b.clone(), c.clone()]));
    assert_eq!(words(&after), ["so far", "two", "three"]);
    let new = new.replace("\"parentId\":\"a\"", "\"parentId\":null");
    assert_eq!(alive(&after), third(&[new, b, c]));
    // Entries from an agent that does not know about the summary come after it.
    let next = format!("{{{}}}\n", said("d", "c", "four"));
    assert_eq!(words(&(after + &next)), ["so far", "two", "three", "four"]);
}

#[test]
fn where_no_message_stays_a_summary_has_the_id_of_the_last_entry() {
    let text = third(&[said("a", "", "one"), said("b", "a", "two")]);
    let after = spliced(&text, 2, Some("all"));
    let new = |parent: &str| {
        format!(
            "\"type\":\"compaction\",{},\"timestamp\":\"tb\",\"summary\":\"all\",\"firstKeptEntryId\":\"b\",\"tokensBefore\":99",
            place("b", parent)
        )
    };
    assert_eq!(after, text + &format!("{{{}}}\n", new("a")));
    assert_eq!(words(&after), ["all"]);
    assert_eq!(alive(&after), third(&[new("")]));
    let next = format!("{{{}}}\n", said("d", "b", "four"));
    for after in [alive(&after), after] {
        assert_eq!(words(&(after + &next)), ["all", "four"]);
    }
    // Entries without a message after the last message are kept, and keep their own ids.
    let level = |parent: &str| {
        let place = place("l", parent);
        format!("\"type\":\"thinking_level_change\",{place},\"timestamp\":\"tl\"")
    };
    let text = third(&[said("a", "", "one"), level("a")]);
    let after = spliced(&text, 1, Some("all"));
    let id = id_of_compaction(&after);
    let new = format!(
        "\"type\":\"compaction\",{},\"timestamp\":\"tl\",\"summary\":\"all\",\"firstKeptEntryId\":\"l\",\"tokensBefore\":99",
        place(&id, "a")
    );
    assert_eq!(after, third(&[said("a", "", "one"), new, level(&id)]));
    let next = format!("{{{}}}\n", said("d", "l", "four"));
    assert_eq!(words(&(alive(&after) + &next)), ["all", "four"]);
}

#[test]
fn an_earlier_compaction_behind_what_stays_gives_its_place() {
    let entries = |last: &[String]| {
        let entries = [
            said("a", "", "one"),
            said("b", "a", "two"),
            said("c", "b", "three"),
            compaction("k", "c", "b"),
        ];
        third(&[&entries[..], last].concat())
    };
    for behind in [vec![], vec![said("d", "k", "four")]] {
        let text = entries(&behind);
        let after = spliced(&text, 2, Some("new"));
        let next = format!(
            "{{{}}}\n",
            said("e", if behind.is_empty() { "k" } else { "d" }, "five")
        );
        let mut expected = vec!["new", "three"];
        expected.extend(behind.iter().map(|_| "four"));
        for after in [alive(&after), after] {
            assert_eq!(words(&after), expected, "{after}");
            let mut expected = expected.clone();
            expected.push("five");
            assert_eq!(words(&(after + &next)), expected);
        }
    }
}

/// The id of the only compaction.
fn id_of_compaction(text: &str) -> String {
    let (_, rest) = text
        .split_once("\"type\":\"compaction\",\"id\":\"")
        .unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_summary_of_the_first_version_counts_entries() {
    let message = |text: &str| {
        format!(
            "\"type\":\"message\",\"timestamp\":\"t\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}"
        )
    };
    let [a, b, c] = ["a", "b", "c"].map(message);
    let text = session(FIRST, &[&a, &b, &c]);
    let after = spliced(&text, 2, Some("so"));
    let new = "{\"type\":\"compaction\",\"timestamp\":\"t\",\"summary\":\"so\",\"firstKeptEntryIndex\":3,\"tokensBefore\":99}\n";
    assert_eq!(after, text.clone() + new);
    assert_eq!(words(&after), ["so", "c"]);
    assert_eq!(
        alive(&after),
        session(FIRST, &[&c]) + &new.replace("Index\":3", "Index\":1")
    );
    let all = spliced(&text, 3, Some("so"));
    assert_eq!(words(&all), ["so"]);
    assert_eq!(words(&alive(&all)), ["so"]);
}

#[test]
fn an_earlier_compaction_is_replaced_wherever_it_stands() {
    let text = third(&[
        said("a", "", "one"),
        said("b", "a", "two"),
        said("c", "b", "three"),
        compaction("k", "c", "b"),
    ]);
    assert_eq!(words(&text), ["so k", "two", "three"]);
    let after = spliced(&text, 2, Some("new"));
    assert_eq!(words(&after), ["new", "three"]);
    let left = alive(&after);
    assert_eq!(words(&left), ["new", "three"]);
    assert!(!left.contains("so k") && !left.contains("two"), "{left}");
}

#[test]
fn without_a_summary_the_old_leaves_at_once() {
    let text = third(&[
        said("a", "", "one"),
        said("b", "a", "two"),
        compaction("k", "b", "b"),
        said("c", "k", "three"),
    ]);
    let after = spliced(&text, 2, None);
    assert_eq!(after, third(&[said("c", "", "three")]));
}

#[test]
fn blocks_leave_their_messages_and_messages_their_session() {
    let answer = |blocks: &str| format!("\"role\":\"assistant\",\"content\":[{blocks}]");
    let call = r#"{"type":"toolCall","id":"x","name":"n","arguments":{}}"#;
    let result = r#""role":"toolResult","toolCallId":"x","toolName":"n","content":[]"#;
    let words = r#"{"type":"text","text":"so"}"#;
    let text = third(&[
        said("a", "", "one"),
        entry("b", "a", &answer(&format!("{words}, {call}"))),
        entry("c", "b", result),
        entry("d", "c", &answer(call)),
        entry("e", "d", result),
        said("f", "e", "two"),
        compaction("k", "f", "e"),
    ]);
    let mut transcript = read(&text);
    let tied = [BlockKind::Call, BlockKind::Result];
    let blocks: IdSet<u32> = (0..transcript.block_count() as u32)
        .filter(|b| tied.contains(&transcript.block(*b).kind))
        .collect();
    let whole = Format::Pi.full_history(&transcript).remove(0);
    let splice = Format::Pi.dialect().without(&transcript, &whole, &blocks);
    apply(Format::Pi, &mut transcript, splice);
    let expected = third(&[
        said("a", "", "one"),
        entry("b", "a", &answer(words)),
        said("f", "b", "two"),
        compaction("k", "f", "f"),
    ]);
    assert_eq!(written(&transcript), expected);
}

#[test]
fn stale_usage_is_lowered_from_the_last_answer_on() {
    let answer = |stop: &str, usage: &str| {
        format!(
            "\"role\":\"assistant\",\"content\":[],\"usage\":{{{usage}}},\"stopReason\":\"{stop}\""
        )
    };
    let usage = |read: u64, written: u64, input: u64, total: u64| {
        format!(
            "\"input\":{input},\"output\":8,\"cacheRead\":{read},\"cacheWrite\":{written},\"totalTokens\":{total},\"cost\":{{\"input\":0.013875000000000002}}"
        )
    };
    let lines = |late: &str, broken: &str| {
        third(&[
            said("a", "", "one"),
            entry("b", "a", &answer("stop", &usage(100, 0, 5, 113))),
            entry("c", "b", &answer("stop", late)),
            entry("d", "c", &answer("aborted", broken)),
        ])
    };
    let text = lines(&usage(90, 20, 5, 123), &usage(0, 0, 7, 15));
    let mut transcript = read(&text);
    let share = Share {
        before: 123,
        after: 23,
    };
    let figures =
        Format::Pi
            .dialect()
            .corrected_usage(&transcript, &transcript.conversations[0], share);
    apply(Format::Pi, &mut transcript, figures.into_iter().collect());
    assert_eq!(
        written(&transcript),
        lines(&usage(0, 10, 5, 23), &usage(0, 0, 0, 2))
    );
}

fn edit(id: &str, parent: &str, target: &str, replacement: &str) -> String {
    let place = place(id, parent);
    format!(
        "\"type\":\"context_edit\",{place},\"targetId\":\"{target}\",\"replacement\":{replacement}"
    )
}

#[test]
fn an_entry_that_an_edit_leaves_out_is_no_message_and_stays_with_its_edit() {
    let answer = entry("2", "1", "\"role\":\"assistant\",\"content\":\"cut o\"");
    let text = third(&[
        said("1", "", "go"),
        answer.clone(),
        edit("3", "2", "2", "null"),
        said("4", "3", "on"),
    ]);
    assert_eq!(words(&text), ["go", "on"]);
    assert_eq!(alive(&text), text);
    // On another branch the edit has no effect.
    let branched = third(&[
        said("1", "", "go"),
        answer,
        edit("3", "2", "2", "null"),
        said("4", "2", "on"),
    ]);
    assert_eq!(words(&branched), ["go", "cut o", "on"]);
    // What a summary replaces is removed together with the omitted entry; if the entry is kept, it is still omitted.
    let summarised = alive(&spliced(&text, 1, Some("so")));
    assert_eq!(words(&summarised), ["so", "on"]);
    assert!(!summarised.contains("cut o"));
    let kept = third(&[
        said("1", "", "go"),
        said("2", "1", "keep"),
        entry("3", "2", "\"role\":\"assistant\",\"content\":\"cut o\""),
        edit("4", "3", "3", "null"),
        said("5", "4", "on"),
    ]);
    let summarised = alive(&spliced(&kept, 1, Some("so")));
    assert_eq!(words(&summarised), ["so", "keep", "on"]);
}

#[test]
fn a_session_with_a_replaced_entry_is_not_read() {
    let of = |replacement: &str| {
        let text = third(&[said("1", "", "go"), edit("2", "1", "1", replacement)]);
        let mut detector = Detector::default();
        detector.look(text.as_bytes());
        match detector.decide() {
            Detected::Known(format, _) => format.name().to_owned(),
            Detected::Unsupported(why) => why.to_string(),
        }
    };
    assert_eq!(of("null"), "pi");
    let why = of("{\"content\":[]}");
    assert!(why.contains("context_edit with a replacement"), "{why}");
}

/// What a file is taken for, with and without the format being given.
fn found(text: &str) -> [String; 2] {
    let mut detector = Detector::default();
    detector.look(text.as_bytes());
    [detector.decide(), detector.given(Format::Pi)].map(|found| match found {
        Detected::Known(format, _) => format.name().to_owned(),
        Detected::Unsupported(why) => why.to_string(),
    })
}

#[test]
fn a_session_of_a_newer_version_is_refused() {
    const NEWER: &str = "a session of a newer version of pi, which is not supported";
    let fourth = [
        r#"{"kind":"header","version":4,"id":"s","createdAt":1,"cwd":"/w"}"#,
        r#"{"kind":"record","type":"operation_started","id":"r","lane":"main","seq":1}"#,
        r#"{"kind":"entry","lane":"main","type":"message","id":"a","parentId":null,"seq":2,"timestamp":3,"message":{"role":"user","content":"go"}}"#,
        r#"{"kind":"lane","seq":3,"lane":"main","leafId":null}"#,
    ];
    let unknown = session(",\"version\":9", &[&said("a", "", "go")]);
    let retained = third(&[
        said("a", "", "go"),
        format!(
            "\"type\":\"compaction\",{},\"summary\":\"so\",\"retainedTail\":[{{\"role\":\"user\",\"content\":\"keep\"}}]",
            place("b", "a")
        ),
    ]);
    for text in [fourth.join("\n"), unknown, retained] {
        let [decided, given] = found(&text);
        assert_eq!(decided, NEWER, "{text}");
        assert!(given.starts_with("not pi, but "), "{given}");
    }
    for version in ["", ",\"version\":1", ",\"version\":2", THIRD] {
        assert_eq!(
            found(&session(version, &[&said("a", "", "go")])),
            ["pi", "pi"]
        );
    }
}

#[test]
fn a_leaf_that_was_moved_back_is_where_the_session_continues() {
    let entries = |target: &str| {
        third(&[
            said("1", "", "go"),
            said("2", "1", "on"),
            said("3", "2", "left"),
            format!(
                "\"type\":\"leaf\",{},\"targetId\":{target}",
                place("4", "3")
            ),
        ])
    };
    let moved = entries("\"2\"");
    assert_eq!(words(&moved), ["go", "on"]);
    let rest = alive(&moved);
    assert_eq!(words(&rest), ["go", "on"]);
    assert!(
        rest.contains("\"type\":\"leaf\"") && !rest.contains("left"),
        "{rest}"
    );
    assert_eq!(words(&spliced(&moved, 1, Some("so"))), ["so", "on"]);
    assert_eq!(words(&spliced(&moved, 2, Some("so"))), ["so"]);
    assert_eq!(words(&entries("null")), [""; 0]);
}

#[test]
fn a_long_branch_without_messages_leaves_with_its_first_one() {
    const MANY: usize = 30_000;
    let mut entries = vec![said("a", "", "go"), said("b", "a", "left")];
    let label = |number: usize| {
        let parent = match number {
            0 => "b".to_owned(),
            number => format!("l{}", number - 1),
        };
        format!(
            "\"type\":\"label\",{}",
            place(&format!("l{number}"), &parent)
        )
    };
    entries.extend((0..MANY).map(label));
    let last = said("c", "a", "on");
    entries.push(last.clone());
    let expected = third(&[entries[0].clone(), last]);
    assert_eq!(alive(&third(&entries)), expected);
}
