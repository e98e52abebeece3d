//! The parts of a call (fields that refer to things, bodies that it writes, files, the command), and how it ended, by its result.
//!
//! Reads them independently of `facts`, the source of summaries, because this module evaluates summaries. An input that is not JSON
//! counts as referring text.

use serde_json::Value;

use super::unroll::written_out;
use super::{cell, todos};
use crate::facts::kind_of_call;
use crate::policy::{ToolKind, Tools};
use crate::scan::unescape;
use crate::transcript::Outcome;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Call {
    /// The fields that refer to something, one per line.
    pub(super) refers: String,
    /// The bodies of writes, edits and patches.
    pub(super) body: String,
    /// The paths of its files, as written.
    pub(super) files: Vec<(String, Work)>,
    /// The command of a shell call, or the commands of a cell.
    pub(super) commands: Vec<String>,
    /// A call of unknown kind in its own words: the tool and its input.
    pub(super) own_words: Option<String>,
    /// Whether its result shows a file with line numbers.
    pub(super) reads: bool,
    /// The open items of the list of to-dos that it writes.
    pub(super) todos: Option<Vec<String>>,
    /// What it does to a single task.
    pub(super) task: Option<Box<todos::Task>>,
}

/// What a call does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Read,
    Write,
    Edit,
    Delete,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With this status.
    Code(i64),
    /// It failed, by its result.
    Failed,
    /// Unknown.
    Fine,
}

impl End {
    pub(super) fn is_failure(self) -> bool {
        match self {
            End::Code(code) => code != 0,
            End::Failed => true,
            End::Fine => false,
        }
    }
}

/// The tool of code mode, whose input is a program that calls others.
pub(super) const CELL_TOOL: &str = "exec";

/// The keys of bodies, in the inputs of writes and edits.
const BODIES: [&str; 20] = [
    "file_content",
    "insert_text",
    "new_content",
    "new_text",
    "old_text",
    "replace",
    "content",
    "contents",
    "file_text",
    "text",
    "oldString",
    "newString",
    "old_string",
    "new_string",
    "old_str",
    "new_str",
    "oldText",
    "newText",
    "new_source",
    "code_edit",
];

/// The keys of paths.
const PATHS: [&str; 7] = [
    "file_path",
    "path",
    "filePath",
    "target_file",
    "absolute_path",
    "filename",
    "notebook_path",
];

/// The keys of both paths in the input of a call that moves a file.
const OLD_PATHS: [&str; 5] = ["source", "old_path", "oldPath", "source_path", "src"];
const NEW_PATHS: [&str; 5] = [
    "destination",
    "new_path",
    "newPath",
    "destination_path",
    "dst",
];

const BEGIN_PATCH: &str = "*** Begin Patch";
const END_PATCH: &str = "*** End Patch";

impl Call {
    /// A call of `tool` with this raw input.
    pub(super) fn read(tool: &str, input: &[u8]) -> Call {
        let kind = kind_of_call(tool, input, &Tools::default());
        let mut call = Call::default();
        let written = match input {
            [b'"', inside @ .., b'"'] => unescape(inside),
            raw => raw.into(),
        };
        let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(&written) else {
            let text = String::from_utf8_lossy(&written).into_owned();
            match cell::calls(&written_out(&text)) {
                calls if tool == CELL_TOOL && !calls.is_empty() => {
                    for (tool, input) in calls {
                        call.join(Call::read(&tool, input.to_string().as_bytes()));
                    }
                }
                _ => call.text(&text),
            }
            return call;
        };
        call.leaves(kind, "", &value);
        call.todos = todos::items(tool, &value);
        call.task = todos::task(tool, &value).map(Box::new);
        let text = |key: &&str| value.get(*key).and_then(Value::as_str);
        let path = PATHS.iter().find_map(text).map(str::to_owned);
        let work = match (kind, value.get("command").and_then(Value::as_str)) {
            (ToolKind::Read, _) | (ToolKind::Edit, Some("view")) => Some(Work::Read),
            (ToolKind::Write, _) | (ToolKind::Edit, Some("create")) => Some(Work::Write),
            (ToolKind::Edit, None) if deletes(tool) => Some(Work::Delete),
            (ToolKind::Edit, _) => Some(Work::Edit),
            (ToolKind::Shell | ToolKind::Search | ToolKind::Web | ToolKind::Other, _) => None,
        };
        call.reads = work == Some(Work::Read);
        call.files.extend(path.zip(work));
        if kind == ToolKind::Edit && call.files.is_empty() {
            let text = |keys: &[&str]| {
                let found = keys.iter().find_map(|key| value.get(*key)?.as_str());
                found.map(str::to_owned)
            };
            call.files
                .extend(text(&OLD_PATHS).map(|path| (path, Work::Delete)));
            call.files
                .extend(text(&NEW_PATHS).map(|path| (path, Work::Edit)));
        }
        match kind {
            ToolKind::Shell => call.commands.extend(command(&value)),
            ToolKind::Other => {
                let input = String::from_utf8_lossy(&written);
                let input = input.trim().trim_start_matches("{}");
                call.own_words = Some(format!("{tool} {input}"));
            }
            ToolKind::Read
            | ToolKind::Write
            | ToolKind::Edit
            | ToolKind::Search
            | ToolKind::Web => {}
        }
        call
    }

