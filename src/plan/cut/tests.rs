//! Cuts of conversations that are written as one letter a message.

use super::*;
use crate::format::{Format, Warnings};
use crate::policy::{Policy, preset};

/// One letter per message: `s` system, `u` typed, `a` answer, `c` an answer with calls 1 and 2, `1` and `2` their results, `t`
/// thinking, `p` a picture that a person sent, `i` the note that they interrupted the agent, `f` a call without an id, `x` its
/// result, `v` a call that the provider runs, `w` its result; `S` and `A` are what an earlier compaction has left.
fn written(format: Format, letters: &str) -> Vec<u8> {
    let call = |id: u32| match format {
        Format::OpenAi => format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#
        ),
        _ => format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#),
    };
    let said = |role: &str, content: &str| format!(r#"{{"role":"{role}","content":{content}}}"#);
    let line = |letter: char| match (letter, format) {
        ('s', _) => said("system", r#""be kind""#),
        ('u' | 'S', _) => said("user", r#""do it""#),
        ('a' | 'A', _) => said("assistant", r#""done""#),
        ('c', Format::OpenAi) => format!(
            r#"{{"role":"assistant","tool_calls":[{},{}]}}"#,
            call(1),
            call(2)
        ),
        ('c', _) => said("assistant", &format!("[{},{}]", call(1), call(2))),
        (id @ ('1' | '2'), Format::OpenAi) => {
            format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"so"}}"#)
        }
        (id @ ('1' | '2'), _) => said(
            "user",
            &format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"so"}}]"#),
        ),
        ('t', _) => said(
            "assistant",
            r#"[{"type":"thinking","thinking":"hm","signature":"x"}]"#,
        ),
        ('p', _) => said(
            "user",
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]"#,
        ),
        ('i', _) => said("user", r#""[Request interrupted by user for tool use]""#),
        ('f', _) => {
            r#"{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}"#.to_owned()
        }
        ('x', _) => r#"{"role":"function","name":"f","content":"so"}"#.to_owned(),
        ('v', _) => said(
            "assistant",
            r#"[{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}]"#,
        ),
        ('w', _) => said(
            "assistant",
            r#"[{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}]"#,
        ),
        (other, _) => panic!("no message is written {other}"),
    };
    let lines: Vec<String> = letters.chars().map(line).collect();
    lines.join("\n").into_bytes()
}

/// The cut that these keys ask for, and whether there is anything before it.
fn cut(format: Format, letters: &str, keys: fn(&mut Summary), tokens: &[u64]) -> (Cut, bool) {
    let bytes = written(format, letters);
    let transcript = format.read(&bytes, 1, &mut Warnings::default());
    let conversation = &transcript.conversations[0];
    assert_eq!(conversation.messages.len(), letters.len());
    let origins: Vec<MessageOrigin> = letters
        .chars()
        .map(|letter| match letter {
            'S' => MessageOrigin::Summary,
            'A' => MessageOrigin::Acknowledgement,
            _ => MessageOrigin::Session,
        })
        .collect();
    let cutter = Cutter::new(&transcript, conversation, origins);
    let Policy { mut summary, .. } = preset("").unwrap();
    (
        summary.keep_messages,
        summary.keep_turns,
        summary.keep_tokens,
    ) = (0, 0, 0);
    keys(&mut summary);
    let cut = cutter.by_policy(&summary, tokens);
    (cut, cutter.has_span(cut))
}

/// Checks where each of these conversations is cut (`|`), and by how many messages the cut moved back.
fn check(format: Format, keys: fn(&mut Summary), expected: &[(&str, u64)]) {
    for (drawn, moved) in expected {
        let letters = drawn.replace('|', "");
        let (cut, has_span) = cut(format, &letters, keys, &vec![10; letters.len()]);
        let mut is = letters.clone();
        is.insert(cut.first_kept, '|');
        assert_eq!((is.as_str(), cut.moved), (*drawn, *moved));
        let gone = letters[..cut.first_kept].chars();
        let new = gone.filter(|letter| !matches!(letter, 's' | 'S' | 'A'));
        assert_eq!(has_span, new.count() > 0, "{drawn}");
    }
}

#[test]
fn nothing_stays_where_no_rule_keeps_anything() {
    check(
        Format::OpenAi,
        |_| {},
        &[("uaua|", 0), ("suc12a|", 0), ("|", 0), ("SA|", 0)],
    );
}

#[test]
fn messages_are_counted_from_the_end() {
    check(
        Format::OpenAi,
        |keys| keys.keep_messages = 2,
        &[
            ("ua|ua", 0),
            ("|ua", 0),
            ("|u", 0),
            // System messages do not count, wherever they are.
            ("sua|usa", 0),
            // Nor does what an earlier compaction has left in front.
            ("S|ua", 0),
            ("SA|ua", 0),
            ("SA|u", 0),
            ("SAua|ua", 0),
        ],
    );
}

