//! What counts as the user's words, and that none of them are lost.

use super::*;

/// The summary of a conversation of plain messages, in which the user's words compete.
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
