//! `[restore]` and `[tools]`: what comes back after a summary, and which tool names mean what.
//!
//! Data only: no file is read here, and no tool name of any format is known here.

use serde::{Deserialize, Serialize};

use super::choice::choice;

/// `[restore]`: what is put back after a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restore {
    /// How many files, the newest distinct paths first. 5 in `layered`.
    pub files: u64,
    /// Tokens of one file; longer content is cut there, with a mark. 5 000 in `layered`.
    pub tokens_per_file: u64,
    /// Tokens of all files together. 50 000 in `layered`.
    pub tokens_total: u64,
    /// Whether a file that the kept tail still shows is left out.
    pub skip_visible: bool,
    /// The folder that files are read from, and that no read leaves; "" = from the transcript only.
    pub root: String,
    /// What follows the files.
    pub extras: Vec<Extra>,
}

choice! {
    /// `restore.extras`: what follows the restored files.
    Extra {
        /// The agent's current plan.
        Plan = "plan",
        /// Its open to-dos.
        Todos = "todos",
        /// The skills it has loaded.
        Skills = "skills",
    }
}

/// `[tools]`: names of tools by kind, added to what each format knows by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// Run a command.
    pub shell: Vec<String>,
    /// Read a file.
    pub read: Vec<String>,
    /// Write a whole file.
    pub write: Vec<String>,
    /// Change a part of a file.
    pub edit: Vec<String>,
    /// Look for files or in them.
    pub search: Vec<String>,
    /// Fetch or search the web.
    pub web: Vec<String>,
}

choice! {
    /// What a tool does, whatever an agent calls it.
    ToolKind {
        /// Runs a command.
        Shell = "shell",
        /// Reads a file.
        Read = "read",
        /// Writes a whole file.
        Write = "write",
        /// Changes a part of a file.
        Edit = "edit",
        /// Looks for files or in them.
        Search = "search",
        /// Fetches or searches the web.
        Web = "web",
        /// Anything else.
        Other = "other",
    }
}
