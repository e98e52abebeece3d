//! To-dos in summaries, and in summaries of summaries.

use super::*;

/// A call and its result.
fn called(n: usize, tool: &str, input: &str, result: &str) -> String {
    format!(
        "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"c{n}\",\"name\":\"{tool}\",\"input\":{input}}}]}}\n{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{n}\",\"content\":\"{result}\"}}]}}\n"
    )
}

/// A summary with these to-dos.
fn earlier(rows: &str) -> String {
    let text = format!(
        "[Earlier conversation, summarised by ctxpack]\\n## Plan and to-dos\\n{}",
        rows.replace('\n', "\\n")
    );
    format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n")
}

/// The plan and the to-dos in a summary of the first `end` messages.
fn plan(lines: &str, end: usize) -> Vec<String> {
    let transcript = read_as(Format::Anthropic, lines.as_bytes());
    let policy = auto();
    let extract = extract(
        &transcript,
        &transcript.conversations[0],
        0..end,
        1,
        &policy,
    );
    let estimator = Estimator::new(&policy.tokens).unwrap();
    let rows = extract.summary(1_000, UserWords::Verbatim, &estimator).rows;
    let plan = rows.into_iter().filter(|row| row.section == Section::Plan);
    plan.map(|row| format!("{}: {}", row.label, row.text))
        .collect()
}

#[test]
fn todos_that_are_written_anew_are_not_told() {
    let todo = |n: usize, text: &str| {
        let input = format!("{{\"todos\":[{{\"content\":\"{text}\",\"status\":\"pending\"}}]}}");
        called(n, "TodoWrite", &input, "")
    };
    let earlier = earlier("L3 pending: zero\nL4 plan, accepted: all");
    let lines = earlier.clone() + &todo(0, "one") + &todo(1, "two");
    assert_eq!(plan(&lines, 1), ["plan, accepted: all"]);
    assert_eq!(plan(&lines, 3), ["plan, accepted: all"]);
    assert_eq!(plan(&lines, 5), ["plan, accepted: all", "pending: two"]);
    // A list that is emptied replaces the others as well.
    let emptied = earlier + &called(0, "TodoWrite", "{\"todos\":[]}", "");
    assert_eq!(plan(&emptied, 3), ["plan, accepted: all"]);
}

#[test]
fn tasks_that_are_changed_one_by_one_keep_their_numbers_over_rounds() {
    let lines = [
        earlier(
            "L3 in progress: #1 one\nL3 pending: #2 two\nL3 pending: #3 three\nL3 pending: #4 four",
        ),
        called(
            0,
            "TaskUpdate",
            "{\"taskId\":\"1\",\"status\":\"completed\"}",
            "ok",
        ),
        called(
            1,
            "TaskUpdate",
            "{\"taskId\":\"2\",\"status\":\"deleted\"}",
            "ok",
        ),
        called(
            2,
            "TaskUpdate",
            "{\"taskId\":\"3\",\"subject\":\"thirty\"}",
            "ok",
        ),
        called(3, "TaskCreate", "{\"subject\":\"five\"}", "Task #5 created"),
        // After the span: its changes count, and tasks that it creates are visible anyway.
        called(
            4,
            "TaskUpdate",
            "{\"taskId\":\"5\",\"status\":\"in_progress\"}",
            "ok",
        ),
        called(5, "TaskCreate", "{\"subject\":\"six\"}", "Task #6 created"),
    ];
    assert_eq!(
        plan(&lines.concat(), 9),
        [
            "done: #1 one",
            "pending: #3 thirty",
            "pending: #4 four",
            "in progress: #5 five"
        ]
    );
}

#[test]
fn the_state_of_a_task_without_its_number_is_not_known_after_a_change() {
    let lines = [
        earlier("L3 pending: one\nL3 done: two"),
        called(
            0,
            "TaskUpdate",
            "{\"taskId\":\"1\",\"status\":\"completed\"}",
            "ok",
        ),
    ];
    assert_eq!(plan(&lines.concat(), 3), ["was pending: one", "done: two"]);
}

#[test]
fn what_a_list_was_before_is_no_detail() {
    let todo = |n: usize, state: &str| {
        let input = format!(r#"{{"todos":[{{"title":"Fix src/gauge.rs","status":"{state}"}}]}}"#);
        let result =
            format!(r"Todo list updated.\nCurrent todo list:\n  [{state}] Fix src/gauge.rs");
        called(n, "TodoList", &input, &result)
    };
    let lines = todo(0, "in_progress") + &todo(1, "done");
    let transcript = read_as(Format::Anthropic, lines.as_bytes());
    let policy = auto();
    let extract = extract(&transcript, &transcript.conversations[0], 0..4, 1, &policy);
    let estimator = Estimator::new(&policy.tokens).unwrap();
    let rows = extract.summary(1_000, UserWords::Verbatim, &estimator).rows;
    let details = rows.iter().filter(|row| row.section == Section::Details);
    let told: Vec<&str> = details.map(|row| &row.text[..]).collect();
    assert!(!told.join("\n").contains("[in_progress]"), "{told:?}");
}

#[test]
fn a_list_that_only_repeats_a_state_changes_no_to_do_without_a_number() {
    let earlier = earlier("L3 pending: zero");
    let update = called(0, "TaskUpdate", r#"{"taskId":"1","subject":"x"}"#, "ok");
    let listing = |state: &str| {
        let made = called(0, "TaskCreate", r#"{"subject":"y"}"#, "Task #8 created");
        made + &called(1, "TaskList", "{}", &format!("#7 [{state}] zero"))
    };
    let [same, was] = ["pending: zero", "was pending: zero"].map(|row| Some(row.to_owned()));
    let told = |lines: String, end: usize| {
        let mut rows = plan(&(earlier.clone() + &lines), end).into_iter();
        rows.find(|row| row.ends_with("zero"))
    };
    assert_eq!(told(listing("pending"), 5), same);
    assert_eq!(told(listing("completed"), 5), was);
    assert_eq!(told(update, 3), was);
}
