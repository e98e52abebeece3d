//! What counts as the user's words, and that none of them are lost.

use super::*;

/// The summary of a conversation of plain messages in which the user's words compete for the budget.
fn of_budget(messages: &[(&str, &str)], tokens: u64) -> ExtractiveSummary {
    let line = |(role, said): &(&str, &str)| {
        let line = serde_json::json!({"role": role, "content": said});
        format!("{line}\n")
    };
    let text: String = messages.iter().map(line).collect();
    let transcript = read_as(Format::Anthropic, text.as_bytes());
    whole(&transcript, &auto(), tokens, UserWords::Budget)
}

/// The rows of the user's words.
fn requests(summary: &ExtractiveSummary) -> Vec<&str> {
    let is_request = |row: &&Row| row.section == Section::Requests;
    let rows = summary.rows.iter().filter(is_request);
    rows.map(|row| &row.text[..]).collect()
}

#[test]
fn messages_without_a_letter_are_words_too() {
    for sign in ["👍", "?", "!!!", "…", "->"] {
        let summary = of_budget(
            &[
                ("user", "Start."),
                ("assistant", "Do you want me to drop it?"),
                ("user", sign),
                ("assistant", "..."),
                ("user", "Go on."),
            ],
            5_000,
        );
        assert_eq!(requests(&summary), ["Start.", sign, "Go on."], "{sign}");
    }
}

#[test]
fn an_echo_within_what_another_agent_says_is_no_command_of_the_user() {
    let echo = "<command-name>/deploy</command-name><command-args>to prod</command-args>";
    let within = format!("<teammate-message from=\"b\">{echo}</teammate-message>");
    let quoted = format!("<local-command-stdout>{echo}</local-command-stdout>");
    for said in [&within, &quoted] {
        let summary = of_budget(&[("user", "Start."), ("user", said)], 5_000);
        assert_eq!(requests(&summary), ["Start."], "{said}");
    }
    let reminded = format!("<system-reminder>x</system-reminder>\n{echo}");
    for said in [echo, &reminded] {
        let summary = of_budget(&[("user", "Start."), ("user", said)], 5_000);
        assert!(summary.text.contains("to prod"), "{said}");
    }
}

#[test]
fn counts_of_messages_that_are_too_large_do_not_overflow() {
    let note = format!("[{} messages of the user left out: no room]", u64::MAX);
    let earlier = format!(
        "[Earlier conversation, summarised by ctxpack]\n## User requests\nL1\n~~~\nStart.\n~~~\nL2\n~~~\n{note}\n~~~"
    );
    let summary = of_budget(
        &[
            ("user", &earlier),
            ("assistant", "ok"),
            ("user", &earlier),
            ("user", "Go on."),
        ],
        5_000,
    );
    assert!(requests(&summary).contains(&&note[..]), "{}", summary.text);
}

#[test]
fn a_sentence_is_told_rather_than_how_many_are_not() {
    let text: String = (0..31)
        .map(|n| format!("{{\"role\":\"user\",\"content\":\"go on with step {n} of the plan\"}}\n"))
        .collect();
    let transcript = read_as(Format::Anthropic, text.as_bytes());
    let policy = auto();
    let extract = extract(&transcript, &transcript.conversations[0], 0..30, 1, &policy);
    let estimator = Estimator::new(&policy.tokens).unwrap();
    let tells = |tokens: &u64| {
        let summary = extract.summary(*tokens, UserWords::Budget, &estimator);
        summary.text.contains("step")
    };
    let all: Vec<u64> = (10..60).filter(tells).collect();
    let first = all[0];
    assert_eq!(all, (first..60).collect::<Vec<u64>>());
    assert!(first < 35, "{first}");
}

#[test]
fn a_question_that_is_asked_again_is_not_taken_for_another() {
    let mut messages = vec![("user", "Start.")];
    for asks in ["Shall I go on?", "Is the colour blue?", "Shall I go on?"] {
        messages.extend([("assistant", asks), ("user", "yes")]);
    }
    messages.push(("user", "Then do all that is left."));
    let summary = of_budget(&messages, 5_000);
    let times = |text: &str| summary.text.matches(text).count();
    assert_eq!(times("Is the colour blue?"), 1, "{}", summary.text);
    assert!(times("Shall I go on?") < 3, "{}", summary.text);
}

#[test]
fn a_question_in_what_was_said_last_is_told_once() {
    let summary = of_budget(
        &[
            ("user", "Start."),
            ("assistant", "I looked. Do you want me to drop it?"),
            ("user", "never"),
        ],
        5_000,
    );
    let asks = "Do you want me to drop it?";
    assert_eq!(summary.text.matches(asks).count(), 1, "{}", summary.text);
}

