//! The effects found for calls in cells.

use serde_json::{Value, json};

use super::super::tests::read_as;
use super::super::{CommandStatus, Done, WorkBudget, commands, failed_results, files};
use super::*;
use crate::format::Format;

/// A session of cells, each with the texts of its result.
fn session(cells: &[(&str, Value)]) -> Transcript<'static> {
    let item = |payload: Value| json!({"timestamp": "2026-03-09T11:00:04.000Z", "type": "response_item", "payload": payload});
    let mut lines = vec![
        json!({"timestamp": "2026-03-09T11:00:01.000Z", "type": "session_meta", "payload": {"id": "019a0000-7a1d-7e0c-8b5f-c0a570000001", "cwd": "/w"}}),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do"}]}),
        ),
    ];
    for (number, (code, output)) in cells.iter().enumerate() {
        let id = format!("call_{number}");
        let (call, result) = match code.strip_prefix("wait ") {
            Some(cell) => (
                json!({"type": "function_call", "name": "wait", "arguments": json!({"cell_id": cell}).to_string(), "call_id": id}),
                "function_call_output",
            ),
            None => (
                json!({"type": "custom_tool_call", "name": "exec", "input": code, "call_id": id}),
                "custom_tool_call_output",
            ),
        };
        lines.push(item(call));
        lines.push(item(
            json!({"type": result, "call_id": id, "output": output}),
        ));
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    read_as(Format::Codex, &lines.join("\n"))
}

fn calls_of(transcript: &Transcript<'_>) -> Vec<Exchange> {
    calls(transcript, &transcript.conversations[0], &Tools::default())
}

fn completed(blocks: &[&str]) -> Value {
    let head = "Script completed\nWall time 0.1 seconds\nOutput:\n";
    let all = [&[head], blocks].concat();
    all.iter()
        .map(|text| json!({"type": "input_text", "text": text}))
        .collect()
}

fn exits(cells: &[(&str, Value)]) -> Vec<(String, CommandStatus)> {
    let transcript = session(cells);
    let commands = commands(&transcript, &calls_of(&transcript)).into_iter();
    commands
        .map(|command| (command.text, command.exit))
        .collect()
}

#[test]
fn a_cell_that_runs_ends_where_it_is_waited_for() {
    let code = "const r = await tools.exec_command({cmd: 'make'}); text(JSON.stringify(r));";
    let running = json!("Script running with cell ID 3\nWall time 10.0 seconds\nOutput:\n");
    let make = |exit| vec![("make".to_owned(), exit)];
    assert_eq!(
        exits(&[(code, running.clone())]),
        make(CommandStatus::Running)
    );
    let ended = completed(&["{\"exit_code\": 2, \"output\": \"no\"}"]);
    let cells = [
        (code, running.clone()),
        ("wait 3", running.clone()),
        ("wait 3", ended.clone()),
    ];
    assert_eq!(exits(&cells), make(CommandStatus::Code(2)));
    // Another cell.
    assert_eq!(
        exits(&[(code, running), ("wait 4", ended)]),
        make(CommandStatus::Running)
    );
}

#[test]
fn the_result_that_says_so_has_failed() {
    let start = "const r = await tools.exec_command({cmd: 'make'}); text(JSON.stringify(r));";
    let read =
        "const r = await tools.write_stdin({session_id: 7, chars: ''}); text(JSON.stringify(r));";
    let failed = |cells: &[(&str, Value)]| -> Vec<u32> {
        let transcript = session(cells);
        let calls = calls_of(&transcript);
        let failed = failed_results(&transcript, &calls);
        failed.iter().map(|b| transcript.block(*b).line).collect()
    };
    let fails = completed(&["{\"exit_code\": 1, \"output\": \"no\"}"]);
    let goes_on = completed(&["{\"session_id\": 7, \"output\": \"\"}"]);
    let well = completed(&["{\"exit_code\": 0, \"output\": \"\"}"]);
    assert_eq!(failed(&[(start, fails.clone()), (start, well)]), [3]);
    // The command failed once, and the second result states it.
    assert_eq!(failed(&[(start, goes_on), (read, fails)]), [5]);
}

#[test]
fn a_session_ends_where_it_is_read_to_its_end() {
    let start = "const r = await tools.exec_command({cmd: 'make'}); text(JSON.stringify(r));";
    let read =
        "const r = await tools.write_stdin({session_id: 7, chars: ''}); text(JSON.stringify(r));";
    let running = completed(&["{\"session_id\": 7, \"output\": \"\"}"]);
    let ended = completed(&["{\"exit_code\": 0, \"output\": \"done\"}"]);
    let make = |exit| vec![("make".to_owned(), exit)];
    assert_eq!(
        exits(&[(start, running.clone()), (read, running.clone())]),
        make(CommandStatus::Running)
    );
    assert_eq!(
        exits(&[(start, running.clone()), (read, running), (read, ended)]),
        make(CommandStatus::Code(0))
    );
}

