use super::*;
use crate::facts::files;
use crate::facts::tests::{ResultText, anthropic, in_main, read_as};
use crate::format::Format;

const DONE: ResultText<'_> = ResultText::Fine("The file has been updated.");

/// The content of the only file of a transcript.
fn content(calls: &[(&str, &str, ResultText<'_>)]) -> Option<Content> {
    let transcript = anthropic(calls);
    let files = in_main(&transcript, files);
    assert_eq!(files.len(), 1);
    files[0].content(&transcript)
}

/// The text of a file that is known completely.
fn whole(calls: &[(&str, &str, ResultText<'_>)]) -> Option<String> {
    let content = content(calls)?;
    (content.lines == Lines::ALL).then_some(content.text)
}

const WRITE: (&str, &str, ResultText<'_>) = (
    "Write",
    r#"{"file_path":"/w/a.rs","content":"fn a() {}\nfn b() {}\n"}"#,
    ResultText::Fine("File created successfully at: /w/a.rs"),
);

fn edit<'e>(input: &'e str) -> (&'e str, &'e str, ResultText<'e>) {
    ("Edit", input, DONE)
}

#[test]
fn operations_are_listed_by_file_and_in_order() {
    let transcript = anthropic(&[
        (
            "Read",
            r#"{"file_path":"/w/a.rs"}"#,
            ResultText::Fine("     1→a\n     2→b"),
        ),
        (
            "Read",
            r#"{"file_path":"/w/b.rs","offset":7,"limit":2}"#,
            ResultText::Failed("gone"),
        ),
        edit(r#"{"file_path":"/w//a.rs","old_string":"a","new_string":"c"}"#),
        (
            "Grep",
            r#"{"path":"/w/a.rs","pattern":"x"}"#,
            ResultText::Fine(""),
        ),
        (
            "Write",
            r#"{"file_path":"/w/error.rs","content":""}"#,
            ResultText::Fine("The file /w/error.rs has been updated."),
        ),
        (
            "Edit",
            r#"{"file_path":"/w/./a.rs","old_string":"z","new_string":""}"#,
            ResultText::Fine("Error: no match"),
        ),
        (
            "MultiEdit",
            r#"{"file_path":"/w/b.rs","edits":[]}"#,
            ResultText::Nothing,
        ),
        (
            "Read",
            r#"{"file_path":"/w/b.rs"}"#,
            ResultText::Fine("File not found"),
        ),
    ]);
    let found = in_main(&transcript, files);
    let found: Vec<_> = found
        .iter()
        .map(|file| {
            let operations = file.operations.iter();
            let operations = operations.map(|o| (o.call.line, o.written.as_str(), o.what, o.done));
            (file.path.as_str(), operations.collect::<Vec<_>>())
        })
        .collect();
    let some = Lines {
        first: 7,
        last: Some(8),
    };
    assert_eq!(
        found,
        [
            (
                "/w/a.rs",
                vec![
                    (0, "/w/a.rs", FileAction::Read(Lines::ALL), Done::Yes),
                    (4, "/w//a.rs", FileAction::Edit, Done::Yes),
                    (10, "/w/./a.rs", FileAction::Edit, Done::Unclear),
                ]
            ),
            (
                "/w/b.rs",
                vec![
                    (2, "/w/b.rs", FileAction::Read(some), Done::Failed),
                    (12, "/w/b.rs", FileAction::Edit, Done::Unclear),
                    (13, "/w/b.rs", FileAction::Read(Lines::ALL), Done::Unclear),
                ]
            ),
            (
                "/w/error.rs",
                vec![(8, "/w/error.rs", FileAction::Write, Done::Yes)]
            ),
        ]
    );
    let last = in_main(&transcript, files).into_iter();
    let last: Vec<_> = last
        .map(|file| file.last().map(|o| (o.call.line, o.what)))
        .collect();
    assert_eq!(
        last,
        [
            Some((10, FileAction::Edit)),
            Some((13, FileAction::Read(Lines::ALL))),
            Some((8, FileAction::Write))
        ]
    );
}

#[test]
fn what_was_written_is_what_it_holds() {
    assert_eq!(whole(&[WRITE]).as_deref(), Some("fn a() {}\nfn b() {}\n"));
    let again = ("Write", r#"{"file_path":"/w/a.rs","content":"x"}"#, DONE);
    assert_eq!(whole(&[WRITE, again]).as_deref(), Some("x"));
    let failed = (again.0, again.1, ResultText::Failed("no"));
    assert_eq!(whole(&[WRITE, failed]), whole(&[WRITE]));
    let open = (again.0, again.1, ResultText::Nothing);
    assert_eq!(content(&[WRITE, open]), None);
}

#[test]
fn what_was_read_comes_without_its_numbers() {
    let read = |said| whole(&[("Read", r#"{"file_path":"/w/a.rs"}"#, ResultText::Fine(said))]);
    let text = Some("fn a() {\n\tb→c\n}\n".to_owned());
    assert_eq!(
        read("     1→fn a() {\n     2→\tb→c\n     3→}\n     4→"),
        text
    );
    assert_eq!(
        read("     1\tfn a() {\n     2\t\tb→c\n     3\t}\n     4\t"),
        text
    );
    assert_eq!(read("1\tfn a() {\n2\t\tb→c\n3\t}\n4\t"), text);
    let reminder = "\n\n<system-reminder>\nbe careful\n</system-reminder>\n";
    let reminded = format!("     1→a{reminder}");
    assert_eq!(read(&reminded).as_deref(), Some("a"));
    // A line that was cut, a warning, a table of another tool.
    assert_eq!(read("     1→aaa... [truncated]\n     2→b"), None);
    assert_eq!(read("<system-reminder>empty</system-reminder>"), None);
    let other = |said| whole(&[("read_file", r#"{"path":"a"}"#, ResultText::Fine(said))]);
    assert_eq!(other("1\tone\n2\ttwo"), None);
    assert_eq!(other("     1→one").as_deref(), Some("one"));
    assert_eq!(other("one\ntwo\n").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn edits_that_fit_exactly_are_applied() {
    let one = edit(r#"{"file_path":"/w/a.rs","old_string":"a() {}","new_string":"a() { b() }"}"#);
    let text = "fn a() { b() }\nfn b() {}\n";
    assert_eq!(whole(&[WRITE, one]).as_deref(), Some(text));
    let all = edit(
        r#"{"file_path":"/w/a.rs","old_string":"fn","new_string":"pub fn","replace_all":true}"#,
    );
    let text = "pub fn a() {}\npub fn b() {}\n";
    assert_eq!(whole(&[WRITE, all]).as_deref(), Some(text));
    let multi = r#"{"file_path":"/w/a.rs","edits":[{"old_string":"a()","new_string":"c()"},{"old_string":"c() {}","new_string":"c();"}]}"#;
    let multi = ("MultiEdit", multi, DONE);
    assert_eq!(
        whole(&[WRITE, multi]).as_deref(),
        Some("fn c();\nfn b() {}\n")
    );
    let tool = r#"{"command":"str_replace","path":"/w/a.rs","old_str":"fn b() {}\n"}"#;
    let gone = ("str_replace_based_edit_tool", tool, DONE);
    assert_eq!(whole(&[WRITE, gone]).as_deref(), Some("fn a() {}\n"));
    let new = edit(r#"{"file_path":"/w/a.rs","old_string":"","new_string":"new"}"#);
    assert_eq!(whole(&[new]).as_deref(), Some("new"));
}

/// So pi does it: an earlier edit of the call changes nothing of where a later one is looked for.
#[test]
fn several_edits_of_pi_are_looked_for_in_the_file_as_it_was() {
    let edited = |edits: &str| {
        let input = format!(r#"{{"path":"/w/a.rs","edits":[{edits}]}}"#);
        whole(&[WRITE, ("edit", &input, DONE)])
    };
    let one = |old: &str, new: &str| format!(r#"{{"oldText":"{old}","newText":"{new}"}}"#);
    let edits = |all: &[String]| edited(&all.join(","));
    let swapped = [one("a()", "b()"), one("b()", "a()")];
    assert_eq!(edits(&swapped).as_deref(), Some("fn b() {}\nfn a() {}\n"));
    let backwards = [one("fn b() {}\\n", ""), one("a() {}", "a();")];
    assert_eq!(edits(&backwards).as_deref(), Some("fn a();\n"));
    for not_fitting in [
        [one("a()", "c()"), one("c()", "d()")],
        [one("a() {}", "x"), one("{}\\nfn b", "y")],
        [one("fn", "pub fn"), one("a()", "c()")],
        [one("a()", "c()"), one("", "d")],
    ] {
        assert_eq!(edits(&not_fitting), None, "{not_fitting:?}");
    }
}

#[test]
fn after_an_edit_that_does_not_fit_nobody_knows() {
    let many = edit(r#"{"file_path":"/w/a.rs","old_string":"fn","new_string":"pub fn"}"#);
    let none = edit(r#"{"file_path":"/w/a.rs","old_string":"struct","new_string":"enum"}"#);
    let insert = r#"{"command":"insert","path":"/w/a.rs","insert_line":1,"new_str":"x"}"#;
    let insert = ("str_replace_based_edit_tool", insert, DONE);
    let new = edit(r#"{"file_path":"/w/a.rs","old_string":"","new_string":"x"}"#);
    let half = r#"{"file_path":"/w/a.rs","edits":[{"old_string":"a()","new_string":"c()"},{"old_string":"a()","new_string":"d()"}]}"#;
    let half = ("MultiEdit", half, DONE);
    for edit in [many, none, insert, new, half] {
        assert_eq!(content(&[WRITE, edit]), None, "{edit:?}");
    }
    // Until it is read again.
    let read = (
        "Read",
        r#"{"file_path":"/w/a.rs"}"#,
        ResultText::Fine("     1→x"),
    );
    assert_eq!(whole(&[WRITE, many, read]).as_deref(), Some("x"));
    // "aa" occurs twice in "aaa".
    let aaa = ("Write", r#"{"file_path":"/w/a.rs","content":"aaa"}"#, DONE);
    let aa = edit(r#"{"file_path":"/w/a.rs","old_string":"aa","new_string":"b"}"#);
    assert_eq!(content(&[aaa, aa]), None);
}

/// Content shown before a newer read is current only if that read states so, by a flag of its format or literally.
#[test]
fn what_is_not_the_newest_that_was_shown_is_not_told() {
    fn read(said: ResultText<'_>) -> (&'static str, &'static str, ResultText<'_>) {
        ("read_file", r#"{"path":"/w/a.rs"}"#, said)
    }
    let old = read(ResultText::Fine("use a;\nfn old() {}\n"));
    for first in [
        "from app.errors import AppError",
        "use crate::error::Exception; // cannot",
        "error_chain! {",
        "errors = 'permission denied'",
    ] {
        let text = format!("{first}\nfn new() {{}}\n");
        let new = read(ResultText::Fine(&text));
        assert_eq!(whole(&[old, new]).as_deref(), Some(&*text), "{first}");
    }
    // These have no flag: they are messages, or the content of the file.
    for said in [
        "Error: ENOENT: no such file or directory",
        "Error: no carrier\n1\n2\n3\n4\n5",
        "",
    ] {
        assert_eq!(
            content(&[old, read(ResultText::Fine(said))]),
            None,
            "{said}"
        );
    }
    // Output of this tool without numbers, or cut, is not the text of a file.
    let numbered = |said| ("Read", r#"{"file_path":"/w/a.rs"}"#, ResultText::Fine(said));
    let old = numbered("     1→fn old() {}");
    assert_eq!(content(&[old, numbered("a picture")]), None);
    assert_eq!(
        content(&[old, numbered("     1→fn n... [truncated]")]),
        None
    );
    let same =
        "File unchanged since last read. The content from the earlier Read is still current.";
    assert_eq!(
        whole(&[old, numbered(same)]).as_deref(),
        Some("fn old() {}")
    );
    let flagged = (
        "Read",
        r#"{"file_path":"/w/a.rs"}"#,
        ResultText::Failed("Exit code 1"),
    );
    assert_eq!(whole(&[old, flagged]).as_deref(), Some("fn old() {}"));
    let gone = (
        "Read",
        flagged.1,
        ResultText::Failed("File does not exist."),
    );
    assert_eq!(content(&[old, gone]), None);
    let open = ("Read", flagged.1, ResultText::Nothing);
    assert_eq!(content(&[old, open]), None);
    // It still counts as a successful read, unless it may be an error message.
    let done = |said| {
        let files = in_main(&anthropic(&[read(ResultText::Fine(said))]), files);
        files[0].operations[0].done
    };
    assert_eq!(done("from app.errors import AppError"), Done::Yes);
    assert_eq!(done("cat: a: No such file or directory"), Done::Unclear);
    assert_eq!(done("<tool_use_error>no</tool_use_error>"), Done::Failed);
}

#[test]
fn a_part_is_known_as_a_part() {
    let part = |said| {
        (
            "Read",
            r#"{"file_path":"/w/a.rs","offset":2,"limit":1}"#,
            ResultText::Fine(said),
        )
    };
    let second = |text: &str| {
        Some(Content {
            text: text.to_owned(),
            lines: Lines {
                first: 2,
                last: Some(2),
            },
        })
    };
    assert_eq!(content(&[part("     2→x")]), second("x"));
    // As it was known, or as it was changed since.
    assert_eq!(
        content(&[WRITE, part("     2→fn b() {}")]),
        content(&[WRITE])
    );
    assert_eq!(
        content(&[WRITE, part("     2→fn c() {}")]),
        second("fn c() {}")
    );
    let one = edit(r#"{"file_path":"/w/a.rs","old_string":"x","new_string":"y"}"#);
    assert_eq!(content(&[part("     2→x"), one]), None);
}

#[test]
fn a_patch_names_its_files() {
    let patch = "*** Begin Patch\n*** Add File: new.rs\n+fn n() {}\n+\n*** Update File: ./old.rs\n@@\n-a\n+b\n*** Delete File: gone.rs\n*** Update File: from.rs\n*** Move to: to.rs\n@@\n-x\n+y\n*** End Patch";
    for key in ["input", "patch", "patchText"] {
        let input = serde_json::json!({ key: patch }).to_string();
        let transcript = anthropic(&[("apply_patch", &input, ResultText::Fine("Success."))]);
        let found = in_main(&transcript, files);
        let found: Vec<(&str, FileAction, Option<Content>)> = found
            .iter()
            .map(|file| {
                (
                    file.path.as_str(),
                    file.operations.last().unwrap().what,
                    file.content(&transcript),
                )
            })
            .collect();
        let new = Content {
            text: "fn n() {}\n\n".to_owned(),
            lines: Lines::ALL,
        };
        assert_eq!(
            found,
            [
                ("new.rs", FileAction::Write, Some(new)),
                ("old.rs", FileAction::Edit, None),
                ("gone.rs", FileAction::Delete, None),
                ("from.rs", FileAction::MoveFrom, None),
                ("to.rs", FileAction::Edit, None),
            ]
        );
    }
}

#[test]
fn what_was_searched_is_looked_at_and_its_content_stays_known() {
    let transcript = anthropic(&[
        (
            "exec_command",
            r#"{"cmd":"cat a.rs","workdir":"/w"}"#,
            ResultText::Fine("one\ntwo\n"),
        ),
        (
            "exec_command",
            r#"{"cmd":"rg -n two a.rs","workdir":"/w"}"#,
            ResultText::Fine("2:two"),
        ),
        (
            "exec_command",
            r#"{"cmd":"rg three a.rs","workdir":"/w"}"#,
            ResultText::Failed(""),
        ),
    ]);
    let files = in_main(&transcript, files);
    assert_eq!(files.len(), 1);
    let done: Vec<(FileAction, Done)> = files[0]
        .operations
        .iter()
        .map(|o| (o.what, o.done))
        .collect();
    assert_eq!(
        done,
        [
            (FileAction::Read(Lines::ALL), Done::Yes),
            (FileAction::Search, Done::Yes)
        ]
    );
    let content = files[0].content(&transcript).unwrap();
    assert_eq!(
        (files[0].path.as_str(), content.text.as_str()),
        ("/w/a.rs", "one\ntwo\n")
    );
}

#[test]
fn a_patch_with_two_parts_about_one_file_changes_it_twice() {
    let patch = "*** Begin Patch\n*** Update File: /w/a.rs\n@@\n-fn a() {}\n+fn c() {}\n*** Update File: /w/a.rs\n@@\n-fn b() {}\n+fn d() {}\n*** End Patch";
    let input = serde_json::json!({"input": patch}).to_string();
    let text = whole(&[WRITE, ("apply_patch", &input, DONE)]);
    assert_eq!(text.as_deref(), Some("fn c() {}\nfn d() {}\n"));
}

#[test]
fn what_takes_too_long_to_find_out_is_unknown() {
    let transcript = anthropic(&[
        WRITE,
        edit(r#"{"file_path":"/w/a.rs","old_string":"a","new_string":"c"}"#),
    ]);
    let edited = in_main(&transcript, files);
    let length = "fn a() {}\nfn b() {}\n".len();
    let known = |bytes| {
        edited[0]
            .known(&transcript, &[], &WorkBudget(Cell::new(bytes)))
            .is_some()
    };
    assert_eq!((known(length - 1), known(length)), (false, true));
    // Nor if the text would grow too much: it is not built first.
    let everywhere =
        r#"{"file_path":"/w/a.rs","old_string":"n","new_string":"0123456789","replace_all":true}"#;
    let transcript = anthropic(&[WRITE, edit(everywhere)]);
    let grown = in_main(&transcript, files);
    let known = |bytes| {
        grown[0]
            .known(&transcript, &[], &WorkBudget(Cell::new(bytes)))
            .is_some()
    };
    let length = length + 2 * "0123456789".len();
    assert_eq!((known(length - 1), known(length)), (false, true));
    // Nor does the next one get what the last one could not take.
    let effort = WorkBudget(Cell::new(length));
    assert!(effort.takes(1) && !effort.takes(length) && !effort.takes(1));
}

/// A session of pi, which flags failed results.
fn pi(calls: &[(&str, &str, &str)]) -> Transcript<'static> {
    let mut lines = vec![r#"{"type":"session","id":"s","cwd":"/w"}"#.to_owned()];
    for (number, (tool, input, said)) in calls.iter().enumerate() {
        let said = serde_json::Value::from(*said);
        let parent = match number.checked_sub(1) {
            Some(before) => format!("\"b{before}\""),
            None => "null".to_owned(),
        };
        lines.push(format!(
            r#"{{"type":"message","id":"a{number}","parentId":{parent},"message":{{"role":"assistant","content":[{{"type":"toolCall","id":"t{number}","name":"{tool}","arguments":{input}}}],"stopReason":"toolUse"}}}}"#
        ));
        lines.push(format!(
            r#"{{"type":"message","id":"b{number}","parentId":"a{number}","message":{{"role":"toolResult","toolCallId":"t{number}","toolName":"{tool}","content":[{{"type":"text","text":{said}}}],"isError":false}}}}"#
        ));
    }
    read_as(Format::Pi, &lines.join("\n"))
}

#[test]
fn in_the_log_of_an_agent_that_flags_failures_a_text_is_what_was_read() {
    for said in [
        "Error: no carrier\nup\n",
        "cat: a: No such file or directory",
    ] {
        let transcript = pi(&[("read", r#"{"path":"a"}"#, said)]);
        let files = in_main(&transcript, files);
        assert_eq!(files[0].operations[0].done, Done::Yes);
        assert_eq!(files[0].content(&transcript).unwrap().text, said);
    }
}

#[test]
fn a_part_comes_without_its_hint_and_with_its_lines() {
    let hint = "a\nb\n\n[7 more lines in file. Use offset=5 to continue]";
    let transcript = pi(&[("read", r#"{"path":"a","offset":3,"limit":2}"#, hint)]);
    let files = in_main(&transcript, files);
    let expected = Content {
        text: "a\nb".to_owned(),
        lines: Lines {
            first: 3,
            last: Some(4),
        },
    };
    assert_eq!(files[0].content(&transcript), Some(expected));
}

#[test]
fn what_a_command_deletes_or_replaces_is_not_known() {
    let read = ("read", r#"{"path":"/w/in/a"}"#, "text of a");
    for (command, said, is_known) in [
        ("rm /w/in/a", "", false),
        ("rm in/a", "", false),
        ("cd in && rm a", "", false),
        ("rm -r in", "", false),
        ("mv in/a in/b", "", false),
        ("cp b in/a", "", false),
        ("mv in/b in", "", true),
        ("rm in/aa", "", true),
        ("rm a", "", true),
        ("echo rm in/a", "", true),
    ] {
        let input = serde_json::json!({ "command": command }).to_string();
        let transcript = pi(&[read, ("bash", &input, said)]);
        let files = in_main(&transcript, files);
        assert_eq!(
            files[0].content(&transcript).is_some(),
            is_known,
            "{command}"
        );
    }
    for (tool, input) in [
        ("delete_file", r#"{"path":"/w/in/a"}"#),
        ("move_file", r#"{"source":"/w/in/a","destination":"/w/b"}"#),
        ("move_file", r#"{"source":"/w/b","destination":"/w/in/a"}"#),
    ] {
        let transcript = pi(&[read, (tool, input, "done")]);
        let files = in_main(&transcript, files);
        assert_eq!(files[0].content(&transcript), None, "{tool} {input}");
    }
}

#[test]
fn what_the_user_changed_before_it_was_written_is_not_known() {
    let said = "Successfully overwrote file: /w/a.rs. User modified the `content` to be: other";
    let write = (WRITE.0, WRITE.1, ResultText::Fine(said));
    assert_eq!(content(&[write]), None);
}

#[test]
fn lines_from_0_on_are_not_known() {
    let numbered_from_0 = (
        "Read",
        r#"{"file_path":"/w/a.rs"}"#,
        ResultText::Fine("     0→fn a() {}\n     1→fn c() {}"),
    );
    assert_eq!(content(&[numbered_from_0]), None);
    assert_eq!(content(&[WRITE, numbered_from_0]), None);
}
