use super::questions::{LONGEST_QUESTION, short};
use super::*;
use crate::facts::tests::{ResultText, anthropic, in_main};

fn told(tool: &str, input: &str, result: ResultText<'_>) -> Option<String> {
    let transcript = anthropic(&[(tool, input, result)]);
    let all = in_main(&transcript, answers);
    assert!(all.len() < 2);
    all.into_values().next()
}

#[test]
fn answers_are_read_in_all_wordings() {
    let several = r#"{"questions":[{"id":"db","header":"DB","question":"Which database?"},{"id":"p","header":"Port","question":"Which port?"}]}"#;
    let one = r#"{"question":"Which database?","choices":["A"]}"#;
    for (tool, input, said, words) in [
        (
            "AskUserQuestion",
            several,
            r#"User has answered your questions: "Which database?"="Both". You can now continue with the user's answers in mind."#,
            r#""Which database?"="Both""#,
        ),
        (
            "AskUserQuestion",
            several,
            r#"Your questions have been answered: "Which database?"="SQLite, never Postgres", "Which port?"="9000" user notes: not 80. You can now continue with these answers in mind."#,
            r#""Which database?"="SQLite, never Postgres", "Which port?"="9000" user notes: not 80"#,
        ),
        (
            "AskUserQuestion",
            several,
            r#"The user answered: "Which port?"="9000". Read the answers carefully — they may differ."#,
            r#""Which port?"="9000""#,
        ),
        (
            "question",
            several,
            r#"User has answered your questions: "Which port?"="no \"quotes\" please"."#,
            r#""Which port?"="no \"quotes\" please"."#,
        ),
        (
            "ask_user",
            one,
            "User selected: SQLite 1111",
            r#""Which database?"="SQLite 1111""#,
        ),
        (
            "ask_user",
            one,
            "User responded: never\ntouch prod",
            "\"Which database?\"=\"never\ntouch prod\"",
        ),
        (
            "ask_user",
            several,
            r#"{"answers":{"0":"SQLite","1":""}}"#,
            r#""Which database?"="SQLite""#,
        ),
        (
            "request_user_input",
            several,
            r#"{"answers":{"db":{"answers":["PG","user_note: never Mongo 7070"]}}}"#,
            r#""Which database?"="PG, user_note: never Mongo 7070""#,
        ),
        (
            "vscode_askQuestions",
            several,
            r#"{"answers":{"DB":{"selected":["PG"],"freeText":"but 15","skipped":false}}}"#,
            r#""Which database?"="PG, but 15""#,
        ),
        (
            "ask_user_question",
            several,
            "User has provided the following answers:\n\n**DB**: PG",
            "**DB**: PG",
        ),
        (
            "ask_followup_question",
            one,
            "<answer>\nPG\n</answer>",
            r#""Which database?"="PG""#,
        ),
        (
            "ask_user",
            one,
            "take the one of before",
            r#""Which database?"="take the one of before""#,
        ),
    ] {
        let found = told(tool, input, ResultText::Fine(said));
        assert_eq!(found.as_deref(), Some(words), "{said}");
    }
    let clarified = "The user wants to clarify these questions.\n    Questions asked:\n- \"Which database?\"\n  Answer: PG\n- \"Which port?\"\n  (No answer provided)";
    let found = told("AskUserQuestion", several, ResultText::Failed(clarified));
    assert_eq!(found.as_deref(), Some(r#""Which database?"="PG""#));
}

#[test]
fn answers_that_look_like_something_else_are_the_users() {
    let one = r#"{"question":"Which?"}"#;
    for said in [
        "Errors should be fatal",
        "error handling first",
        "aborted runs must be retried",
        "[x] the second one",
        r#"["A","B"]"#,
        "<T> as a parameter",
        r#"{"port": 8080}"#,
    ] {
        let found = told("ask_followup_question", one, ResultText::Fine(said));
        assert_eq!(found, Some(format!("\"Which?\"=\"{said}\"")), "{said}");
    }
}

#[test]
fn marked_words_are_told_without_what_follows_them() {
    let act = "[The user has switched to ACT MODE, so you may now proceed with the task.]";
    let noted =
        format!("{act}\n\nThe user also says:\n<user_message>\nbegin with b\n</user_message>");
    let files = "<answer>\nPG\n</answer>\n\nFiles attached by the user:\n\n<file_content path=\"a\">\n</answer>\n</file_content>";
    for (tool, said, words) in [
        (
            "plan_mode_respond",
            "<user_message>\nnot in prod\n</user_message>",
            Some("not in prod"),
        ),
        ("plan_mode_respond", &noted, Some("begin with b")),
        ("plan_mode_respond", act, None),
        ("plan_mode_respond", "[Go ahead and execute.]", None),
        (
            "ask_followup_question",
            "<user_message>\nPG\n</user_message>",
            Some("PG"),
        ),
        ("ask_followup_question", files, Some("PG")),
    ] {
        let input = r#"{"question":"Which?"}"#;
        let found = told(tool, input, ResultText::Fine(said));
        let words = words.map(|words| format!("\"Which?\"=\"{words}\""));
        assert_eq!(found, words, "{said}");
    }
}

#[test]
fn a_tool_that_may_ask_something_else_must_say_that_the_user_answers() {
    let one = r#"{"question":"Which?"}"#;
    for tool in ["question", "clarify", "questionnaire", "ask_question"] {
        let found = told(tool, one, ResultText::Fine("The capital is X"));
        assert_eq!(found, None, "{tool}");
        let found = told(tool, one, ResultText::Fine("User selected: X"));
        assert_eq!(found.as_deref(), Some(r#""Which?"="X""#), "{tool}");
    }
}

#[test]
fn many_questions_take_no_longer_than_their_text() {
    let long = "There is much to say of it. ".repeat(7);
    let questions: Vec<_> = (0..20_000)
        .map(|n| serde_json::json!({"id": format!("q{n}"), "question": format!("{long}{n}?")}))
        .collect();
    let said: String = (0..20_000)
        .map(|n| format!("- \"{long}{n}?\"\n  Answer: a{n}\n"))
        .collect();
    let input = serde_json::json!({ "questions": questions }).to_string();
    let said = format!("The user wants to clarify these questions.\n{said}");
    let started = std::time::Instant::now();
    let found = told("AskUserQuestion", &input, ResultText::Failed(&said)).unwrap();
    assert!(
        found.ends_with("19999?\"=\"a19999\""),
        "{}",
        &found[found.len() - 60..]
    );
    let took = started.elapsed();
    assert!(took < std::time::Duration::from_secs(100), "{took:?}");
}

#[test]
fn words_beside_a_refusal_without_a_flag_need_its_whole_sentence() {
    let read = r#"{"file_path":"/a"}"#;
    let said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the other file";
    let found = told("Read", read, ResultText::Fine(said));
    assert_eq!(found.as_deref(), Some("use the other file"));
}

#[test]
fn what_the_user_has_not_said_is_no_answer() {
    let one = r#"{"question":"Which?"}"#;
    for (tool, said) in [
        (
            "ask_user",
            "User responded: The user is not available to respond and will review your work later.",
        ),
        ("ask_user", "Error: no terminal"),
        ("ask_user", r#"{"answers":{}}"#),
        (
            "request_user_input",
            "request_user_input is unavailable in Default mode",
        ),
        ("request_user_input", "aborted"),
        ("request_user_input", "aborted by user after 3.2s"),
        ("ask_user", r#"{"error":"no terminal"}"#),
        ("ask_user", r#"{"status":"cancelled"}"#),
        ("ask_user", "[The user is away]"),
        ("ask_user", "<tool_use_error>no</tool_use_error>"),
        ("AskUserQuestion", ""),
        ("Bash", "User has answered your questions: no"),
        ("Read", "The user doesn't want to say. the user said:\nx"),
    ] {
        let input = match tool {
            "Bash" => r#"{"command":"cat a"}"#,
            "Read" => r#"{"file_path":"/a"}"#,
            _ => one,
        };
        assert_eq!(told(tool, input, ResultText::Fine(said)), None, "{said}");
    }
    assert_eq!(
        told("ask_user", one, ResultText::Failed("no terminal")),
        None
    );
}

#[test]
fn words_beside_a_refusal_are_the_users() {
    let edit = r#"{"file_path":"/a","old_string":"a","new_string":"b"}"#;
    for (said, words) in [
        (
            "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nwrong file!\n\nedit b.py\n\nNote: The user's next message may contain a correction or preference.",
            Some("wrong file!\n\nedit b.py"),
        ),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected. The user provided the following reason for the rejection:  not on friday",
            Some("not on friday"),
        ),
        (
            "The user rejected this tool call. User feedback: use git rm",
            Some("use git rm"),
        ),
        (
            "The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>",
            Some("no"),
        ),
        (
            "The user doesn't want to proceed with this tool use. STOP.",
            None,
        ),
        ("He says: the user said:\nx", None),
    ] {
        let found = told("Edit", edit, ResultText::Failed(said));
        assert_eq!(found.as_deref(), words, "{said}");
    }
}

#[test]
fn of_a_long_question_its_end_tells_which_it_is() {
    let asks = "Which of the two do you want?";
    let long = format!("{} {asks}", "There is much to say of it.".repeat(9));
    assert_eq!(short(&long), format!("… {asks}"));
    let one = "is it this ".repeat(30);
    let cut = short(&one).into_owned();
    assert!(
        cut.len() < LONGEST_QUESTION + 5 && cut.ends_with(" …"),
        "{cut}"
    );
    let input = serde_json::json!({"questions": [{"question": long}]}).to_string();
    let said = format!("Your questions have been answered: \"{long}\"=\"the first\"");
    let found = told("AskUserQuestion", &input, ResultText::Fine(&said));
    assert_eq!(found, Some(format!("\"… {asks}\"=\"the first\"")));
}

#[test]
fn why_a_plan_was_rejected_is_the_users_in_whole() {
    let said = "User rejected the plan. Feedback:\n\nuse sqlite\n\n- and no server";
    for result in [ResultText::Fine(said), ResultText::Failed(said)] {
        assert_eq!(
            told("ExitPlanMode", r#"{"plan":"p"}"#, result).as_deref(),
            Some("use sqlite\n\n- and no server")
        );
    }
    assert_eq!(
        told(
            "other",
            "{}",
            ResultText::Fine("User rejected the plan. Feedback:\n\nx")
        ),
        told("other", "{}", ResultText::Fine("y"))
    );
}

#[test]
fn the_reason_of_a_rejected_call_is_the_users_in_whole() {
    let sentence = "Tool \"Bash\" was not run because the user rejected the approval request.";
    let advice = "Try a different approach — don't retry the same call, don't attempt to bypass the restriction.";
    for (said, expected) in [
        (
            format!("{sentence} Reason: one\ntwo\n\n- three"),
            Some("one\ntwo\n\n- three"),
        ),
        (format!("{sentence} Reason: one {advice}"), Some("one")),
        (sentence.to_owned(), None),
        (format!("see: {sentence} Reason: one"), None),
    ] {
        let told = told("Bash", r#"{"command":"rm a"}"#, ResultText::Failed(&said));
        assert_eq!(told.as_deref(), expected, "{said}");
    }
}

#[test]
fn what_the_user_says_of_a_plan_is_kept_up_to_the_words_of_gemini_cli() {
    let said = "Plan rejected. User feedback: use postgres\nfeedback: now\n\nThe plan is stored at: /x/p.md\nRevise it.";
    assert_eq!(
        told("exit_plan_mode", "{}", ResultText::Fine(said)).as_deref(),
        Some("use postgres\nfeedback: now")
    );
}