#[test]
fn lines_of_the_user_keep_their_blanks_and_cuts_are_marked() {
    let code = "Use exactly this:\n\n```python\ndef f(x):\n    if x:\n        return 1\n```\n\nPort 8355. Look!\n\n1. first\n   a. nested";
    let long = "and more of it that goes on and on and on and on ".repeat(12);
    let lines = user("Start.") + &user(code) + &user(&long) + &user("Go.");
    let transcript = read_as(Format::Anthropic, lines.as_bytes());
    let told = |tokens: u64| whole(&transcript, &auto(), tokens, UserWords::Budget);
    let all = told(600);
    assert!(all.text.contains(code), "{}", all.text);
    let mut has_part = false;
    for tokens in 20..200 {
        let summary = told(tokens);
        for row in rows_of(&summary, Section::Requests) {
            let parts: Vec<&str> = row.split("…").map(|part| part.trim_matches('\n')).collect();
            for part in &parts {
                let part = part.trim();
                let is_whole = code.contains(part) || long.contains(part);
                assert!(
                    is_whole || row == "Start." || row == "Go." || row.starts_with('['),
                    "{row}"
                );
            }
            has_part |= parts.len() > 1;
        }
    }
    assert!(has_part);
}

/// The texts of a section.
fn rows_of(summary: &ExtractiveSummary, section: Section) -> Vec<&str> {
    let rows = summary.rows.iter().filter(|row| row.section == section);
    rows.map(|row| &row.text[..]).collect()
}

#[test]
fn messages_that_are_left_out_are_counted_and_later_ones_added() {
    let many: String = (0..30)
        .map(|n| {
            user(&format!(
                "go on with step {n} of the plan that we agreed on, please"
            ))
        })
        .collect();
    let transcript = read_as(Format::Anthropic, many.as_bytes());
    let summary = whole(&transcript, &auto(), 200, UserWords::Budget);
    let told = rows_of(&summary, Section::Requests);
    let (note, told) = told.split_last().unwrap();
    assert_eq!(
        left_out(note),
        Some(30 - told.len() as u64),
        "{}",
        summary.text
    );
    assert!(told[0].contains("step 0 "), "{}", summary.text);
    let text = format!(
        "[Earlier conversation, summarised by ctxpack]\n{}",
        summary.text
    );
    let again = user(&text) + &many;
    let transcript = read_as(Format::Anthropic, again.as_bytes());
    let next = whole(&transcript, &auto(), 200, UserWords::Budget);
    let rows = rows_of(&next, Section::Requests);
    let (note, shown) = rows.split_last().unwrap();
    assert_eq!(
        left_out(note),
        Some(60 - shown.len() as u64),
        "{}",
        next.text
    );
}

#[test]
fn a_short_answer_keeps_the_question_that_it_answers() {
    let asks = r#"{"role":"assistant","content":[{"type":"text","text":"I looked at src/one.rs and src/two.rs. Do you want me to drop it?"}]}"#.to_owned() + "\n";
    let more: String = (0..40)
        .map(|n| format!("{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"The gauge_{n} of src/part_{n}.rs reads level_{n} today.\"}}]}}\n"))
        .collect();
    let lines = user("Start.")
        + &asks
        + &user("never")
        + &more
        + &user("Go on with all that is left to do here.");
    let transcript = read_as(Format::Anthropic, lines.as_bytes());
    let summary = whole(&transcript, &auto(), 120, UserWords::Budget);
    assert!(
        summary.text.contains("Do you want me to drop it?"),
        "{}",
        summary.text
    );
}

#[test]
fn the_users_words_come_before_files_that_were_only_read() {
    let mut lines = user("Do not touch tests/test_app.py.");
    for n in 0..20 {
        lines += &format!(
            "{}\n{}\n",
            format_args!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"r{n}","name":"Read","input":{{"file_path":"/w/f{n}.rs"}}}}]}}"#
            ),
            format_args!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"r{n}","content":"1\tx"}}]}}"#
            )
        );
        lines += &user(&format!("then the part of number {n}, as before"));
    }
    let transcript = read_as(Format::Anthropic, lines.as_bytes());
    let summary = whole(&transcript, &auto(), 300, UserWords::Budget);
    let told = rows_of(&summary, Section::Requests).len();
    let read = rows_of(&summary, Section::Files).len();
    assert!(told > 12 && read < 12, "{}", summary.text);
    assert!(summary.text.contains("L1 Do not touch tests/test_app.py."));
}
