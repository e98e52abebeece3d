//! What an unlisted tool does, by the words of its name and the keys of its input.
//!
//! PURE. Both must agree: a call whose keys could be of several kinds, or whose name speaks against them, stays unknown. A call on
//! anything other than files of this machine (a repository on a server, a page, a database) is not a read or write.

use super::input::Input;
use super::path;
use crate::policy::ToolKind;

/// Words for running a command.
const RUN: [&str; 14] = [
    "bash",
    "shell",
    "sh",
    "zsh",
    "pwsh",
    "powershell",
    "terminal",
    "console",
    "command",
    "cmd",
    "exec",
    "execute",
    "run",
    "process",
];
/// The keys of a command.
const COMMAND: [&str; 2] = ["command", "cmd"];
/// Words of tools whose command is not a shell command.
const NO_SHELL: [&str; 15] = [
    "sql",
    "query",
    "database",
    "python",
    "js",
    "javascript",
    "node",
    "browser",
    "notebook",
    "slash",
    "vim",
    "redis",
    "agent",
    "task",
    "chat",
];
/// Words for showing a file.
const READ: [&str; 4] = ["read", "view", "cat", "show"];
/// Words for properties of a file other than its content, and for other things with a path.
const NO_READ: [&str; 27] = [
    "dir",
    "directory",
    "directories",
    "folder",
    "folders",
    "tree",
    "list",
    "delete",
    "remove",
    "move",
    "rename",
    "write",
    "image",
    "symbol",
    "symbols",
    "outline",
    "info",
    "metadata",
    "diagnostics",
    "definition",
    "references",
    "history",
    "diff",
    "log",
    "issue",
    "message",
    "email",
];
/// Words for writing a whole file.
const WRITE: [&str; 6] = ["write", "create", "save", "overwrite", "put", "add"];
/// Words for changing a part of a file.
const EDIT: [&str; 7] = [
    "edit", "replace", "patch", "modify", "append", "insert", "apply",
];
/// The words of a tool that deletes a file; a name with any other word deletes something else.
const DELETE: [&str; 9] = [
    "delete", "remove", "rm", "unlink", "file", "files", "path", "fs", "tool",
];
/// The same for a tool that moves a file.
const MOVE: [&str; 7] = ["move", "rename", "mv", "file", "files", "path", "fs"];
/// The keys of the old path and of the new one.
const FROM: [&str; 6] = [
    "source",
    "old_path",
    "oldPath",
    "source_path",
    "from",
    "src",
];
const TO: [&str; 7] = [
    "destination",
    "new_path",
    "newPath",
    "destination_path",
    "target_path",
    "to",
    "dst",
];
/// Words for searching, and for lists of files.
const SEARCH: [&str; 12] = [
    "grep",
    "rg",
    "ripgrep",
    "glob",
    "find",
    "search",
    "list",
    "ls",
    "dir",
    "directory",
    "folder",
    "tree",
];
/// Words for the web.
const WEB: [&str; 14] = [
    "web", "fetch", "http", "url", "browse", "crawl", "scrape", "navigate", "google", "bing",
    "brave", "exa", "tavily", "internet",
];
/// The commands of an editor, which is one tool for several kinds of work.
const EDITOR: [&str; 5] = ["view", "create", "str_replace", "insert", "undo_edit"];
/// The keys of objects that are not on this machine.
const REMOTE: [&str; 16] = [
    "owner",
    "repo",
    "repository",
    "repo_name",
    "project_id",
    "branch",
    "ref",
    "sha",
    "host",
    "server",
    "bucket",
    "container",
    "namespace",
    "page_id",
    "uri",
    "url",
];
const ADDRESSES: [&str; 4] = ["url", "urls", "uri", "address"];
const PATTERNS: [&str; 7] = [
    "pattern",
    "query",
    "regex",
    "glob",
    "search_term",
    "glob_pattern",
    "q",
];

