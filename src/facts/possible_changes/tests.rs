//! Which words of paths and of users may be about a file.

use super::*;
use crate::facts::tests::{ResultText, anthropic, read_as};
use crate::facts::{Activity, WorkBudget};
use crate::format::Format;
use crate::policy::Tools;

#[test]
fn a_path_may_be_that_of_a_file() {
    for (touched, path) in [
        ("a.py", "/w/src/a.py"),
        ("src/a.py", "/w/src/a.py"),
        ("./src/a.py", "/w/src/a.py"),
        ("/w/src/a.py", "/w/src/a.py"),
        ("/w/src/a.py", "src/a.py"),
        ("~/w/a.py", "/home/me/w/a.py"),
        ("src", "/w/src/a.py"),
        ("/w", "/w/src/a.py"),
        ("../b", "/w/src/a.py"),
        (".", "/w/src/a.py"),
        ("src\\a.rs", "C:\\app\\src\\a.rs"),
        ("src\\a.rs", "C:/app/src/a.rs"),
        (".\\SRC\\A.rs", "C:/app/src/a.rs"),
        ("C:\\app\\src\\a.rs", "src/a.rs"),
        ("c:\\app\\src", "C:/app/src/a.rs"),
        ("/c/app/src/a.rs", "C:/app/src/a.rs"),
        ("/mnt/c/app", "C:/app/src/a.rs"),
    ] {
        assert!(may_be(touched, path), "{touched} {path}");
    }
    for (touched, path) in [
        ("b.py", "/w/src/a.py"),
        ("xa.py", "/w/src/a.py"),
        ("lib", "/w/src/a.py"),
        ("/w/lib", "/w/src/a.py"),
        ("/tmp/a.py", "/w/src/a.py"),
        ("/dev/null", "/w/src/a.py"),
        ("src\\b.rs", "C:/app/src/a.rs"),
        ("D:\\app\\src\\a.rs", "C:/app/src/a.rs"),
    ] {
        assert!(!may_be(touched, path), "{touched} {path}");
    }
}

#[test]
fn a_user_tells_of_a_change() {
    assert!(tells_of_a_change(
        "I deleted src/p.py, do not recreate it",
        "p.py"
    ));
    assert!(tells_of_a_change("x\n我把 p.py 删了", "p.py"));
    assert!(!tells_of_a_change("look at p.py. It is slow", "p.py"));
    assert!(!tells_of_a_change("I changed q.py\np.py is fine", "p.py"));
}

#[test]
fn a_path_of_windows_is_one_name_after_the_other() {
    let read = r#"{"file_path":"C:\\w\\a.rs"}"#;
    let shown = ResultText::Fine("     1→old");
    let after = |command: &str| {
        let input = serde_json::json!({ "command": command }).to_string();
        let call = ("Bash", &input[..], ResultText::Fine(""));
        let transcript = anthropic(&[("Read", read, shown), call]);
        let conversation = &transcript.conversations[0];
        let acts = Activity::of(&transcript, conversation, &Tools::default());
        let changes = possible_changes(&transcript, conversation, &acts);
        acts.files[0]
            .known(&transcript, &changes, &WorkBudget::default())
            .is_some()
    };
    assert!(after("cargo test"));
    assert!(!after("echo x > w\\a.rs"));
    assert!(!after("echo x > \"C:\\w\\a.rs\""));
    assert!(!after("rm 'w\\a.rs'"));
}

const READ: (&str, &str, ResultText<'_>) = (
    "Read",
    r#"{"file_path":"/w/src/a.rs"}"#,
    ResultText::Fine("     1→old\n     2→x"),
);