#[test]
fn results_stay_with_their_calls() {
    check(
        Format::OpenAi,
        |keys| keys.keep_messages = 1,
        &[
            ("u|c12", 2),
            ("uc12|a", 0),
            ("uc12u|c12", 2),
            ("u|fx", 1),
            ("uf|u", 0),
            ("|c1s2", 2),
        ],
    );
    check(
        Format::Anthropic,
        |keys| keys.keep_messages = 1,
        &[("u|c12", 2), ("u|vw", 1), ("uvwu|a", 0)],
    );
}

#[test]
fn an_answer_stays_with_its_thinking() {
    check(
        Format::Anthropic,
        |keys| keys.keep_messages = 1,
        &[("u|ta", 1), ("u|tc12", 3), ("ut|u", 0), ("uta|a", 0)],
    );
}

#[test]
fn turns_begin_with_what_a_person_typed() {
    check(
        Format::OpenAi,
        |keys| keys.keep_turns = 1,
        &[
            ("uac12a|uc12a", 0),
            ("uaua|u", 0),
            // One turn: from its last answer on.
            ("uc12|a", 0),
            ("u|c12", 0),
            ("|u", 0),
            ("aa|u", 0),
            ("aa|ua", 0),
            ("ac12|uc12a", 0),
            // What was summarised is a turn, too.
            ("S|uc12a", 0),
            ("SA|a", 0),
            ("S|u", 0),
            ("SAa|ua", 0),
            ("Suaa|ua", 0),
        ],
    );
    check(
        Format::OpenAi,
        |keys| keys.keep_turns = 2,
        &[
            ("ua|uaua", 0),
            ("|uaua", 0),
            // If there are fewer turns, all stay; a single turn may be cut only where one turn is kept.
            ("|uc12a", 0),
            ("S|aua", 0),
            ("S|auaua", 0),
        ],
    );
}

#[test]
fn a_picture_and_the_words_beside_it_are_one_turn_and_a_note_of_the_agent_is_none() {
    check(
        Format::Anthropic,
        |keys| keys.keep_turns = 1,
        &[
            ("ua|pua", 0),
            ("ua|ppua", 0),
            ("ua|upa", 0),
            ("ua|uai", 0),
            ("ua|uaia", 0),
            ("uai|ua", 0),
        ],
    );
}

#[test]
fn tokens_are_filled_from_the_end_and_the_last_message_stays() {
    for (limit, tail) in [
        (1, 3),
        (9, 3),
        (10, 3),
        (11, 3),
        (14, 3),
        (15, 2),
        (35, 1),
        (115, 0),
    ] {
        let tokens = [80, 20, 5, 10];
        let bytes = written(Format::OpenAi, "uaua");
        let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
        let origins = vec![MessageOrigin::Session; 4];
        let cutter = Cutter::new(&transcript, &transcript.conversations[0], origins);
        assert_eq!(cutter.within(limit, &tokens).first_kept, tail, "{limit}");
    }
}

#[test]
fn a_cut_for_at_most_so_many_tokens_does_not_move_back_over_a_pair() {
    let bytes = written(Format::OpenAi, "uc1au");
    let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
    let origins = vec![MessageOrigin::Session; 5];
    let cutter = Cutter::new(&transcript, &transcript.conversations[0], origins);
    let tokens = [80, 20, 5, 10, 3];
    // The last message always stays.
    for (limit, tail, moved_tail) in [
        (2, 4, 4),
        (13, 3, 3),
        (18, 3, 1),
        (37, 3, 1),
        (38, 1, 1),
        (118, 0, 0),
    ] {
        assert_eq!(cutter.at_most(limit, &tokens).first_kept, tail, "{limit}");
        assert_eq!(
            cutter.within(limit, &tokens).first_kept,
            moved_tail,
            "{limit}"
        );
    }
    // A result alone does not stay.
    let bytes = written(Format::OpenAi, "uc1");
    let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
    let origins = vec![MessageOrigin::Session; 3];
    let cutter = Cutter::new(&transcript, &transcript.conversations[0], origins);
    assert_eq!(cutter.at_most(9, &tokens[..3]).first_kept, 1);
}

#[test]
fn at_least_the_last_answer_stays_or_the_last_message() {
    for (drawn, left) in [
        ("ua|au", 0),
        ("u|c12", 0),
        ("uu|u", 0),
        ("Su|u", 1),
        ("S|u", 1),
        ("|", 0),
    ] {
        let letters = drawn.replace('|', "");
        let bytes = written(Format::OpenAi, &letters);
        let transcript = Format::OpenAi.read(&bytes, 1, &mut Warnings::default());
        let lefts: Vec<MessageOrigin> = (0..letters.len())
            .map(|n| {
                if n < left {
                    MessageOrigin::Summary
                } else {
                    MessageOrigin::Session
                }
            })
            .collect();
        let cutter = Cutter::new(&transcript, &transcript.conversations[0], lefts);
        let mut is = letters.clone();
        is.insert(cutter.least().first_kept, '|');
        assert_eq!(is, drawn);
    }
}

#[test]
fn the_rule_that_keeps_most_wins() {
    let (cut, _) = cut(
        Format::OpenAi,
        "uauaua",
        |keys| {
            keys.keep_messages = 1;
            keys.keep_turns = 2;
            keys.keep_tokens = 15;
        },
        &[10; 6],
    );
    assert_eq!((cut.requested, cut.first_kept), (2, 2));
}