#[test]
fn what_failed_or_was_interrupted_is_known_of_the_only_call() {
    let one = "await tools.exec_command({cmd: 'a'});";
    let two = "await tools.exec_command({cmd: 'a'}); await tools.exec_command({cmd: 'b'});";
    let failed: Value = json!([{"type": "input_text", "text": "Script failed\nWall time 0.0 seconds\nOutput:\n"}, {"type": "input_text", "text": "Script error:\nexec_command failed: no such folder"}]);
    let later: Value = json!([{"type": "input_text", "text": "Script failed\nWall time 0.0 seconds\nOutput:\n"}, {"type": "input_text", "text": "Script error:\nTypeError: x is undefined"}]);
    let exit = |code: &str, result: &Value| exits(&[(code, result.clone())])[0].1;
    assert_eq!(exit(one, &failed), CommandStatus::Failed);
    assert_eq!(exit(two, &failed), CommandStatus::Unknown);
    // The call may have succeeded before.
    assert_eq!(exit(one, &later), CommandStatus::Unknown);
    assert_eq!(
        exit(one, &json!("aborted by user after 12s")),
        CommandStatus::Interrupted
    );
    let sleeps = "await tools.exec_command({cmd: 'a'}); await sleep(9);";
    assert_eq!(
        exit(sleeps, &json!("aborted by user after 12s")),
        CommandStatus::Unknown
    );
    assert_eq!(exit(one, &completed(&[])), CommandStatus::Unknown);
    // Cleared by an earlier compaction.
    assert_eq!(
        exit(one, &json!("[Old tool result content cleared]")),
        CommandStatus::Unknown
    );
}

#[test]
fn a_patch_has_failed_where_what_the_cell_prints_of_it_says_so() {
    let patch = |then: &str| {
        format!(
            "const r = await tools.apply_patch('*** Begin Patch\\n*** Update File: /w/a.txt\\n@@\\n-one\\n+two\\n*** End Patch'); {then}"
        )
    };
    let done = |code: &str, blocks: &[&str]| {
        let transcript = session(&[(code, completed(blocks))]);
        let files = files(&transcript, &calls_of(&transcript));
        files[0].operations[0].done
    };
    let whole = patch("text(r);");
    let json = patch("text(JSON.stringify(r));");
    let not = "apply_patch verification failed: Failed to find expected lines";
    assert_eq!(done(&whole, &["Success. Updated: a.txt"]), Done::Yes);
    assert_eq!(done(&whole, &[not]), Done::Failed);
    let beside = |output: &str, code: u8| {
        json!({"output": output, "metadata": {"exit_code": code}}).to_string()
    };
    assert_eq!(done(&json, &[&beside(not, 1)]), Done::Failed);
    assert_eq!(done(&json, &[&beside("Not all of it", 1)]), Done::Failed);
    assert_eq!(done(&json, &[&beside("Success.", 0)]), Done::Yes);
    // It is unknown which call this refers to.
    let other = patch("text('said: ' + r);");
    let said = format!("said: {not}");
    assert_eq!(done(&other, &[&said]), Done::Unclear);
}

#[test]
fn a_file_is_known_as_the_cell_has_printed_it_and_no_longer_once_it_may_have_changed() {
    let read =
        "const r = await tools.exec_command({cmd: 'cat a.txt', workdir: '/w'}); text(r.output);";
    let patch = "const p = '*** Begin Patch\\n*** Update File: /w/a.txt\\n@@\\n-one\\n+two\\n*** End Patch'; text(await tools.apply_patch(p));";
    let maybe = "if (x) { text(await tools.apply_patch('*** Begin Patch\\n*** Update File: /w/a.txt\\n@@\\n-one\\n+two\\n*** End Patch')); }";
    let known = |cells: &[(&str, Value)]| {
        let transcript = session(cells);
        let files = files(&transcript, &calls_of(&transcript));
        let file = files.iter().find(|file| file.path == "/w/a.txt").unwrap();
        let known = file.known(&transcript, &[], &WorkBudget::default());
        (
            known.map(|known| known.content.text),
            file.operations.last().unwrap().done,
        )
    };
    let shown = (read, completed(&["one\nand more\n"]));
    assert_eq!(
        known(std::slice::from_ref(&shown)),
        (Some("one\nand more\n".to_owned()), Done::Yes)
    );
    let patched = (patch, completed(&["{}"]));
    assert_eq!(
        known(&[shown.clone(), patched]),
        (Some("two\nand more\n".to_owned()), Done::Yes)
    );
    let unsure = (maybe, completed(&["{}"]));
    assert_eq!(known(&[shown.clone(), unsure]), (None, Done::Unclear));
    // An output that was not printed, or is only an error message, shows nothing.
    let silent = "await tools.exec_command({cmd: 'cat a.txt', workdir: '/w'}); text('done');";
    assert_eq!(
        known(&[(silent, completed(&["done"]))]),
        (None, Done::Unclear)
    );
    let complaint = completed(&["cat: a.txt: No such file or directory\n"]);
    assert_eq!(known(&[(read, complaint)]), (None, Done::Failed));
}

#[test]
fn a_cell_with_what_cannot_be_read_is_known_as_such() {
    for (code, expected) in [
        ("await tools.apply_patch(cur.output)", true),
        (r#"await tools["exec_command"]({cmd:"rm a"})"#, true),
        (
            "for (const c of cs) await tools.exec_command({cmd: c})",
            true,
        ),
        (r#"await tools.exec_command({cmd:"ls"})"#, false),
        (
            r#"await tools.apply_patch("*** Begin Patch\n*** Delete File: a\n*** End Patch")"#,
            false,
        ),
    ] {
        let transcript = session(&[(code, completed(&[]))]);
        let call = calls_of(&transcript)[0].call;
        let found = has_unread(&transcript, transcript.block(call.block));
        assert_eq!(found, expected, "{code}");
    }
}