/// The kind of a call of an unlisted tool of this name.
pub(super) fn kind_by_shape(name: &str, input: &Input<'_>) -> ToolKind {
    let words = words(last_part(name));
    let named = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let is_web = named(&WEB);
    if is_web && (input.has(&ADDRESSES) || input.has(&PATTERNS)) {
        return ToolKind::Web;
    }
    if input.has(&REMOTE) {
        return ToolKind::Other;
    }
    if deletes(name, input) || moved(name, input).is_some() {
        return ToolKind::Edit;
    }
    let has_path = path::of(input).is_some();
    let verb = input.text(&["command"]);
    if has_path && verb.is_some_and(|verb| EDITOR.contains(&&*verb)) {
        return ToolKind::Edit;
    }
    let replaces = input.has(&OLD) && input.has(&NEW) || input.has(&["edits"]);
    if has_path && (replaces || named(&EDIT) && input.has(&CHANGED))
        || named(&EDIT) && input.plain().contains("*** Begin Patch")
    {
        return ToolKind::Edit;
    }
    if has_path && input.has(&CONTENT) {
        return match named(&WRITE) {
            true if input.has(&IN_PART) => ToolKind::Edit,
            true => ToolKind::Write,
            false => ToolKind::Other,
        };
    }
    if !has_path
        && (input.text(&COMMAND).is_some() || input.texts(&COMMAND).is_some())
        && named(&RUN)
        && !named(&NO_SHELL)
    {
        return ToolKind::Shell;
    }
    if input.has(&PATTERNS)
        || has_path && named(&["list", "ls", "dir", "directory", "folder", "tree"])
    {
        return match named(&SEARCH) && !is_web {
            true => ToolKind::Search,
            false => ToolKind::Other,
        };
    }
    match has_path && named(&READ) && !named(&NO_READ) {
        true => ToolKind::Read,
        false => ToolKind::Other,
    }
}

/// Whether a call deletes the file that it names.
pub(super) fn deletes(name: &str, input: &Input<'_>) -> bool {
    let has_only = || path::of(input).is_some() && !input.has(&CHANGED) && !input.has(&REMOTE);
    is_only_of(name, &DELETE, &DELETE[..4]) && has_only()
}

/// The old and the new path, if a call moves a file.
pub(super) fn moved(name: &str, input: &Input<'_>) -> Option<[String; 2]> {
    let is_move = is_only_of(name, &MOVE, &MOVE[..3]) && !input.has(&REMOTE);
    let path = |keys: &[&str]| input.text(keys).filter(|_| is_move);
    Some([path(&FROM)?.into_owned(), path(&TO)?.into_owned()])
}

/// Whether all words of a name are among `all`, and one is a verb.
fn is_only_of(name: &str, all: &[&str], verbs: &[&str]) -> bool {
    let words = words(last_part(name));
    words.iter().all(|word| all.contains(&word.as_str()))
        && words.iter().any(|word| verbs.contains(&word.as_str()))
}

/// The keys of an edit's old and new text.
pub(super) const OLD: [&str; 6] = [
    "old_string",
    "old_str",
    "oldString",
    "oldText",
    "old_text",
    "search",
];
pub(super) const NEW: [&str; 6] = [
    "new_string",
    "new_str",
    "newString",
    "newText",
    "new_text",
    "replace",
];
/// The keys of new content.
pub(super) const CONTENT: [&str; 6] = [
    "content",
    "file_text",
    "contents",
    "text",
    "file_content",
    "new_content",
];
/// Further keys of what is put into a file.
const CHANGED: [&str; 10] = [
    "content",
    "file_text",
    "contents",
    "text",
    "new_str",
    "insert_text",
    "new_text",
    "code_edit",
    "diff",
    "patch",
];

/// The keys that mean that a file is not written as a whole.
const IN_PART: [&str; 7] = [
    "append",
    "mode",
    "position",
    "line",
    "start_line",
    "insert_line",
    "offset",
];

/// The tool's own name, without that of its server: `mcp__files__read_file`, `files.read_file`.
pub(super) fn last_part(name: &str) -> &str {
    let parts = name.rsplit("__").next().unwrap_or(name);
    parts.rsplit(['.', '/', ':']).next().unwrap_or(parts)
}

