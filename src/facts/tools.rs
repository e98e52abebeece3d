//! What kind of tool a name stands for, in the agents that are known.

use crate::policy::{ToolKind, Tools};

/// The names of each kind; a policy adds its own.
const NAMES: [(ToolKind, &[&str]); 6] = [
    (
        ToolKind::Shell,
        &[
            "Bash",
            "bash",
            "shell",
            "exec_command",
            "shell_command",
            "container.exec",
            "exec",
            "write_stdin",
            "local_shell",
            "run_terminal_cmd",
        ],
    ),
    (ToolKind::Read, &["Read", "read", "read_file", "view"]),
    (ToolKind::Write, &["Write", "write", "write_file", "create"]),
    (
        ToolKind::Edit,
        &[
            "Edit",
            "edit",
            "MultiEdit",
            "edit_file",
            "str_replace",
            "str_replace_based_edit_tool",
            "apply_patch",
        ],
    ),
    (
        ToolKind::Search,
        &["Grep", "grep", "Glob", "find", "LS", "ls"],
    ),
    (ToolKind::Web, &["WebFetch", "WebSearch"]),
];

/// The kind of the tool of that name; a name that the policy adds wins over ours.
pub fn kind_of(name: &str, added: &Tools) -> ToolKind {
    let own = [
        (ToolKind::Shell, &added.shell),
        (ToolKind::Read, &added.read),
        (ToolKind::Write, &added.write),
        (ToolKind::Edit, &added.edit),
        (ToolKind::Search, &added.search),
        (ToolKind::Web, &added.web),
    ];
    let theirs = || {
        NAMES
            .iter()
            .find(|(_, names)| names.contains(&name))
            .map(|(kind, _)| *kind)
    };
    own.iter()
        .find(|(_, names)| names.iter().any(|n| n == name))
        .map(|(kind, _)| *kind)
        .or_else(theirs)
        .unwrap_or(ToolKind::Other)
}
