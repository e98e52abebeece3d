//! `[restore]` and `[tools]`: what is put back after a summary, and which tool names mean what.
//!
//! Data only: no file is read here, and no format's tool names are known here.

use super::choice::choice;
use super::folder::FolderPath;
use super::key::Found::Empty;
use super::key::table;

table! {
    /// What is put back after a summary.
    "restore" Restore {
        /// How many of the most recently read files come back after a summary.
        files: u64 = 5, unit("files"), common();
        /// The maximum restored from one file; longer content is cut there, with a mark.
        tokens_per_file: u64 = 1_000, unit("tokens");
        /// The maximum restored from all files together.
        tokens_total: u64 = 3_000, unit("tokens");
        /// Whether files that the kept messages still show are left out.
        skip_visible: bool = true;
        /// The folder that files are read from, and outside of which none is read; "" means from the transcript only. In a policy
        /// file, it is relative to that file.
        root: FolderPath = "", found(Empty("would read files from a folder"));
        /// What comes back after the files.
        extras: Vec<Extra> = &[Extra::Plan, Extra::Todos];
    }
}

choice! {
    /// `restore.extras`: what comes back after the files.
    Extra {
        /// The agent's current plan.
        Plan = "plan",
        /// Its open to-dos.
        Todos = "todos",
        /// The skills that it has loaded.
        Skills = "skills",
    }
}

table! {
    /// Names of your own tools by kind, added to those that each format knows.
    "tools" Tools {
        /// Tools that run a command.
        shell: Vec<String> = [];
        /// Tools that read a file.
        read: Vec<String> = [], common();
        /// Tools that write a whole file.
        write: Vec<String> = [];
        /// Tools that change a part of a file.
        edit: Vec<String> = [];
        /// Tools that search for files or in them.
        search: Vec<String> = [];
        /// Tools that fetch from the web or search it.
        web: Vec<String> = [];
    }
}

choice! {
    /// What a tool does, independent of its name.
    ToolKind {
        /// Runs a command.
        Shell = "shell",
        /// Reads a file.
        Read = "read",
        /// Writes a whole file.
        Write = "write",
        /// Changes a part of a file.
        Edit = "edit",
        /// Searches for files or in them.
        Search = "search",
        /// Fetches from the web or searches it.
        Web = "web",
        /// Anything else.
        Other = "other",
    }
}