/// The known content of the file after these calls.
fn known_after(calls: &[(&str, &str, ResultText<'_>)]) -> Option<String> {
    let transcript = anthropic(&[&[READ], calls].concat());
    let conversation = &transcript.conversations[0];
    let acts = Activity::of(&transcript, conversation, &Tools::default());
    let file = acts.files.iter().find(|file| file.path == "/w/src/a.rs");
    let changes = possible_changes(&transcript, conversation, &acts);
    let known = file?.known(&transcript, &changes, &WorkBudget::default());
    known.map(|known| known.content.text)
}

#[test]
fn what_something_may_have_changed_is_not_known() {
    for (tool, input, said) in [
        ("Bash", r#"{"command":"sed -i s/old/new/ src/a.rs"}"#, ""),
        ("Bash", r#"{"command":"cargo fmt"}"#, ""),
        ("Bash", r#"{"command":"cat src/a.rs"}"#, "new\nx"),
        (
            "Bash",
            r#"{"command":"git diff"}"#,
            "+++ b/src/a.rs\n@@ -1 +1 @@\n-old\n+new\n x",
        ),
        (
            "Bash",
            r#"{"command":"ls src/a.rs"}"#,
            "ls: src/a.rs: No such file or directory",
        ),
        (
            "Bash",
            r#"{"command":"ls src/a.rs"}"#,
            "Error: ENOENT: src/a.rs",
        ),
        ("Task", r#"{"prompt":"mend it"}"#, "done"),
        ("mcp__disk__put", r#"{"target":"src/a.rs"}"#, "done"),
    ] {
        let call = (tool, input, ResultText::Fine(said));
        assert_eq!(known_after(&[call]), None, "{tool} {input}");
        let again = ("Read", READ.1, ResultText::Fine("     1→new\n     2→x"));
        assert_eq!(known_after(&[call, again]).as_deref(), Some("new\nx"));
    }
}

#[test]
fn what_changes_nothing_of_it_leaves_it_known() {
    let refused = "The user doesn't want to proceed with this tool use. It was rejected.";
    for (tool, input, said) in [
        ("Bash", r#"{"command":"cargo test 2>&1 | tail -3"}"#, "ok"),
        ("Bash", r#"{"command":"echo x > src/b.rs"}"#, ""),
        ("Bash", r#"{"command":"cat src/a.rs"}"#, "old\nx"),
        (
            "Bash",
            r#"{"command":"git diff"}"#,
            "+++ b/src/a.rs\n@@ -1 +1 @@\n-older\n+old\n x",
        ),
        ("Bash", r#"{"command":"python3 fix.py"}"#, refused),
        (
            "Task",
            r#"{"prompt":"look","subagent_type":"Explore"}"#,
            "a.rs is old",
        ),
        ("mcp__disk__put", r#"{"target":"src/b.rs"}"#, "done"),
    ] {
        let call = (tool, input, ResultText::Fine(said));
        assert_eq!(
            known_after(&[call]).as_deref(),
            Some("old\nx"),
            "{tool} {input}"
        );
    }
}

#[test]
fn a_patch_that_a_shell_is_given_says_what_it_changes() {
    let patch = "apply_patch <<'E'\n*** Begin Patch\n*** Update File: /w/src/a.rs\n@@\n-old\n+new\n*** End Patch\nE";
    let input = serde_json::json!({ "command": patch }).to_string();
    let said = ResultText::Fine("Success. Updated the following files:\nM /w/src/a.rs");
    assert_eq!(
        known_after(&[("shell", &input, said)]).as_deref(),
        Some("new\nx")
    );
}

/// What is known of the file after these calls, which come before and after it is read.
fn known_around(
    before: &[(&str, &str, ResultText<'_>)],
    after: &[(&str, &str, ResultText<'_>)],
) -> bool {
    let transcript = anthropic(&[before, &[READ], after].concat());
    is_known(&transcript)
}

fn is_known(transcript: &Transcript<'_>) -> bool {
    let conversation = &transcript.conversations[0];
    let acts = Activity::of(transcript, conversation, &Tools::default());
    let file = acts.files.iter().find(|file| file.path == "/w/src/a.rs");
    let changes = possible_changes(transcript, conversation, &acts);
    let known = file.and_then(|file| file.known(transcript, &changes, &WorkBudget::default()));
    known.is_some()
}

#[test]
fn what_goes_on_may_change_a_file_until_its_end_is_shown() {
    const BEGUN: &str = "Command running in background with ID: b1";
    let begin = |command: &str| format!(r#"{{"command":"{command}","run_in_background":true}}"#);
    let (changes, tests) = (begin("./rewrite.sh"), begin("cargo test"));
    let changes = ("Bash", &changes[..], ResultText::Fine(BEGUN));
    let tests = ("Bash", &tests[..], ResultText::Fine(BEGUN));
    let ended = (
        "BashOutput",
        r#"{"bash_id":"b1"}"#,
        ResultText::Fine("<status>completed</status>\n\n<exit_code>0</exit_code>"),
    );
    assert!(!known_around(&[changes], &[]));
    assert!(!known_around(&[changes], &[ended]));
    assert!(known_around(&[changes, ended], &[]));
    assert!(known_around(&[tests], &[ended]));
    let agent = (
        "Task",
        r#"{"prompt":"mend it","run_in_background":true}"#,
        ResultText::Fine("Async agent launched successfully."),
    );
    let output = ("TaskOutput", r#"{"task_id":"a"}"#, ResultText::Fine("done"));
    assert!(!known_around(&[agent], &[output]));
    assert!(!known_around(&[agent], &[]));
    assert!(known_around(&[agent, output], &[]));
}

#[test]
fn what_is_typed_into_a_command_may_change_a_file() {
    let typed = |chars: &str| {
        let input = format!(r#"{{"session_id":7,"chars":"{chars}"}}"#);
        known_after(&[("write_stdin", &input, ResultText::Fine(""))])
    };
    assert_eq!(typed("rm src/a.rs\\n"), None);
    assert!(typed("\\u0003").is_some() && typed("").is_some());
}

#[test]
fn a_command_that_the_user_ran_may_change_a_file() {
    let after = |said: &str| {
        let read = anthropic(&[READ]);
        let lines = (0..2).map(|line| String::from_utf8(read.line(line).to_vec()).unwrap() + "\n");
        let said = serde_json::json!({"role": "user", "content": said});
        is_known(&read_as(
            Format::Anthropic,
            &(lines.collect::<String>() + &said.to_string()),
        ))
    };
    assert!(!after("<bash-input>rm src/a.rs</bash-input>"));
    assert!(!after(
        "I ran the following shell command:\n```sh\nsed -i s/1/2/ src/a.rs\n```\n\nThis produced the following result:\n```\n\n```"
    ));
    assert!(after("<bash-input>rm src/b.rs</bash-input>"));
    assert!(after("<bash-input>cargo test</bash-input>"));
}