/// The words of a name in lower case: of `readTextFile`, `read_text_file` or `read-text-file`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || c.is_uppercase() && was_lower;
        was_lower = c.is_lowercase();
        if begins {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, input: &str) -> ToolKind {
        kind_by_shape(name, &Input::in_json(input.as_bytes()))
    }

    #[test]
    fn published_tools_are_what_they_do() {
        use ToolKind::{Edit, Read, Search, Shell, Web, Write};
        for (name, input, expected) in [
            ("execute_bash", r#"{"command":"ls"}"#, Shell),
            ("bash_20250124", r#"{"command":"ls"}"#, Shell),
            (
                "run_shell_command",
                r#"{"command":"ls","description":"d"}"#,
                Shell,
            ),
            (
                "run_in_terminal",
                r#"{"command":"ls","explanation":"e"}"#,
                Shell,
            ),
            (
                "execute_command",
                r#"{"command":"ls","requires_approval":false}"#,
                Shell,
            ),
            ("mcp__host__shell", r#"{"cmd":["ls","-l"]}"#, Shell),
            (
                "str_replace_editor",
                r#"{"command":"view","path":"/a"}"#,
                Edit,
            ),
            (
                "str_replace_editor",
                r#"{"command":"undo_edit","path":"/a"}"#,
                Edit,
            ),
            (
                "replace",
                r#"{"file_path":"/a","old_string":"x","new_string":"y"}"#,
                Edit,
            ),
            (
                "replace_string_in_file",
                r#"{"filePath":"/a","oldString":"x","newString":"y"}"#,
                Edit,
            ),
            (
                "edit_file",
                r#"{"path":"/a","edits":[{"oldText":"x","newText":"y"}]}"#,
                Edit,
            ),
            (
                "search_and_replace",
                r#"{"path":"/a","search":"x","replace":"y"}"#,
                Edit,
            ),
            (
                "insert_content",
                r#"{"path":"/a","line":1,"content":"x"}"#,
                Edit,
            ),
            ("apply_diff", r#"{"path":"/a","diff":"x"}"#, Edit),
            (
                "write_file",
                r#"{"path":"/a","content":"x","append":true}"#,
                Edit,
            ),
            ("delete_file", r#"{"target_file":"/a"}"#, Edit),
            ("mcp__fs__remove-file", r#"{"path":"/a"}"#, Edit),
            (
                "mcp__filesystem__move_file",
                r#"{"source":"/a","destination":"/b"}"#,
                Edit,
            ),
            ("create_file", r#"{"filePath":"/a","content":"x"}"#, Write),
            ("write_to_file", r#"{"path":"/a","content":"x"}"#, Write),
            ("readTextFile", r#"{"path":"/a"}"#, Read),
            ("mcp__filesystem__read_text_file", r#"{"path":"/a"}"#, Read),
            (
                "view_file",
                r#"{"absolute_path":"/a","start_line":1}"#,
                Read,
            ),
            ("grep_search", r#"{"query":"x","isRegexp":true}"#, Search),
            ("list_directory", r#"{"path":"/a"}"#, Search),
            ("web_fetch", r#"{"url":"http://a"}"#, Web),
            ("mcp__brave__brave_web_search", r#"{"query":"x"}"#, Web),
        ] {
            assert_eq!(kind(name, input), expected, "{name} {input}");
        }
    }

    #[test]
    fn what_speaks_against_it_leaves_it_unknown() {
        for (name, input) in [
            ("delete_branch", r#"{"path":"/a"}"#),
            ("delete_file", r#"{"repo":"r","path":"/a"}"#),
            ("delete_lines", r#"{"path":"/a","start_line":1}"#),
            ("rename_symbol", r#"{"path":"/a","old":"x","new":"y"}"#),
            ("mkdir", r#"{"path":"/a"}"#),
            ("read_file_info", r#"{"path":"/a"}"#),
            (
                "mcp__github__get_file_contents",
                r#"{"owner":"o","repo":"r","path":"a"}"#,
            ),
            (
                "mcp__github__create_or_update_file",
                r#"{"owner":"o","repo":"r","path":"a","content":"x","message":"m"}"#,
            ),
            ("run_sql", r#"{"command":"select 1"}"#),
            ("slash_command", r#"{"command":"/help"}"#),
            ("database", r#"{"command":"ls"}"#),
            ("post_comment", r#"{"path":"/a","content":"x"}"#),
            ("get_weather", r#"{"query":"x"}"#),
            ("read_message", r#"{"path":"/a"}"#),
            ("", "{}"),
            ("read", "[1"),
        ] {
            assert_eq!(kind(name, input), ToolKind::Other, "{name} {input}");
        }
    }
}
