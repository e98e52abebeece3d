use super::*;
use crate::facts::tests::{ResultText, anthropic, in_main, read_as};
use crate::format::Format;

/// The texts of commands with how they ended.
fn ended(transcript: &Transcript<'_>) -> Vec<(String, CommandStatus)> {
    let commands = in_main(transcript, commands).into_iter();
    commands
        .map(|command| (command.text, command.exit))
        .collect()
}

#[test]
fn a_status_is_what_the_result_says() {
    for (said, exit) in [
        (
            ResultText::Failed("Exit code 2\nls: no such file"),
            CommandStatus::Code(2),
        ),
        (
            ResultText::Failed("(eval):1: no matches found"),
            CommandStatus::Failed,
        ),
        (ResultText::Failed("Exit code 0"), CommandStatus::Failed),
        (ResultText::Fine("a\nb"), CommandStatus::Unknown),
        (
            ResultText::Fine("Exit code: 0\nfine"),
            CommandStatus::Code(0),
        ),
        (
            ResultText::Fine(
                "Chunk ID: 1\nWall time: 0.1\nProcess exited with code 101\nOutput:\n",
            ),
            CommandStatus::Code(101),
        ),
        (ResultText::Fine("[exit code: -1]"), CommandStatus::Code(-1)),
        (
            ResultText::Fine("{\"output\":\"x\",\"metadata\":{\"exit_code\":3}}"),
            CommandStatus::Code(3),
        ),
        (
            ResultText::Fine("{\"exitCode\":0,\"stdout\":\"\"}"),
            CommandStatus::Code(0),
        ),
        (
            ResultText::Fine("1\n2\n3\n4\nExit code 5"),
            CommandStatus::Unknown,
        ),
        (
            ResultText::Failed("1\n2\n3\n4\n\nCommand exited with code 5"),
            CommandStatus::Code(5),
        ),
        (
            ResultText::Failed("1\n\nCommand aborted"),
            CommandStatus::Interrupted,
        ),
        (ResultText::Fine("Command aborted"), CommandStatus::Unknown),
        (
            ResultText::Failed("Command timed out after 5 seconds"),
            CommandStatus::Interrupted,
        ),
        (
            ResultText::Fine("a\n<shellId: 3 completed with exit code 2>"),
            CommandStatus::Code(2),
        ),
        (
            ResultText::Fine("<exited with exit code 0>"),
            CommandStatus::Code(0),
        ),
        (
            ResultText::Fine("{\n \"a\": 1\n}\n<shellId: 3 completed with exit code 2>"),
            CommandStatus::Code(2),
        ),
        (
            ResultText::Fine("a\n[Process exited with code 3]"),
            CommandStatus::Code(3),
        ),
        (
            ResultText::Fine("<p>it ended with exit code 1>"),
            CommandStatus::Unknown,
        ),
        (ResultText::Fine("Exit code five"), CommandStatus::Unknown),
        (ResultText::Nothing, CommandStatus::Unanswered),
    ] {
        let transcript = anthropic(&[("Bash", r#"{"command":"x"}"#, said)]);
        assert_eq!(ended(&transcript), [("x".to_owned(), exit)], "{said:?}");
    }
}

#[test]
fn a_flag_of_success_is_that_of_the_result_itself() {
    let call = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"x"}}]}}"#;
    for (flags, exit) in [
        (r#""isError":false"#, CommandStatus::Succeeded),
        (r#""isError" : false"#, CommandStatus::Succeeded),
        (r#""other":{"isError":false}"#, CommandStatus::Unknown),
        (r#""isError":true"#, CommandStatus::Failed),
    ] {
        let result = format!(
            r#"{{"type":"message","id":"b","parentId":"a","message":{{"role":"toolResult","toolCallId":"t","toolName":"bash","content":[{{"type":"text","text":"[Old output cleared]"}}],{flags}}}}}"#
        );
        let header = r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#;
        let transcript = read_as(Format::Pi, &format!("{header}\n{call}\n{result}\n"));
        assert_eq!(ended(&transcript), [("x".to_owned(), exit)], "{flags}");
    }
}

#[test]
fn a_call_of_a_service_failed_where_its_answer_says_so() {
    let input = r#"{"reservation_id": "GV1N64"}"#;
    for (said, exit) in [
        (
            ResultText::Fine("{\"status\": \"cancelled\"}"),
            CommandStatus::Unknown,
        ),
        (
            ResultText::Fine("Error: reservation not found"),
            CommandStatus::Failed,
        ),
        (
            ResultText::Fine("{\"error\": \"not found\"}"),
            CommandStatus::Failed,
        ),
        (
            ResultText::Fine("No error: exit code: 3"),
            CommandStatus::Unknown,
        ),
        (ResultText::Failed("nothing"), CommandStatus::Failed),
        (ResultText::Nothing, CommandStatus::Unanswered),
    ] {
        let transcript = anthropic(&[
            ("cancel_reservation", input, said),
            ("update_plan", "{}", ResultText::Nothing),
            ("exec", "{}", ResultText::Nothing),
        ]);
        let text = format!("cancel_reservation {input}");
        assert_eq!(ended(&transcript), [(text, exit)], "{said:?}");
    }
}

#[test]
fn a_long_output_says_it_at_its_start_or_its_end() {
    // Each length puts the cuts elsewhere: before, in and after an escape.
    for more in 0..8 {
        let long =
            r#"a \n"b" "#.repeat(700 + more) + &"line\n".repeat(700) + &r"\n".repeat(500 + more);
        for (said, exit) in [
            (
                format!("Exit code 3\n{long}\n{long}"),
                CommandStatus::Code(3),
            ),
            (
                format!("{long}\nExit code 4\n{long}"),
                CommandStatus::Failed,
            ),
            (
                format!("{long}\nCommand exited with code 5"),
                CommandStatus::Code(5),
            ),
            (
                format!("{long}\nCommand aborted"),
                CommandStatus::Interrupted,
            ),
            (
                format!("{long}\nCommand aborted\n{long}"),
                CommandStatus::Failed,
            ),
        ] {
            let transcript =
                anthropic(&[("Bash", r#"{"command":"x"}"#, ResultText::Failed(&said))]);
            assert_eq!(ended(&transcript), [("x".to_owned(), exit)], "{more}");
        }
    }
}

#[test]
fn a_command_is_a_string_or_a_list() {
    let text = |input: &str| {
        let commands = ended(&anthropic(&[("shell", input, ResultText::Nothing)])).into_iter();
        commands.map(|(text, _)| text).next()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        text(r#"{"command":"ls -l \u2014 \"世\"","timeout":1}"#),
        some("ls -l — \"世\"")
    );
    assert_eq!(
        text(r#"{"command":["bash","-lc","cd a && make"]}"#),
        some("cd a && make")
    );
    assert_eq!(text(r#"{"cmd":["git","status"]}"#), some("git status"));
    assert_eq!(text(r#"{"command":[]}"#), None);
    assert_eq!(text(r#"{"bash_id":"1"}"#), None);
}

#[test]
fn openai_says_it_in_a_string() {
    let lines = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"exec_command","arguments":"{\"cmd\": \"echo \\\"a\\\"\"}"}}]}
{"role":"tool","tool_call_id":"c","content":"a"}
"#;
    let found = ended(&read_as(Format::OpenAi, lines));
    assert_eq!(found, [("echo \"a\"".to_owned(), CommandStatus::Unknown)]);
}

#[test]
fn claude_code_records_how_a_command_ended() {
    for (record, exit) in [
        (
            r#""toolUseResult":{"stdout":"a","stderr":"","interrupted":false}"#,
            CommandStatus::Succeeded,
        ),
        (
            r#""toolUseResult":{"stdout":"a","stderr":"","interrupted":true}"#,
            CommandStatus::Interrupted,
        ),
        (
            r#""toolUseResult":{"stdout":"","backgroundTaskId":"b1","interrupted":false}"#,
            CommandStatus::Running,
        ),
        (r#""version":"2""#, CommandStatus::Unknown),
    ] {
        let lines = r#"{"parentUuid":null,"isSidechain":false,"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"a"}}]},"uuid":"u1"}
{"parentUuid":"u1","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a","is_error":false}]},"uuid":"u2",RECORD}
"#;
        let transcript = read_as(Format::ClaudeCode, &lines.replace("RECORD", record));
        assert_eq!(ended(&transcript), [("a".to_owned(), exit)], "{record}");
    }
}

#[test]
fn a_session_that_flags_what_failed_says_what_went_well() {
    let lines = |is_error: bool| {
        format!(
            "{}\n{}\n{{\"type\":\"message\",\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"a\",\"toolName\":\"bash\",\"content\":[{{\"type\":\"text\",\"text\":\"out\"}}],\"isError\":{is_error}}}}}\n",
            r#"{"type":"session","id":"s","cwd":"/w"}"#,
            r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}"#,
        )
    };
    for (is_error, exit) in [
        (false, CommandStatus::Succeeded),
        (true, CommandStatus::Failed),
    ] {
        let transcript = read_as(Format::Pi, &lines(is_error));
        assert_eq!(ended(&transcript), [("ls".to_owned(), exit)]);
    }
}

#[test]
fn what_a_command_prints_is_not_its_status() {
    let of = |command: &str, said: &str| {
        let input = serde_json::json!({"command": command}).to_string();
        let [(_, exit)] = &ended(&anthropic(&[("Bash", &input, ResultText::Fine(said))]))[..]
        else {
            panic!("{command}");
        };
        *exit
    };
    for (command, said) in [
        ("cat result.json", "{\"exit_code\":1,\"output\":\"no\"}"),
        ("jq . x.json", "{\"exitCode\":1,\"stderr\":\"no\"}"),
        ("cat ok.json; false", "{\"exit_code\":0}"),
        ("./show", "{\"exit_code\":0}"),
        ("cat ci.log", "Process exited with code 1"),
        ("cd /w && cat run.txt", "Exit code 1\nno"),
        ("tail log", "fine\nCommand exited with code 1"),
        ("gh run view 3 | tail", "[exit code: 1]\nno"),
        ("cat bg.txt", "Command running in background with ID: abc"),
        (
            "cat no.txt",
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
        ),
        ("cat no.txt", "Permission to use Bash has been denied."),
    ] {
        assert_eq!(of(command, said), CommandStatus::Unknown, "{command}");
    }
    // Nothing else ends this way.
    for (command, said, exit) in [
        ("cat a", "x\n<shellId: 3 completed with exit code 2>", 2),
        (
            "cat a",
            "x\n[The command completed with exit code 3.]\n[Current working directory: /w]",
            3,
        ),
        (
            "cat a",
            "{\"output\":\"x\",\"metadata\":{\"exit_code\":4}}",
            4,
        ),
        ("make 2>&1 | tail -3", "Exit code: 5\nno", 5),
    ] {
        assert_eq!(of(command, said), CommandStatus::Code(exit), "{said}");
    }
}

#[test]
fn where_an_agent_records_an_end_no_text_counts() {
    for (said, flag, exit) in [
        (
            r#"{\"exit_code\":1,\"output\":\"no\"}"#,
            false,
            CommandStatus::Succeeded,
        ),
        ("Exit code 1", false, CommandStatus::Succeeded),
        (
            r"fine\nCommand exited with code 1",
            false,
            CommandStatus::Succeeded,
        ),
        (
            "Command running in background with ID: abc",
            false,
            CommandStatus::Succeeded,
        ),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            false,
            CommandStatus::Succeeded,
        ),
        (
            "<tool_use_error>Cancelled</tool_use_error>",
            false,
            CommandStatus::Succeeded,
        ),
        (r"Exit code 2\nno", true, CommandStatus::Code(2)),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            true,
            CommandStatus::Refused,
        ),
    ] {
        let record = match flag {
            true => r#""Error: it failed""#,
            false => r#"{"stdout":"x","stderr":"","interrupted":false,"isImage":false}"#,
        };
        let lines = format!(
            r#"{{"parentUuid":null,"isSidechain":false,"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"tool_use","id":"t","name":"Bash","input":{{"command":"./show"}}}}]}},"uuid":"u1"}}
{{"parentUuid":"u1","isSidechain":false,"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"{said}","is_error":{flag}}}]}},"uuid":"u2","toolUseResult":{record}}}
"#
        );
        let transcript = read_as(Format::ClaudeCode, &lines);
        assert_eq!(ended(&transcript), [("./show".to_owned(), exit)], "{said}");
        let failed = in_main(&transcript, crate::facts::failures);
        assert_eq!(failed.len(), usize::from(flag), "{said}");
    }
}

#[test]
fn a_command_has_the_folder_that_its_call_or_the_format_says() {
    let folder_of = |transcript: &Transcript<'_>| in_main(transcript, commands)[0].folder.clone();
    let input = r#"{"command":"make","workdir":"/w/./one/"}"#;
    let transcript = anthropic(&[("shell", input, ResultText::Fine(""))]);
    assert_eq!(folder_of(&transcript).as_deref(), Some("/w/one"));
    let transcript = anthropic(&[("Bash", r#"{"command":"make"}"#, ResultText::Fine(""))]);
    assert_eq!(folder_of(&transcript), None);
}

#[test]
fn a_command_that_the_shell_does_not_wait_for_is_only_begun() {
    for (command, is_begun) in [
        ("npm run dev &", true),
        ("nohup python job.py > o.log 2>&1 &\necho started", true),
        ("npm run dev & echo $!", true),
        ("make &\n", true),
        ("make && echo done", false),
        ("make & sleep 2; curl -s localhost", false),
        ("make; echo done", false),
    ] {
        let input = serde_json::json!({ "command": command }).to_string();
        let transcript = anthropic(&[("Bash", &input, ResultText::Fine(""))]);
        let exit = ended(&transcript)[0].1;
        assert_eq!(exit == CommandStatus::Begun, is_begun, "{command}");
    }
}

/// A session of Gemini CLI in which a command had this output.
fn of_gemini(command: &str, output: &str) -> Transcript<'static> {
    let header =
        r#"{"sessionId":"s","projectHash":"p","startTime":"t","lastUpdated":"t","kind":"main"}"#;
    let output = serde_json::to_string(output).unwrap();
    let call = format!(
        r#"{{"id":"a","timestamp":"t","type":"gemini","content":"","toolCalls":[{{"id":"c","name":"run_shell_command","args":{{"command":"{command}","is_background":true}},"status":"success","result":[{{"functionResponse":{{"id":"c","name":"run_shell_command","response":{{"output":{output}}}}}}}]}}]}}"#
    );
    read_as(Format::Gemini, &format!("{header}\n{call}\n"))
}

#[test]
fn what_gemini_stopped_or_refused_did_not_end_well() {
    for (output, exit) in [
        (
            "<untrusted_context>\nCommand was cancelled by user before it could complete. There was no output before it was cancelled.\n</untrusted_context>",
            CommandStatus::Interrupted,
        ),
        (
            "<untrusted_context>\nCommand was automatically cancelled because it exceeded the timeout of 5.0 minutes without output.\n</untrusted_context>",
            CommandStatus::Interrupted,
        ),
        (
            "<untrusted_context>\nOutput: x\nSignal: 9\nProcess Group PGID: 3\n</untrusted_context>",
            CommandStatus::Interrupted,
        ),
        (
            "Output: x\nSignal: (none)\nProcess Group PGID: 3",
            CommandStatus::Succeeded,
        ),
        (
            "Command is running in background. PID: 55. Initial output:\nx",
            CommandStatus::Running,
        ),
        (
            "Command injection detected: command substitution syntax ($(), backticks, <() or >()) found in command arguments. So the command was blocked.",
            CommandStatus::Refused,
        ),
    ] {
        assert_eq!(ended(&of_gemini("make", output))[0].1, exit, "{output}");
    }
}

#[test]
fn a_cleared_output_says_nothing_of_how_its_command_ended() {
    let of = |output: &str| ended(&of_gemini("false", output))[0].1;
    assert_eq!(
        of("<untrusted_context>\nOutput: x\nProcess Group PGID: 7\n</untrusted_context>"),
        CommandStatus::Succeeded
    );
    assert_eq!(
        of(
            "<untrusted_context>\nOutput: x\nExit Code: 7\nProcess Group PGID: 7\n</untrusted_context>"
        ),
        CommandStatus::Code(7)
    );
    for note in [
        "[Output of run_shell_command cleared - run it again if needed]",
        "[Old tool result content cleared]",
    ] {
        assert_eq!(of(note), CommandStatus::Unknown, "{note}");
    }
}

#[test]
fn what_a_record_says_beside_a_cleared_output_stays() {
    let of = |exit: &str| {
        let lines = [
            r#"{"type":"session.start","data":{"sessionId":"s"},"id":"0","parentId":null}"#.to_owned(),
            r#"{"type":"assistant.message","data":{"content":"","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{"command":"false"}}]},"id":"1","parentId":"0"}"#.to_owned(),
            format!(
                r#"{{"type":"tool.execution_complete","data":{{"toolCallId":"c","shellExecution":{{"exitCode":{exit}}},"success":true,"result":{{"content":"[Output of bash cleared - run it again if needed]"}}}},"id":"2","parentId":"1"}}"#
            ),
        ];
        let transcript = read_as(Format::Copilot, &lines.join("\n"));
        let result = transcript.conversations[0].all_blocks().last().unwrap().1;
        (ended(&transcript)[0].1, transcript.block(result).outcome)
    };
    assert_eq!(of("7"), (CommandStatus::Code(7), Outcome::Failed));
    assert_eq!(of("0"), (CommandStatus::Code(0), Outcome::Fine));
}

#[test]
fn a_command_that_was_moved_to_the_background_goes_on() {
    for said in [
        "<untrusted_context>\nCommand moved to background (PID: 14709). Output hidden.\n</untrusted_context>",
        "Background shell started.\nid: bg_cffced09\npid: 30197",
    ] {
        let exit = ended(&of_gemini("sleep 1; exit 3", said))[0].1;
        assert_eq!(exit, CommandStatus::Running, "{said}");
    }
}

#[test]
fn no_error_under_the_heading_of_qwen_is_no_error() {
    let output = "Command: a; b\nDirectory: (root)\nOutput: 3.3\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: (none)";
    assert_eq!(
        ended(&of_gemini("a; b", output))[0].1,
        CommandStatus::Code(0)
    );
}

#[test]
fn each_of_several_commands_has_its_own_end() {
    let of = |content: &str| {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"run_commands","input":{"commands":["a","b"]}}]}"#;
        let result = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","name":"run_commands","content":{content}}}]}}"#
        );
        let document = format!(
            r#"{{"version":1,"sessionId":"s","updated_at":"t","messages":[{{"id":"0","role":"user","content":[{{"type":"text","text":"go"}}],"ts":1}},{},{}]}}"#,
            call.replacen('{', r#"{"id":"1","ts":2,"#, 1),
            result.replacen('{', r#"{"id":"2","ts":3,"#, 1),
        );
        ended(&read_as(Format::Cline, &document))
    };
    let both = r#"[{"query":"a","result":"1","success":true},{"query":"b","result":"no","error":"Command exited with code 2","success":false}]"#;
    assert_eq!(
        of(both),
        [
            ("a".to_owned(), CommandStatus::Succeeded),
            ("b".to_owned(), CommandStatus::Code(2))
        ]
    );
    let cleared =
        r#"[{"type":"text","text":"[Output of run_commands cleared - run it again if needed]"}]"#;
    assert_eq!(of(cleared), [("a\nb".to_owned(), CommandStatus::Unknown)]);
}

#[test]
fn a_pipe_of_which_a_command_was_not_found_has_not_ended_well() {
    for (command, said, is_known) in [
        (
            "go test ./... 2>&1 | tail -8 && node --test | tail -6",
            "/usr/bin/bash: line 1: go: command not found\nℹ pass 50",
            false,
        ),
        ("go vet 2>&1 | tail", "zsh: command not found: go", false),
        (
            "head -1 a | jq .cwd",
            "head: cannot open 'a' for reading: No such file or directory",
            false,
        ),
        ("make docs | head", "a.md:3: says: command not found", true),
        ("make x | base64 -d", "continue-on-error: false", true),
        ("make a; make b", "# Failed tests failed once", true),
        ("cargo test | tail", "test an_error_failed ... ok", true),
    ] {
        let transcript = anthropic(&[(
            "Bash",
            &serde_json::json!({ "command": command }).to_string(),
            ResultText::Fine(&format!("Exit code: 0\n{said}")),
        )]);
        let expected = match is_known {
            true => CommandStatus::Code(0),
            false => CommandStatus::Unknown,
        };
        assert_eq!(ended(&transcript)[0].1, expected, "{command}");
    }
}
