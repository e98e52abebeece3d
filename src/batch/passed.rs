//! Why a run passes by what is in a folder, although nothing failed.
//!
//! PURE. Names and sentences only.

use std::path::Path;

/// Why something in a walked folder is not read although nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassedBy {
    /// A link to a folder that is not itself below the walked one.
    FolderLink,
    /// A pipe, socket or device with the name of a transcript.
    NoFile,
    /// A link that leads nowhere, without the name of a transcript.
    BrokenLink,
    /// A file without the name of a transcript.
    OtherExtension,
    /// By a glob of the command line.
    Excluded,
    /// By an ignore file.
    Ignored,
    /// Last written to before the time that was asked for.
    Older,
    /// Last written to after it.
    Newer,
    /// Of another project, or of none that is known.
    OtherProject,
    /// No conversation of it lacks a summary because a model failed.
    NotDegraded,
    /// The input of this output of an earlier run is gone.
    Vanished,
    /// Likewise, and the output was removed because that was asked for.
    Pruned,
    /// Likewise, but the output has changed since, so that it stays.
    VanishedButChanged,
}

impl PassedBy {
    /// The stable name that scripts branch on.
    pub fn kind(self) -> &'static str {
        match self {
            PassedBy::FolderLink => "folder_link",
            PassedBy::NoFile => "no_file",
            PassedBy::BrokenLink => "broken_link",
            PassedBy::OtherExtension => "other_extension",
            PassedBy::Excluded => "excluded",
            PassedBy::Ignored => "ignored",
            PassedBy::Older => "older",
            PassedBy::Newer => "newer",
            PassedBy::OtherProject => "other_project",
            PassedBy::NotDegraded => "not_degraded",
            PassedBy::Vanished => "vanished",
            PassedBy::Pruned => "pruned",
            PassedBy::VanishedButChanged => "vanished_but_changed",
        }
    }

    /// How the name of `path` ends, if it was passed by for that: with the dot, in small letters. `None` if that is not an
    /// extension: names may end in anything.
    pub fn extension(self, path: &Path) -> Option<String> {
        /// No usual extension is longer, in bytes.
        const LONGEST: usize = 10;
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let is_one = extension.len() <= LONGEST
            && extension.bytes().any(|b| b.is_ascii_alphabetic())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric());
        (self == PassedBy::OtherExtension && is_one).then(|| format!(".{extension}"))
    }

    /// The sentence about it.
    pub fn message(self) -> &'static str {
        match self {
            PassedBy::FolderLink => "links to folders are not followed",
            PassedBy::NoFile => "not a regular file, not read",
            PassedBy::BrokenLink => "the link is broken, not read",
            PassedBy::OtherExtension => {
                "not read: the name does not end in .jsonl, .jsonl.gz or .jsonl.zst"
            }
            PassedBy::Excluded => "left out by --exclude",
            PassedBy::Ignored => "left out by .ctxpackignore",
            PassedBy::Older => "left out: older than --since",
            PassedBy::Newer => "left out: newer than --until",
            PassedBy::OtherProject => "left out: not of the --project",
            PassedBy::NotDegraded => {
                "left out by --retry-degraded: no summary of it failed, or it has changed since"
            }
            PassedBy::Vanished => "an output that has no input any more",
            PassedBy::Pruned => "removed by --prune-outputs: an output that had no input any more",
            PassedBy::VanishedButChanged => {
                "an output that has no input any more, and that has changed since: not removed"
            }
        }
    }

    /// What to do about it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            PassedBy::FolderLink => Some("name the folder itself to search it"),
            PassedBy::Vanished => Some("--prune-outputs removes such outputs"),
            PassedBy::NoFile
            | PassedBy::BrokenLink
            | PassedBy::OtherExtension
            | PassedBy::Excluded
            | PassedBy::Ignored
            | PassedBy::Older
            | PassedBy::Newer
            | PassedBy::OtherProject
            | PassedBy::NotDegraded
            | PassedBy::Pruned
            | PassedBy::VanishedButChanged => None,
        }
    }

    /// Whether the user wanted it to be left out.
    pub fn is_asked_for(self) -> bool {
        match self {
            PassedBy::FolderLink
            | PassedBy::NoFile
            | PassedBy::BrokenLink
            | PassedBy::OtherExtension
            | PassedBy::Vanished
            | PassedBy::VanishedButChanged => false,
            PassedBy::Excluded
            | PassedBy::Ignored
            | PassedBy::Older
            | PassedBy::Newer
            | PassedBy::OtherProject
            | PassedBy::NotDegraded
            | PassedBy::Pruned => true,
        }
    }
}
