//! What remains of a file after shell commands.

mod git;

use super::*;
use crate::facts::Activity;
use crate::facts::tests::{ResultText, anthropic};
use crate::policy::Tools;

const FINE: ResultText<'_> = ResultText::Fine("");

/// The last operation of these commands on `src/a.rs`, which is edited first.
fn after(commands: &[(&str, ResultText<'_>)]) -> (FileAction, Done) {
    last_of("src/a.rs", commands)
}

fn last_of(path: &str, commands: &[(&str, ResultText<'_>)]) -> (FileAction, Done) {
    let edit = r#"{"file_path":"src/a.rs","old_string":"a","new_string":"b"}"#.to_owned();
    let write = r#"{"file_path":"src/new.rs","content":"b"}"#.to_owned();
    let shell = commands.iter().map(|(command, said)| {
        let input = serde_json::json!({ "command": command }).to_string();
        ("Bash", input, *said)
    });
    let done = ResultText::Fine("The file has been updated.");
    let calls: Vec<_> = [("Edit", edit, done), ("Write", write, done)]
        .into_iter()
        .chain(shell)
        .collect();
    let calls: Vec<_> = calls
        .iter()
        .map(|(tool, input, said)| (*tool, &input[..], *said))
        .collect();
    let transcript = anthropic(&calls);
    let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
    let file = acts.files.iter().find(|file| file.path == path).unwrap();
    let last = file.last().unwrap();
    (last.what, last.done)
}

#[test]
fn what_is_removed_for_certain_is_gone() {
    for command in [
        "rm src/a.rs",
        "rm -r src",
        "cd src && rm a.rs",
        "(cd src && rm a.rs) && ls",
        "rm src/a.rs 2>&1",
        "bash -c 'rm src/a.rs'",
    ] {
        assert_eq!(
            after(&[(command, FINE)]),
            (FileAction::Delete, Done::Yes),
            "{command}"
        );
    }
    let moved = after(&[("mv src/a.rs lib/", FINE)]);
    assert_eq!(moved, (FileAction::MoveFrom, Done::Yes));
}

#[test]
fn what_may_be_removed_is_not_told_as_if_it_were_there() {
    for command in [
        "rm src/a*.rs",
        "rm src/a.rs 2>/dev/null",
        "rm src/a.rs > /dev/null 2>&1",
        "rm src/a.rs; ls",
        "find . -name 'a.*' -delete",
        "grep -l x src/*.rs | xargs rm",
        "cd lib && rm ../src/a.rs",
        "rm -rf s*",
        "rm x.rs src/a.rs",
        "rm -r src",
    ] {
        let said = match command {
            // One of the two may have been removed.
            "rm x.rs src/a.rs" => ResultText::Failed("Exit code 1\nrm: cannot remove 'x.rs'"),
            "rm -r src" => ResultText::Failed("Exit code 1\nrm: cannot remove 'src/b'"),
            _ => FINE,
        };
        assert_eq!(
            after(&[(command, said)]),
            (FileAction::Delete, Done::Unclear),
            "{command}"
        );
    }
    let complaint = ResultText::Fine("rm: cannot remove 'src/a.rs': Permission denied");
    assert_eq!(after(&[("rm src/a.rs", complaint)]).1, Done::Unclear);
    // It may have been removed by the second.
    let failed = ResultText::Failed("Exit code 1");
    let twice = after(&[("rm src/a.rs", failed), ("rm -f src/a.rs", FINE)]);
    assert_eq!(twice, (FileAction::Delete, Done::Yes));
}

#[test]
fn what_is_not_removed_is_there() {
    let refused = "The user doesn't want to proceed with this tool use. It was rejected.";
    for (command, said) in [
        ("echo rm src/a.rs", FINE),
        ("rm src/b.rs", FINE),
        ("rm a.rs", FINE),
        ("cd lib && rm src/a.rs", FINE),
        ("rm src/b*.rs", FINE),
        ("rm *.rs", FINE),
        ("git rm -n src/a.rs", FINE),
        ("rm src/a.rs", ResultText::Failed("Exit code 1")),
        ("rm src/a*.rs", ResultText::Failed(refused)),
        ("git reset --hard", ResultText::Failed(refused)),
        ("cat <<'E'\nrm src/a.rs\nE", FINE),
        ("find . -name '*.o' -delete", FINE),
        ("git checkout -b a", FINE),
        ("git checkout src", FINE),
        ("git restore --staged src/a.rs", FINE),
        ("git restore lib", FINE),
        ("git stash", ResultText::Fine("No local changes to save")),
        ("git stash && make && git stash pop", FINE),
        ("git clean -fd", FINE),
    ] {
        let expected = (FileAction::Edit, Done::Yes);
        assert_eq!(after(&[(command, said)]), expected, "{command}");
    }
}

/// The last operation on `src/a.rs`, and the status of the command that should remove it, in a Codex session.
fn in_codex(said: &str) -> ((FileAction, Done), CommandStatus) {
    let line = |payload: serde_json::Value| {
        let line = serde_json::json!({
            "timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload
        });
        format!("{line}\n")
    };
    let call = |id: &str, name: &str, arguments: serde_json::Value| {
        line(serde_json::json!({
            "type": "function_call", "name": name, "call_id": id, "arguments": arguments.to_string()
        }))
    };
    let output = |id: &str, said: &str| {
        line(serde_json::json!({
            "type": "function_call_output", "call_id": id, "output": said
        }))
    };
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** End Patch";
    let lines = [
        call("1", "apply_patch", serde_json::json!({"input": patch})),
        output("1", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."),
        call(
            "2",
            "exec_command",
            serde_json::json!({"cmd": "rm src/a.rs"}),
        ),
        output("2", said),
    ];
    let transcript = crate::facts::tests::read_as(crate::format::Format::Codex, &lines.concat());
    let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
    let file = acts
        .files
        .iter()
        .find(|file| file.path.ends_with("src/a.rs"));
    let last = file.unwrap().last().unwrap();
    let exit = commands::exit(&transcript, &acts.calls[1]);
    ((last.what, last.done), exit)
}

#[test]
fn what_codex_has_not_run_has_done_nothing() {
    let edited = (FileAction::Edit, Done::Yes);
    let unknown = (FileAction::Delete, Done::Unclear);
    let not_run = |why: &str| {
        format!(
            "exec_command failed for `/bin/zsh -lc 'rm src/a.rs'`: CreateProcess {{ message: \"{why}\" }}"
        )
    };
    for (said, file, exit) in [
        (
            &not_run("Rejected(\\\"rejected by user\\\")")[..],
            edited,
            CommandStatus::Refused,
        ),
        (
            &not_run(
                "Rejected(\\\"This action was rejected due to unacceptable risk.\\\\nReason: x\\\")",
            ),
            edited,
            CommandStatus::Refused,
        ),
        (
            &not_run("No such file or directory (os error 2)"),
            edited,
            CommandStatus::Failed,
        ),
        (
            "failed in sandbox None with execution error: command timed out",
            unknown,
            CommandStatus::Interrupted,
        ),
        (
            "failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error, exit code: 1, stdout: , stderr: rm: cannot remove",
            edited,
            CommandStatus::Code(1),
        ),
        (
            "aborted by user after 3.2s",
            unknown,
            CommandStatus::Interrupted,
        ),
        ("aborted", unknown, CommandStatus::Interrupted),
        (
            "command timed out after 10000 milliseconds",
            unknown,
            CommandStatus::Interrupted,
        ),
        (
            "Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 milliseconds\n",
            unknown,
            CommandStatus::Interrupted,
        ),
        (
            "Exit code: 0\nWall time: 0 seconds\nOutput:\n",
            (FileAction::Delete, Done::Yes),
            CommandStatus::Code(0),
        ),
    ] {
        assert_eq!(in_codex(said), (file, exit), "{said}");
    }
}

#[test]
fn a_command_that_the_user_refused_has_done_nothing() {
    for said in [
        "The user rejected this command.",
        "Error: permission denied by user",
        "Tool call rejected by the user.",
    ] {
        let refused = after(&[("rm src/a.rs", ResultText::Fine(said))]);
        assert_eq!(refused, (FileAction::Edit, Done::Yes), "{said}");
    }
    let stopped = "Command timed out after 2m 0.0s";
    let stopped = after(&[("rm src/a.rs", ResultText::Failed(stopped))]);
    assert_eq!(stopped, (FileAction::Delete, Done::Unclear));
}

#[test]
fn what_one_command_removes_and_makes_again_is_there() {
    for (command, expected) in [
        ("rm -f src/a.rs && cat > src/a.rs <<'E'\nx\nE", Done::Yes),
        (
            "mv src/a.rs src/a.bak && sed s/x/y/ src/a.bak > src/a.rs",
            Done::Yes,
        ),
        ("rm -rf src && mkdir src && cp /t/a.rs src/a.rs", Done::Yes),
        ("rm -rf src; true || echo x > src/a.rs", Done::Unclear),
    ] {
        let found = after(&[(command, FINE)]);
        assert_eq!(found, (FileAction::Write, expected), "{command}");
    }
    for command in [
        "rm -rf src && git clone https://h/x/src",
        "rm -rf src && git clone https://h/x/y src",
        "rm -rf src && tar xf t.tgz src",
        "rm src/a.rs && python3 gen.py src/a.rs",
    ] {
        let found = after(&[(command, FINE)]);
        assert_eq!(found, (FileAction::Delete, Done::Unclear), "{command}");
    }
    let reverted = after(&[("rm -rf src && git checkout -- src", FINE)]);
    assert_eq!(reverted, (FileAction::Revert, Done::Unclear));
    // That may be a branch.
    let perhaps = after(&[("rm -rf src && git checkout src", FINE)]);
    assert_eq!(perhaps, (FileAction::Delete, Done::Unclear));
    // In another order, it is gone.
    let gone = after(&[("echo x > src/a.rs && rm src/a.rs", FINE)]);
    assert_eq!(gone, (FileAction::Delete, Done::Yes));
}

#[test]
fn what_a_later_command_makes_again_is_not_told_as_deleted() {
    let wrote = (FileAction::Write, Done::Yes);
    let perhaps = (FileAction::Delete, Done::Unclear);
    let gone = (FileAction::Delete, Done::Yes);
    for (command, expected) in [
        ("cat > src/a.rs <<'E'\nx\nE", wrote),
        ("echo x > src/a.rs", wrote),
        ("cd src && echo x > a.rs", wrote),
        ("cp /t/b.rs src/a.rs", wrote),
        ("echo x > src/a.rs; ls", (FileAction::Write, Done::Unclear)),
        ("touch src/a.rs", perhaps),
        ("python3 gen.py --out src/a.rs", perhaps),
        ("git stash pop", perhaps),
        ("cat src/b.rs > src/c.rs", gone),
        ("touch src/b.rs", gone),
        ("ls src/a.rs", gone),
        ("git add src/a.rs && git commit -m x", gone),
        ("npx eslint src", gone),
        ("git stash && git stash pop", gone),
    ] {
        let found = after(&[("rm src/a.rs", FINE), (command, FINE)]);
        assert_eq!(found, expected, "{command}");
        // That it was missing in between changes nothing.
        let failed = ResultText::Failed("Exit code 1\ncat: src/a.rs: No such file or directory");
        let found = after(&[
            ("rm src/a.rs", FINE),
            ("cat src/a.rs", failed),
            (command, FINE),
        ]);
        assert_eq!(found, expected, "{command}");
    }
    // For a folder, anything created in it.
    let cloned = after(&[("rm -r src", FINE), ("git clone https://h/x/y src", FINE)]);
    assert_eq!(cloned, perhaps);
    // If something else recreated it, only its existence shows that.
    let seen = |said| {
        after(&[
            ("rm src/a.rs", FINE),
            ("make", FINE),
            ("cat src/a.rs", said),
        ])
    };
    assert_eq!(seen(ResultText::Fine("fn a() {}")), perhaps);
    let missing = "cat: src/a.rs: No such file or directory";
    assert_eq!(seen(ResultText::Fine(missing)), gone);
    assert_eq!(seen(ResultText::Failed(missing)), gone);
    // It is gone again.
    let again = [
        ("rm src/a.rs", FINE),
        ("echo x > src/a.rs", FINE),
        ("rm src/a.rs", FINE),
    ];
    assert_eq!(after(&again), gone);
}

/// The last operation on each file of a Windows session after a command; all files are edited first.
fn on_windows(command: &str) -> Vec<(String, FileAction)> {
    let line = |kind: &str, content: serde_json::Value, uuid: u32| {
        let line = serde_json::json!({
            "type": kind, "uuid": uuid.to_string(), "parentUuid": uuid.checked_sub(1).map(|n| n.to_string()),
            "sessionId": "s", "cwd": "C:\\w", "message": {"id": "m", "role": kind, "content": [content]}
        });
        format!("{line}\n")
    };
    let calls = [
        (
            "Edit",
            serde_json::json!({"file_path": "C:\\w\\src\\a.rs", "old_string": "a", "new_string": "b"}),
        ),
        (
            "Edit",
            serde_json::json!({"file_path": "c:\\w\\src\\b.rs", "old_string": "a", "new_string": "b"}),
        ),
        ("Bash", serde_json::json!({"command": command})),
    ];
    let mut lines = String::new();
    for (number, (tool, input)) in (0..).zip(calls) {
        let id = number.to_string();
        let call = serde_json::json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        let result = serde_json::json!({"type": "tool_result", "tool_use_id": id, "content": ""});
        lines += &line("assistant", call, 2 * number);
        lines += &line("user", result, 2 * number + 1);
    }
    let transcript = crate::facts::tests::read_as(crate::format::Format::ClaudeCode, &lines);
    let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
    let last = |file: &File| (file.path.clone(), file.last().unwrap().what);
    acts.files.iter().map(last).collect()
}

#[test]
fn a_file_of_windows_is_one_however_a_shell_writes_it() {
    let [a, b] = ["C:/w/src/a.rs", "C:/w/src/b.rs"].map(str::to_owned);
    for (command, name) in [
        ("rm src/a.rs", &a),
        ("rm c:/w/src/b.rs", &b),
        ("rm 'C:\\w\\src\\b.rs'", &b),
        ("cd /c/w && rm src/a.rs", &a),
        ("rm /mnt/c/w/src/a.rs", &a),
        ("git rm -q src/a.rs", &a),
    ] {
        let expected: Vec<_> = [&a, &b]
            .map(|path| match path == name {
                true => (path.clone(), FileAction::Delete),
                false => (path.clone(), FileAction::Edit),
            })
            .to_vec();
        assert_eq!(on_windows(command), expected, "{command}");
    }
    // Elsewhere, that is a folder of that name.
    assert_eq!(
        last_of("src/a.rs", &[("rm /c/src/a.rs", FINE)]).0,
        FileAction::Edit
    );
}

#[test]
fn an_edit_of_a_notebook_is_one_of_a_file() {
    let input = r#"{"notebook_path":"/w/a.ipynb","cell_id":"c1","new_source":"x=1"}"#;
    let calls = [(
        "NotebookEdit",
        input,
        ResultText::Fine("Updated cell c1 with x=1"),
    )];
    let transcript = anthropic(&calls);
    let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
    let paths: Vec<&str> = acts.files.iter().map(|file| &file.path[..]).collect();
    assert_eq!(paths, ["/w/a.ipynb"]);
    assert_eq!(acts.files[0].last().unwrap().what, FileAction::Edit);
}

#[test]
fn a_path_that_is_known_as_it_is_written_is_not_taken_for_one_of_a_drive() {
    let write = r#"{"file_path":"/mnt/c/w/a.rs","content":"b"}"#;
    let read = r#"{"file_path":"C:\\Users\\me\\shot.png"}"#;
    for command in [
        "rm /mnt/c/w/a.rs",
        "rm -r /mnt/c/w",
        "cd /mnt/c/w && rm a.rs",
    ] {
        let shell = serde_json::json!({ "command": command }).to_string();
        let transcript = anthropic(&[
            ("Write", write, FINE),
            ("Read", read, ResultText::Failed("File does not exist.")),
            ("Bash", &shell, FINE),
        ]);
        let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
        let file = acts.files.iter().find(|file| file.path == "/mnt/c/w/a.rs");
        let last = file.unwrap().last().unwrap();
        assert_eq!(
            (last.what, last.done),
            (FileAction::Delete, Done::Yes),
            "{command}"
        );
    }
}

#[test]
fn what_is_only_looked_at_behind_its_removal_stays_deleted() {
    for command in [
        "rm src/a.rs && pytest src/",
        "rm src/a.rs && ruff check src/",
        "rm src/a.rs && sed -n 1,5p src/",
    ] {
        let expected = (FileAction::Delete, Done::Yes);
        assert_eq!(after(&[(command, FINE)]), expected, "{command}");
    }
}

#[test]
fn a_call_that_removes_and_makes_very_much_takes_little() {
    let mut text: String = (0..20_000).map(|n| format!("rm d/f{n} &&\n")).collect();
    let made = (0..20_000).map(|n| format!("mk d/f{n} &&\n"));
    text.extend(made);
    text.push_str("rm src/a.rs");
    let shell = serde_json::json!({ "command": text }).to_string();
    let edit = r#"{"file_path":"src/a.rs","old_string":"a","new_string":"b"}"#;
    let transcript = anthropic(&[("Edit", edit, FINE), ("Bash", &shell, FINE)]);
    let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
    let last = acts.files[0].last().unwrap();
    assert_eq!((last.what, last.done), (FileAction::Delete, Done::Yes));
    assert_eq!(acts.unmatched.len(), 20_000);
    assert!(
        acts.unmatched
            .iter()
            .all(|stray| stray.operation.done == Done::Unclear)
    );
}

#[test]
fn what_may_be_removed_again_and_again_is_noted_a_bounded_number_of_times() {
    const MANY: usize = 200;
    let write = |number| format!(r#"{{"file_path":"/w/src/{number}.rs","content":"x"}}"#);
    let written: Vec<String> = (0..20).map(write).collect();
    let written = written.iter().map(|input| ("Write", &input[..], FINE));
    let commands = [
        r#"{"command":"rm -rf /w/src/*"}"#,
        r#"{"command":"mv /w/src/* /w/t"}"#,
        r#"{"command":"git checkout -- /w/src"}"#,
    ];
    let commands = commands.map(|input| ("Bash", input, ResultText::Nothing));
    let calls: Vec<_> = written.chain(commands.repeat(MANY)).collect();
    let transcript = anthropic(&calls);
    let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
    let inside = acts
        .files
        .iter()
        .filter(|file| file.path.starts_with("/w/src/"));
    let inside: Vec<&File> = inside.collect();
    assert_eq!(inside.len(), 20);
    for file in inside {
        assert!(file.operations.len() < MANY, "{}", file.operations.len());
        let last = file.last().unwrap();
        assert_eq!((last.what, last.done), (FileAction::Revert, Done::Unclear));
        assert_eq!(last.call.line, transcript.lines().len() as u32 - 1);
    }
}

/// A state that a command may have changed is told as unknown, whatever of its words is not known.
#[test]
fn a_state_that_is_not_known_is_not_told() {
    let unclear = |what| (what, Done::Unclear);
    let gone = (FileAction::MoveFrom, Done::Yes);
    let edited = (FileAction::Edit, Done::Yes);
    for (command, expected) in [
        ("mv src/a.rs{,.bak}", gone),
        ("cd src && mv a.{rs,bak}", gone),
        ("rm src/{a,b}.rs", (FileAction::Delete, Done::Yes)),
        ("rm src/{a,{b,c}}.rs", (FileAction::Delete, Done::Yes)),
        ("rm src/{a..c}.rs", unclear(FileAction::Delete)),
        ("cp src/a.rs{,.bak}", edited),
        ("cp src/a{.bak,.rs}", edited),
        ("mv src/x{,.bak}", edited),
        ("mv $(git ls-files -m)", unclear(FileAction::MoveFrom)),
        ("rm $(git ls-files -o)", unclear(FileAction::Delete)),
        ("rm -f \"$FILE\"", unclear(FileAction::Delete)),
        ("F=src/b.rs; rm -f \"$F\"", edited),
        ("T=$(mktemp); cat x > $T; rm -f \"$T\"", edited),
        (
            "git show HEAD:src/a.rs > src/a.rs",
            (FileAction::Revert, Done::Yes),
        ),
        (
            "cd src && git show HEAD:src/a.rs > a.rs",
            (FileAction::Revert, Done::Yes),
        ),
        (
            "git show HEAD~3:src/a.rs > src/a.rs",
            unclear(FileAction::Revert),
        ),
        ("git show HEAD:src/a.rs > /tmp/old.rs", edited),
        ("git show HEAD:src/b.rs > src/a.rs", edited),
        ("git show HEAD:src/a.rs", edited),
        ("git apply -R x.patch", unclear(FileAction::Revert)),
        ("patch -R -p1 < x.patch", unclear(FileAction::Revert)),
        ("git apply --check -R x.patch", edited),
        ("git pull", edited),
        ("git checkout main", edited),
    ] {
        assert_eq!(after(&[(command, FINE)]), expected, "{command}");
    }
}

/// In a session of Gemini CLI, only the text of a result says how its command ended.
#[test]
fn a_cleared_output_does_not_say_that_its_command_did_not_fail() {
    let after = |said: &str| {
        let call = |id: &str, name: &str, args: serde_json::Value, said: &str| {
            let output = serde_json::json!({"output": said});
            let response = serde_json::json!({"id": id, "name": name, "response": output});
            let call = serde_json::json!({
                "id": id, "name": name, "args": args, "status": "success",
                "result": [{"functionResponse": response}], "resultDisplay": said
            });
            let line = serde_json::json!({
                "id": format!("m{id}"), "timestamp": "t", "type": "gemini", "content": "",
                "toolCalls": [call], "model": "gemini-2.5-pro"
            });
            format!("{line}\n")
        };
        let edit =
            serde_json::json!({"file_path": "/w/a.rs", "old_string": "a", "new_string": "b"});
        let head = "{\"sessionId\":\"s\",\"projectHash\":\"p\",\"startTime\":\"t\",\"lastUpdated\":\"t\"}\n";
        let lines = [
            head.to_owned(),
            call(
                "1",
                "replace",
                edit,
                "Successfully modified file: /w/a.rs (1 replacements).",
            ),
            call(
                "2",
                "run_shell_command",
                serde_json::json!({"command": "rm /w/a.rs"}),
                said,
            ),
        ];
        let transcript =
            crate::facts::tests::read_as(crate::format::Format::Gemini, &lines.concat());
        let acts = Activity::of(&transcript, &transcript.conversations[0], &Tools::default());
        let file = acts.files.iter().find(|file| file.path == "/w/a.rs");
        let last = file.unwrap().last().unwrap();
        let exit = commands::exit(&transcript, &acts.calls[1]);
        (last.what, last.done, exit)
    };
    let deleted = |done, exit| (FileAction::Delete, done, exit);
    let fine = "Output: (empty)\nProcess Group PGID: 7";
    assert_eq!(after(fine), deleted(Done::Yes, CommandStatus::Succeeded));
    for cleared in [
        "[Old tool result content cleared]",
        "<tool_output_masked>\nOutput: x\n\nOutput too large. Full output available at: /t/x\n</tool_output_masked>",
    ] {
        let unknown = deleted(Done::Unclear, CommandStatus::Unknown);
        assert_eq!(after(cleared), unknown, "{cleared}");
    }
}
