//! Lists of to-dos and plans, as tools and answers write them.

use super::*;
use crate::facts::tests::{ResultText, anthropic, in_main};

#[test]
fn items_of_kimi_have_titles_and_a_look_at_the_list_changes_nothing() {
    let transcript = anthropic(&[
        (
            "TodoList",
            r#"{"todos":[{"title":"a","status":"done"},{"title":"b","status":"in_progress"}]}"#,
            ResultText::Fine("ok"),
        ),
        ("TodoList", "{}", ResultText::Fine("[done] a")),
    ]);
    let todos = in_main(&transcript, todos).unwrap();
    let items: Vec<_> = todos
        .items
        .iter()
        .map(|item| (&item.text[..], item.state))
        .collect();
    assert_eq!(
        items,
        [("a", TodoState::Completed), ("b", TodoState::InProgress)]
    );
}

#[test]
fn a_list_that_was_refused_without_a_flag_was_not_written() {
    let of = |said: &str| {
        let list = |state: &str| format!(r#"{{"todos":[{{"content":"a","status":"{state}"}}]}}"#);
        let (first, last) = (list("pending"), list("completed"));
        let transcript = anthropic(&[
            ("TodoWrite", &first, ResultText::Fine("ok")),
            ("TodoWrite", &last, ResultText::Fine(said)),
        ]);
        in_main(&transcript, todos).unwrap().items[0].state
    };
    for said in [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "Permission denied by user",
        "Error: the list could not be saved",
        "Failed to update the list",
        "<tool_use_error>InputValidationError: todos is missing</tool_use_error>",
        "Hook PreToolUse:TodoWrite denied this tool",
        &format!(
            "Traceback (most recent call last):\n{}ValueError: no",
            "  File x\n".repeat(300)
        ),
    ] {
        assert_eq!(of(said), TodoState::Pending, "{said}");
    }
    for said in [
        "",
        "ok",
        "Todos have been modified successfully.",
        "<system-reminder>\nThe list has changed.\n</system-reminder>",
        "1. [x] Error: the parser fails on empty input",
    ] {
        assert_eq!(of(said), TodoState::Completed, "{said}");
    }
}

#[test]
fn the_last_list_that_was_written_counts() {
    let transcript = anthropic(&[
        (
            "TodoWrite",
            r#"{"todos":[{"content":"old","status":"pending"}]}"#,
            ResultText::Fine("ok"),
        ),
        (
            "TodoWrite",
            r#"{"todos":[{"content":"a \"b\"","status":"completed","activeForm":"x"},{"status":"in_progress","content":"c"},{"content":"d","status":"?"},{"status":"pending"},7]}"#,
            ResultText::Fine("ok"),
        ),
        (
            "TodoWrite",
            r#"{"todos":[{"content":"bad"}]}"#,
            ResultText::Failed("no"),
        ),
        ("TodoWrite", r#"{"todos":"none"}"#, ResultText::Fine("ok")),
    ]);
    let todos = in_main(&transcript, todos).unwrap();
    let item = |text: &str, state| Todo {
        number: None,
        message: 2,
        text: text.to_owned(),
        state,
    };
    assert_eq!((todos.call.message, todos.call.line), (2, 2));
    assert_eq!(
        todos.items,
        [
            item("a \"b\"", TodoState::Completed),
            item("c", TodoState::InProgress),
            item("d", TodoState::Pending),
        ]
    );
}

#[test]
fn tasks_are_made_and_changed_one_by_one() {
    let made = |number: u32| format!("Task #{number} created successfully: x");
    let (one, two, three) = (made(1), made(2), made(3));
    let transcript = anthropic(&[
        ("TaskCreate", r#"{"subject":"a"}"#, ResultText::Fine(&one)),
        ("TaskCreate", r#"{"subject":"b"}"#, ResultText::Fine(&two)),
        ("TaskCreate", r#"{"subject":"c"}"#, ResultText::Fine(&three)),
        (
            "TaskCreate",
            r#"{"subject":"no number"}"#,
            ResultText::Fine("made"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"1","status":"completed"}"#,
            ResultText::Fine("ok"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"2","subject":"B"}"#,
            ResultText::Fine("ok"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"3","status":"deleted"}"#,
            ResultText::Fine("ok"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"2","status":"completed"}"#,
            ResultText::Failed("no"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"9","status":"completed"}"#,
            ResultText::Fine("ok"),
        ),
    ]);
    let found = in_main(&transcript, todos).unwrap();
    let found: Vec<(&str, TodoState)> =
        found.items.iter().map(|t| (&t.text[..], t.state)).collect();
    assert_eq!(
        found,
        [("a", TodoState::Completed), ("B", TodoState::Pending)]
    );
    // Tasks created earlier are in an earlier summary.
    let later = anthropic(&[
        (
            "TaskCreate",
            r#"{"subject":"d"}"#,
            ResultText::Fine("Task #4 created"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"4","status":"completed"}"#,
            ResultText::Fine("ok"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"2","status":"deleted"}"#,
            ResultText::Fine("ok"),
        ),
        (
            "TaskUpdate",
            r#"{"taskId":"1","subject":"A"}"#,
            ResultText::Fine("ok"),
        ),
    ]);
    let todos = in_main(&later, todos).unwrap();
    assert_eq!((todos.items.len(), todos.reach), (1, Reach::Named));
    let change = |number: &str, state, text: Option<&str>| TaskChange {
        number: number.to_owned(),
        state,
        source: ChangeSource::Call,
        text: text.map(str::to_owned),
    };
    assert_eq!(
        todos.changes,
        [
            change("2", StateChange::Deleted, None),
            change("1", StateChange::Unchanged, Some("A")),
        ]
    );
}

#[test]
fn a_list_of_tasks_tells_what_others_did() {
    let transcript = anthropic(&[
        (
            "TaskCreate",
            r#"{"subject":"a"}"#,
            ResultText::Fine("Task #1 created successfully: a"),
        ),
        (
            "TaskCreate",
            r#"{"subject":"b"}"#,
            ResultText::Fine("Task #2 created successfully: b"),
        ),
        (
            "TaskList",
            "{}",
            ResultText::Fine(
                "#1 [completed] a\n#2 [in_progress] b (agent-x)\n#7 [pending] c\n#x [?]",
            ),
        ),
    ]);
    let found = in_main(&transcript, todos).unwrap();
    let states: Vec<TodoState> = found.items.iter().map(|todo| todo.state).collect();
    assert_eq!(states, [TodoState::Completed, TodoState::InProgress]);
    assert_eq!(found.changes.len(), 1);
}

#[test]
fn a_list_that_says_what_the_one_before_said_changes_nothing() {
    let list = |states: &'static str| ("TaskList", "{}", ResultText::Fine(states));
    let transcript = anthropic(&[
        (
            "TaskUpdate",
            r#"{"taskId":"9","subject":"z"}"#,
            ResultText::Fine("ok"),
        ),
        list("#7 [pending] c\n#7 [pending] c"),
        list("#7 [pending] c"),
        list("#7 [completed] c"),
        (
            "TaskUpdate",
            r#"{"taskId":"7","status":"in_progress"}"#,
            ResultText::Fine("ok"),
        ),
        list("#7 [completed] c"),
    ]);
    let found = in_main(&transcript, |transcript, calls| {
        last_todos(transcript, calls.iter())
    });
    let changes = found.unwrap().changes;
    let states: Vec<_> = changes.iter().map(|change| change.state).collect();
    let [pending, doing, done] = [
        TodoState::Pending,
        TodoState::InProgress,
        TodoState::Completed,
    ]
    .map(StateChange::To);
    assert_eq!(states, [StateChange::Unchanged, pending, done, doing, done]);
}

#[test]
fn a_list_with_boxes_in_a_text_is_one_of_to_dos() {
    use crate::format::{Format, Warnings};

    let list = |text: &str| {
        let lines = format!(
            "{{\"role\":\"user\",\"content\":\"- [ ] x\\n- [ ] y\"}}\n{{\"role\":\"assistant\",\"content\":\"{text}\"}}\n"
        );
        let transcript = Format::Anthropic.read(lines.as_bytes(), 1, &mut Warnings::default());
        let found = listed(&transcript, &transcript.conversations[0], 0..2)?;
        assert_eq!((found.call.message, found.call.line), (1, 1));
        Some(found.items.len())
    };
    assert_eq!(list("So far:\\n- [x] one\\n- [ ] two\\n- three"), Some(2));
    assert_eq!(list("- [ ] only one"), None);
    assert_eq!(list("- one\\n- two"), None);
}

#[test]
fn an_empty_list_is_none() {
    let transcript = anthropic(&[
        (
            "TodoWrite",
            r#"{"todos":[{"content":"old"}]}"#,
            ResultText::Fine("ok"),
        ),
        ("TodoWrite", r#"{"todos":[]}"#, ResultText::Fine("ok")),
    ]);
    assert_eq!(in_main(&transcript, todos), None);
}

#[test]
fn a_plan_that_the_user_changed_counts_as_changed() {
    let of = |input: &str, said: &str| {
        let calls = [("ExitPlanMode", input, ResultText::Fine(said))];
        let plan = in_main(&anthropic(&calls), proposal).unwrap();
        (plan.text, plan.author, plan.call.line)
    };
    let approved = "User has approved your plan. You can now start coding.\n\n## Approved Plan";
    assert_eq!(
        of(
            r##"{"plan":"# Plan\nDrop the table"}"##,
            &format!("{approved} (edited by user):\n# Plan\nKeep the table"),
        ),
        ("# Plan\nKeep the table".to_owned(), Author::User, 1)
    );
    assert_eq!(
        of("{}", &format!("{approved}:\n# Plan\nDo x")),
        ("# Plan\nDo x".to_owned(), Author::Agent, 1)
    );
    assert_eq!(
        of(r#"{"plan":"Do y"}"#, &format!("{approved}:\nDo y")),
        ("Do y".to_owned(), Author::Agent, 0)
    );
}

#[test]
fn a_plan_says_whether_it_was_accepted() {
    let calls = [
        (
            "ExitPlanMode",
            r##"{"plan":"# One"}"##,
            ResultText::Fine("User has approved your plan. You can now start coding."),
        ),
        (
            "ExitPlanMode",
            r##"{"plan":"# Two\n- b"}"##,
            ResultText::Failed("stay"),
        ),
        (
            "ExitPlanMode",
            "{}",
            ResultText::Fine("User has approved your plan."),
        ),
    ];
    let last = |number: usize| {
        in_main(&anthropic(&calls[..number]), proposal).map(|p| (p.text, p.accepted))
    };
    assert_eq!(last(0), None);
    assert_eq!(last(1), Some(("# One".to_owned(), Done::Yes)));
    assert_eq!(last(3), Some(("# Two\n- b".to_owned(), Done::Failed)));
}

#[test]
fn a_plan_is_accepted_only_by_the_agents_own_sentence() {
    for (said, expected) in [
        ("Exited plan mode. Plan mode deactivated.", Done::Yes),
        ("User approved option \"B\".", Done::Yes),
        ("Plan approved! Exited plan mode.", Done::Yes),
        (
            "User rejected the plan. Feedback:\n\nuse sqlite",
            Done::Failed,
        ),
        (
            "User requested revisions. Plan mode remains active.",
            Done::Failed,
        ),
        ("Something else happened", Done::Unclear),
        ("approved", Done::Unclear),
    ] {
        let calls = [("ExitPlanMode", r#"{"plan":"Do x"}"#, ResultText::Fine(said))];
        let plan = in_main(&anthropic(&calls), proposal).unwrap();
        assert_eq!(plan.accepted, expected, "{said}");
    }
}

#[test]
fn a_list_that_was_not_written_replaces_none() {
    let old = (
        "TodoWrite",
        r#"{"todos":[{"content":"old"}]}"#,
        ResultText::Fine("ok"),
    );
    let new = (
        "TodoWrite",
        r#"{"todos":[{"content":"new"}]}"#,
        ResultText::Nothing,
    );
    let todos = in_main(&anthropic(&[old, new]), todos).unwrap();
    assert_eq!(todos.items[0].text, "old");
}

#[test]
fn many_tasks_of_which_nothing_is_known_are_read_once() {
    let call = ("TaskCreate", r#"{"subject":"a"}"#, ResultText::Nothing);
    let transcript = anthropic(&vec![call; 20_000]);
    assert_eq!(in_main(&transcript, todos), None);
}
