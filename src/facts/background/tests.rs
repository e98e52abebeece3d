//! How background commands ended, from later results and notices.

use super::super::tests::read_as;
use super::super::{CommandStatus, calls, commands, endings, failures};
use crate::format::Format;
use crate::policy::Policy;

/// The commands of a session with how they ended, and the lines of its failures.
fn told(format: Format, lines: &[String]) -> (Vec<(String, CommandStatus)>, Vec<String>) {
    let transcript = read_as(format, &lines.join("\n"));
    let tools = Policy::default().tools;
    let calls = calls(&transcript, &transcript.conversations[0], &tools);
    let commands = commands(&transcript, &calls).into_iter();
    let failures = failures(&transcript, &calls).into_iter();
    (
        commands
            .map(|command| (command.text, command.exit))
            .collect(),
        failures.flat_map(|failure| failure.lines).collect(),
    )
}

fn codex(id: &str, tool: &str, input: &str, output: &str) -> String {
    let payload = |rest: String| {
        format!(r#"{{"timestamp":"t","type":"response_item","payload":{{{rest}}}}}"#)
    };
    let input = input.replace('"', r#"\""#);
    let call = payload(format!(
        r#""type":"function_call","name":"{tool}","arguments":"{input}","call_id":"{id}""#
    ));
    let result = payload(format!(
        r#""type":"function_call_output","call_id":"{id}","output":"Chunk ID: a\nWall time: 1.0 seconds\n{output}""#
    ));
    format!("{call}\n{result}")
}

const META: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s","timestamp":"t","cwd":"/w","originator":"o","cli_version":"0.1"}}"#;

/// A cell that runs a command and prints everything known about it.
fn cell(id: &str, command: &str, printed: &str) -> String {
    let printed = printed.replace('"', r#"\""#);
    format!(
        r#"{{"timestamp":"t","type":"response_item","payload":{{"type":"custom_tool_call","name":"exec","call_id":"{id}","input":"const r = await tools.exec_command({{cmd: '{command}'}}); text(JSON.stringify(r));"}}}}
{{"timestamp":"t","type":"response_item","payload":{{"type":"custom_tool_call_output","call_id":"{id}","output":[{{"type":"input_text","text":"Script completed\nWall time 1.0 seconds\nOutput:\n"}},{{"type":"input_text","text":"{printed}"}}]}}}}"#
    )
}

#[test]
fn what_a_cell_has_begun_ends_where_a_call_outside_of_cells_reads_it() {
    let poll = |id: &str, session: u32, said: &str| {
        let input = format!(r#"{{"session_id":{session},"chars":""}}"#);
        codex(
            id,
            "write_stdin",
            &input,
            &format!(r"{said}\nOriginal token count: 1\nOutput:\n"),
        )
    };
    let lines = [
        META.to_owned(),
        cell("1", "make a", r#"{"session_id":71,"output":""}"#),
        cell("2", "make b", r#"{"session_id":72,"output":""}"#),
        cell("3", "make c", r#"{"session_id":73,"output":""}"#),
        poll("4", 72, "Process running with session ID 72"),
        poll("5", 71, "Process exited with code 0"),
        poll("6", 72, "Process exited with code 2"),
        cell("7", "make d", r#"{"session_id":74,"output":""}"#),
    ];
    let (commands, _) = told(Format::Codex, &lines);
    let exits: Vec<CommandStatus> = commands.into_iter().map(|(_, exit)| exit).collect();
    let expected = [
        CommandStatus::Code(0),
        CommandStatus::Code(2),
        // It has not been polled since.
        CommandStatus::WasRunning,
        CommandStatus::Running,
    ];
    assert_eq!(exits, expected);
}

#[test]
fn an_event_for_a_viewer_tells_the_end_that_no_result_has() {
    let event = |id: &str, process: u32, code: i64| {
        format!(
            r#"{{"timestamp":"t","type":"event_msg","payload":{{"type":"exec_command_end","call_id":"{id}","process_id":"{process}","command":["sh","-lc","x"],"stdout":"","aggregated_output":"Process exited with code 9","exit_code":{code},"status":"completed"}}}}"#
        )
    };
    let runs = |n: u32| {
        format!(r"Process running with session ID {n}\nOriginal token count: 0\nOutput:\n")
    };
    let lines = [
        META.to_owned(),
        codex("1", "exec_command", r#"{"cmd":"make a"}"#, &runs(7)),
        cell("2", "make b", r#"{"session_id":8,"output":""}"#),
        codex("3", "exec_command", r#"{"cmd":"make c"}"#, &runs(9)),
        event("1", 7, 2),
        event("own", 8, 3),
        // The end of another command.
        event("other", 10, 4),
    ];
    let (commands, _) = told(Format::Codex, &lines);
    let exits: Vec<CommandStatus> = commands.into_iter().map(|(_, exit)| exit).collect();
    assert_eq!(
        exits,
        [
            CommandStatus::Code(2),
            CommandStatus::Code(3),
            CommandStatus::Running
        ]
    );
}

#[test]
fn a_session_is_read_until_it_ends() {
    let runs = |n: u32| {
        format!(r"Process running with session ID {n}\nOriginal token count: 0\nOutput:\n")
    };
    let ends = |code: u32, said: &str| {
        format!(r"Process exited with code {code}\nOriginal token count: 9\nOutput:\n{said}")
    };
    let lines = [
        META.to_owned(),
        codex("1", "exec_command", r#"{"cmd":"make a"}"#, &runs(7)),
        codex("2", "exec_command", r#"{"cmd":"make b"}"#, &runs(8)),
        codex("3", "exec_command", r#"{"cmd":"make c"}"#, &runs(9)),
        codex(
            "4",
            "write_stdin",
            r#"{"session_id":8,"chars":""}"#,
            &runs(8),
        ),
        codex(
            "5",
            "write_stdin",
            r#"{"session_id":7,"chars":""}"#,
            &ends(0, "fine"),
        ),
        codex(
            "6",
            "write_stdin",
            r#"{"session_id":8,"chars":""}"#,
            &ends(2, r"b.c:1: error: no such b"),
        ),
        // The session has ended; the status of the last one is not stated.
        codex(
            "7",
            "write_stdin",
            r#"{"session_id":7,"chars":""}"#,
            &ends(1, "unknown session"),
        ),
    ];
    let (commands, failures) = told(Format::Codex, &lines);
    let exits: Vec<CommandStatus> = commands.into_iter().map(|(_, exit)| exit).collect();
    // The agent continued and never polled again.
    assert_eq!(
        exits,
        [
            CommandStatus::Code(0),
            CommandStatus::Code(2),
            CommandStatus::WasRunning
        ]
    );
    assert_eq!(failures, ["b.c:1: error: no such b", "unknown session"]);
}

fn claude(uuid: u32, role: &str, content: &str, record: &str) -> String {
    format!(
        r#"{{"type":"{role}","uuid":"{uuid}","parentUuid":"{}","sessionId":"s","cwd":"/w","version":"2.1.0","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"{role}","content":{content}}}{record}}}"#,
        uuid - 1
    )
}

#[test]
fn a_task_has_ended_when_its_output_or_a_notice_says_so() {
    let call = |id: u32, tool: &str, input: &str| {
        format!(r#"[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]"#)
    };
    let result = |id: u32, said: &str| {
        format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"{said}"}}]"#)
    };
    let begins = |task: &str| {
        format!(
            r#","toolUseResult":{{"stdout":"","stderr":"","interrupted":false,"backgroundTaskId":"{task}"}}"#
        )
    };
    let began = |task: &str| {
        format!("Command running in background with ID: {task}. Output is being written to: /t")
    };
    let run = |n: u32, task: &str| {
        [
            claude(
                2 * n + 1,
                "assistant",
                &call(n, "Bash", &format!(r#"{{"command":"run {task}"}}"#)),
                "",
            ),
            claude(2 * n + 2, "user", &result(n, &began(task)), &begins(task)),
        ]
    };
    let mut lines: Vec<String> = vec![
        claude(1, "user", "\"go\"", "").replace(r#""parentUuid":"0""#, r#""parentUuid":null"#),
    ];
    lines.extend(
        run(1, "a1").map(|line| line.replace(r#""parentUuid":"2""#, r#""parentUuid":"1""#)),
    );
    lines.extend(run(2, "b2"));
    lines.extend(run(3, "c3"));
    lines.extend(run(4, "d4"));
    lines.push(claude(
        11,
        "assistant",
        &call(9, "TaskOutput", r#"{"task_id":"a1","block":true}"#),
        "",
    ));
    lines.push(claude(
        12,
        "user",
        &result(9, r"<retrieval_status>success</retrieval_status>\n\n<task_id>a1</task_id>\n\n<task_type>local_bash</task_type>\n\n<status>failed</status>\n\n<exit_code>3</exit_code>\n\n<output>\n<status>completed</status>\nerror: a is not there\n</output>"),
        "",
    ));
    lines.push(claude(
        13,
        "user",
        r#""<task-notification>\n<task-id>b2</task-id>\n<status>completed</status>\n<summary>Background command \"run b2\" completed (exit code 0)</summary>\n</task-notification>""#,
        "",
    ));
    lines.push(claude(
        14,
        "assistant",
        &call(12, "KillShell", r#"{"shell_id":"d4"}"#),
        "",
    ));
    lines.push(claude(
        15,
        "user",
        &result(
            12,
            r#"{\"message\":\"Successfully killed shell: d4 (run d4)\",\"shell_id\":\"d4\"}"#,
        ),
        "",
    ));
    let (commands, failures) = told(Format::ClaudeCode, &lines);
    let expected = [
        ("run a1", CommandStatus::Code(3)),
        ("run b2", CommandStatus::Code(0)),
        ("run c3", CommandStatus::Running),
        ("run d4", CommandStatus::Interrupted),
    ];
    assert_eq!(
        commands,
        expected.map(|(text, exit)| (text.to_owned(), exit))
    );
    assert_eq!(failures, ["error: a is not there"]);
}

#[test]
fn a_notice_counts_wherever_claude_code_writes_it_itself() {
    let notice = |task: &str, said: &str| {
        format!(
            r#"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>REDACTED</tool-use-id>\n<status>failed</status>\n<summary>Background command \"{said}\" failed with exit code 7</summary>\n</task-notification>"#
        )
    };
    let call = |uuid: u32, id: u32, command: &str| {
        let content = format!(
            r#"[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}","run_in_background":true}}}}]"#
        );
        claude(uuid, "assistant", &content, "")
    };
    let result = |uuid: u32, id: u32, task: &str| {
        let content = format!(
            r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"Command running in background with ID: {task}. Output is being written to: /t"}}]"#
        );
        let record = format!(
            r#","toolUseResult":{{"stdout":"","stderr":"","interrupted":false,"backgroundTaskId":"{task}"}}"#
        );
        claude(uuid, "user", &content, &record)
    };
    let attachment = |uuid: u32, mode: &str, prompt: &str| {
        format!(
            r#"{{"type":"attachment","uuid":"{uuid}","parentUuid":"{}","sessionId":"s","cwd":"/w","version":"2.1.0","timestamp":"2026-01-01T00:00:00Z","attachment":{{"type":"queued_command","prompt":"{prompt}","commandMode":"{mode}"}}}}"#,
            uuid - 1
        )
    };
    let queued = |operation: &str, content: &str| {
        format!(
            r#"{{"type":"queue-operation","operation":"{operation}","timestamp":"2026-01-01T00:00:00Z","sessionId":"s","content":"{content}"}}"#
        )
    };
    let lines = vec![
        claude(1, "user", "\"go\"", "").replace(r#""parentUuid":"0""#, r#""parentUuid":null"#),
        call(2, 1, "run a1"),
        result(3, 1, "a1"),
        call(4, 2, "run b2"),
        result(5, 2, "b2"),
        call(6, 3, "run c3"),
        result(7, 3, "c3"),
        queued("enqueue", &notice("a1", "run a1")),
        attachment(8, "task-notification", &notice("b2", "Run the second")),
        // Text that the user typed is not a notice.
        attachment(9, "prompt", &notice("c3", "run c3")),
        claude(
            10,
            "assistant",
            r#"[{"type":"text","text":"So they have failed."}]"#,
            "",
        ),
    ];
    let (commands, _) = told(Format::ClaudeCode, &lines);
    let expected = [
        ("run a1", CommandStatus::Code(7)),
        ("run b2", CommandStatus::Code(7)),
        ("run c3", CommandStatus::Running),
    ];
    assert_eq!(
        commands,
        expected.map(|(text, exit)| (text.to_owned(), exit))
    );
    let transcript = read_as(Format::ClaudeCode, &lines.join("\n"));
    let conversation = &transcript.conversations[0];
    let calls = calls(&transcript, conversation, &Policy::default().tools);
    // All of them belong to calls that are still there.
    assert_eq!(endings(&transcript, conversation, &calls), []);
    let ends = endings(&transcript, conversation, &[]).into_iter();
    let ends: Vec<(u32, String, Option<String>)> = ends
        .map(|ending| (ending.at.line, ending.name, ending.text))
        .collect();
    let expected = [(7, "a1", "run a1"), (8, "b2", "Run the second")];
    let expected =
        expected.map(|(line, name, text)| (line, name.to_owned(), Some(text.to_owned())));
    assert_eq!(ends, expected);
}

#[test]
fn a_record_of_kimi_tells_how_a_task_ended() {
    let event = |event: &str| {
        format!(r#"{{"type":"context.append_loop_event","agentId":"main","event":{event}}}"#)
    };
    let mut lines = vec![
        r#"{"type":"metadata","protocolVersion":"1","createdAt":1}"#.to_owned(),
        event(r#"{"type":"step.begin","uuid":"s","turnId":"0","step":1}"#),
        event(
            r#"{"type":"tool.call","uuid":"u","turnId":"0","step":1,"stepUuid":"s","toolCallId":"c","name":"Bash","args":{"command":"sleep 2; exit 3","run_in_background":true}}"#,
        ),
        event(
            r#"{"type":"tool.result","parentUuid":"u","toolCallId":"c","result":{"output":"task_id: bash-6\npid: 25\ndescription: d\nstatus: running\n"}}"#,
        ),
    ];
    let of = |lines: &[String]| told(Format::Kimi, lines).0[0].1;
    assert_eq!(of(&lines), CommandStatus::Running);
    lines.push(
        r#"{"type":"task.terminated","agentId":"main","info":{"taskId":"bash-6","status":"failed","command":"sleep 2; exit 3","exitCode":3}}"#.to_owned(),
    );
    assert_eq!(of(&lines), CommandStatus::Code(3));
}