    /// Adds another call of the same cell.
    fn join(&mut self, other: Call) {
        push_line(&mut self.refers, &other.refers);
        push_line(&mut self.body, &other.body);
        self.files.extend(other.files);
        self.commands.extend(other.commands);
        self.todos = other.todos.or(self.todos.take());
    }

    /// Visits the strings of a value; `key` is its name.
    fn leaves(&mut self, kind: ToolKind, key: &str, value: &Value) {
        match value {
            Value::String(text) => {
                let writes = matches!(kind, ToolKind::Write | ToolKind::Edit);
                if writes && BODIES.contains(&key) {
                    push_line(&mut self.body, text);
                } else {
                    self.text(text);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.leaves(kind, key, item)),
            Value::Object(fields) => fields
                .iter()
                .for_each(|(key, value)| self.leaves(kind, key, value)),
            Value::Number(number) => push_line(&mut self.refers, &number.to_string()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Adds referring text, without the patch in it.
    fn text(&mut self, text: &str) {
        let Some((before, patch)) = text.split_once(BEGIN_PATCH) else {
            push_line(&mut self.refers, text);
            return;
        };
        let (patch, after) = patch.split_once(END_PATCH).unwrap_or((patch, ""));
        push_line(&mut self.refers, before);
        for line in patch.lines() {
            let headers = [
                ("*** Add File: ", Work::Write),
                ("*** Update File: ", Work::Edit),
                ("*** Delete File: ", Work::Delete),
                ("*** Move to: ", Work::Edit),
            ];
            let mut headers = headers.into_iter();
            let header = headers.find_map(|(header, work)| {
                let path = line.strip_prefix(header)?;
                Some((header, path.trim(), work))
            });
            match header {
                Some((header, path, work)) => {
                    if header == "*** Move to: "
                        && let Some(moved) = self.files.last_mut()
                    {
                        moved.1 = Work::Delete;
                    }
                    push_line(&mut self.refers, path);
                    self.files.push((path.to_owned(), work));
                }
                None => push_line(&mut self.body, line.get(1..).unwrap_or_default()),
            }
        }
        push_line(&mut self.refers, after);
    }
}

/// Whether a tool deletes the files in its input.
fn deletes(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["delete", "remove", "unlink"]
        .iter()
        .any(|verb| tool.contains(verb))
}

fn push_line(text: &mut String, line: &str) {
    if !line.trim().is_empty() {
        text.push_str(line);
        text.push('\n');
    }
}

/// The command in a shell's input: a string, or the last of the arguments of `bash -lc`, or all of them.
fn command(input: &Value) -> Option<String> {
    let value = input.get("command").or_else(|| input.get("cmd"))?;
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let words: Option<Vec<&str>> = value.as_array()?.iter().map(Value::as_str).collect();
    match &words?[..] {
        [] => None,
        [_, "-c" | "-lc", script] => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

/// The beginnings of unflagged results in which tools say that they did nothing.
const REFUSALS: [&str; 3] = [
    "<tool_use_error>",
    "No replacement was performed",
    "File too large to read at once (",
];

/// How a call ended, by its result. `header` is what agents write before the output.
pub(super) fn end(header: &str, text: &str, outcome: Outcome) -> End {
    let code = code_before(header)
        .or_else(|| code_before(text))
        .or_else(|| code_in(text))
        .or_else(|| code_behind(text));
    match (code, outcome) {
        (Some(0), Outcome::Failed) | (None, Outcome::Failed) => End::Failed,
        (Some(code), _) => End::Code(code),
        (None, Outcome::Fine) if REFUSALS.iter().any(|words| text.starts_with(words)) => {
            End::Failed
        }
        (None, Outcome::Fine) => End::Fine,
    }
}

/// How the only command in a cell ended; `None` if the cell does not say.
pub(super) fn end_in_cell(text: &str) -> Option<End> {
    if text.starts_with("Script failed") {
        return Some(End::Failed);
    }
    let signs = ["\"exit_code\":", "exit=", "exit_code=", "exit: "];
    signs.iter().find_map(|sign| {
        let (_, rest) = text.split_once(sign)?;
        let rest = rest.trim_start();
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '-');
        let code = rest[..digits.unwrap_or(rest.len())].parse().ok()?;
        Some(End::Code(code))
    })
}

/// The exit code on one of the first lines.
fn code_before(text: &str) -> Option<i64> {
    let begins = ["Exit code ", "Exit code: ", "Process exited with code "];
    text.lines().take(4).find_map(|line| {
        let line = line.trim().trim_matches(['[', ']', '(', ')']);
        let code = begins.iter().find_map(|begins| line.strip_prefix(begins))?;
        code.trim().parse().ok()
    })
}

/// The exit code in a result that is an object.
fn code_in(text: &str) -> Option<i64> {
    if !text.starts_with('{') {
        return None;
    }
    let value: Value = serde_json::from_slice(text.as_bytes()).ok()?;
    let code = |of: &Value| {
        let keys = ["exit_code", "exitCode", "returncode"];
        keys.iter().find_map(|key| of.get(*key)?.as_i64())
    };
    code(&value).or_else(|| code(value.get("metadata")?))
}

/// The exit code on one of the last lines, among others that tools write after an output.
fn code_behind(text: &str) -> Option<i64> {
    let mut lines = text.lines().rev().map(str::trim).take(7);
    let of_gemini = text.lines().rev().take(2);
    let of_gemini = of_gemini
        .filter(|line| line.starts_with("Process Group PGID: "))
        .count();
    lines.find_map(|line| {
        let bare = line.trim_matches(['[', ']', '<', '>', '.']);
        let is_marked = bare.len() < line.len();
        let (before, code) = bare.rsplit_once(' ')?;
        let is_status = match before {
            "Command exited with code" => !is_marked,
            "exited with exit code" => line.starts_with('<'),
            "The command completed with exit code"
            | "Command finished with exit code"
            | "exit code:"
            | "Exit code:" => line.starts_with('['),
            "Exit Code:" => of_gemini > 0,
            shell => shell.starts_with("shellId: ") && shell.ends_with(" completed with exit code"),
        };
        code.parse().ok().filter(|_| is_status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_refers_to_its_path_and_writes_its_strings() {
        let input =
            br#"{"file_path":"/w/a.rs","old_string":"one","new_string":"two","replace_all":true}"#;
        let expected = Call {
            refers: "/w/a.rs\n".to_owned(),
            body: "one\ntwo\n".to_owned(),
            files: vec![("/w/a.rs".to_owned(), Work::Edit)],
            ..Call::default()
        };
        assert_eq!(Call::read("Edit", input), expected);
        let many = br#"{"path":"/w/a.rs","edits":[{"oldText":"one","newText":"two"}]}"#;
        assert_eq!(Call::read("edit", many), expected);
        // The pattern of a search is not a body, whatever its key.
        let search = Call::read("Grep", br#"{"pattern":"x","content":"y"}"#);
        assert_eq!((&search.refers[..], &search.body[..]), ("x\ny\n", ""));
    }

    #[test]
    fn files_are_deleted_and_moved() {
        let files = |tool, input: &str| Call::read(tool, input.as_bytes()).files;
        assert_eq!(
            files("delete_file", r#"{"target_file":"a"}"#),
            [("a".to_owned(), Work::Delete)]
        );
        assert_eq!(
            files("move_file", r#"{"source":"a","destination":"b"}"#),
            [("a".to_owned(), Work::Delete), ("b".to_owned(), Work::Edit)]
        );
    }

    #[test]
    fn a_patch_in_a_command_is_a_body_with_paths() {
        let input = br#"{"command":["bash","-lc","apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n*** Delete File: b.rs\n*** End Patch\nE"]}"#;
        let call = Call::read("shell", input);
        assert_eq!(
            call.refers,
            "bash\n-lc\napply_patch <<'E'\n\na.rs\nb.rs\n\nE\n"
        );
        assert_eq!(call.body, "@\none\ntwo\n");
        assert_eq!(
            call.files,
            [
                ("a.rs".to_owned(), Work::Edit),
                ("b.rs".to_owned(), Work::Delete)
            ]
        );
        assert!(
            call.commands
                .iter()
                .any(|c| c.starts_with("apply_patch <<"))
        );
        let plain = Call::read(
            "apply_patch",
            br#""*** Begin Patch\n*** Add File: c\n+x\n*** End Patch""#,
        );
        assert_eq!(plain.files, [("c".to_owned(), Work::Write)]);
    }

    #[test]
    fn results_say_how_it_ended_in_several_ways() {
        let fine = |text| end("", text, Outcome::Fine);
        assert_eq!(fine("Exit code 2\nno such file"), End::Code(2));
        assert_eq!(
            fine(r#"{"output":"x","metadata":{"exit_code":1}}"#),
            End::Code(1)
        );
        assert_eq!(fine("out\n\nCommand exited with code 3"), End::Code(3));
        assert_eq!(
            fine("out\n<shellId: 0 completed with exit code 3>"),
            End::Code(3)
        );
        let open_hands = "out\n[The command completed with exit code 3.]\n[Current working directory: /w]\n[Command finished with exit code 3]";
        assert_eq!(fine(open_hands), End::Code(3));
        assert_eq!(
            fine("Output: x\nExit Code: 3\nProcess Group PGID: 7"),
            End::Code(3)
        );
        assert_eq!(
            fine("Output: x\nExit Code: 3\nand more\nProcess Group: 7"),
            End::Fine
        );
        assert_eq!(
            fine("File too large to read at once (40.0 KB). Use view_range."),
            End::Failed
        );
        assert_eq!(fine("Exit codes are numbers"), End::Fine);
        assert_eq!(
            end("Process exited with code 0", "x", Outcome::Fine),
            End::Code(0)
        );
        assert_eq!(end("", "x", Outcome::Failed), End::Failed);
        assert!(End::Failed.is_failure() && !End::Code(0).is_failure());
    }
}
