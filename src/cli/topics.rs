//! The topics of `ctxpack help`: Markdown files of this folder, embedded in the program.
//!
//! `tests/topics.rs` compares the lists in topics (formats, error kinds, report fields) with the code; the policy keys are
//! generated. Never decides anything, never prints.

use std::borrow::Cow;

use crate::error::Result;
use crate::policy;

/// What `ctxpack help` can explain besides commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// Presets, policy files, `ctxpack.toml`, the environment.
    Policies,
    /// Every key of a policy.
    Keys,
    /// What is read and written.
    Formats,
    /// Which files are read, and what is written where.
    Files,
    /// Shards, streams of records, engines.
    Archives,
    /// The fields of a report.
    Reports,
    /// Exit codes.
    ExitCodes,
    /// Kinds of errors and warnings.
    Errors,
    /// What a summary contains.
    Summaries,
    /// Summaries by a model.
    Servers,
    /// What always holds.
    Guarantees,
    /// Stores, in-place runs, undo and gc.
    Stores,
    /// Commands before and after each input.
    Hooks,
    /// What `stats`, `replay` and `eval` measure.
    Measuring,
    /// The files of a case of `check`, and what it can expect.
    Check,
    /// Checks in continuous integration.
    Ci,
    /// What `diff` compares and shows, and how git calls it.
    Diff,
}

impl Topic {
    /// All of them, in the order in which they are listed.
    pub(super) const ALL: [Topic; 17] = [
        Topic::Policies,
        Topic::Keys,
        Topic::Formats,
        Topic::Files,
        Topic::Archives,
        Topic::Reports,
        Topic::ExitCodes,
        Topic::Errors,
        Topic::Summaries,
        Topic::Servers,
        Topic::Guarantees,
        Topic::Stores,
        Topic::Hooks,
        Topic::Measuring,
        Topic::Check,
        Topic::Ci,
        Topic::Diff,
    ];

    /// The topic of this name.
    pub(super) fn named(name: &str) -> Option<Topic> {
        Topic::ALL.into_iter().find(|topic| topic.name() == name)
    }

    /// The name that `ctxpack help` accepts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Topic::Policies => "policies",
            Topic::Keys => "keys",
            Topic::Formats => "formats",
            Topic::Files => "files",
            Topic::Archives => "archives",
            Topic::Reports => "reports",
            Topic::ExitCodes => "exit-codes",
            Topic::Errors => "errors",
            Topic::Summaries => "summaries",
            Topic::Servers => "servers",
            Topic::Guarantees => "guarantees",
            Topic::Stores => "stores",
            Topic::Hooks => "hooks",
            Topic::Measuring => "measuring",
            Topic::Check => "check",
            Topic::Ci => "ci",
            Topic::Diff => "diff",
        }
    }

    /// The embedded file.
    fn file(self) -> &'static str {
        match self {
            Topic::Policies => include_str!("topics/policies.md"),
            Topic::Keys => include_str!("topics/keys.md"),
            Topic::Formats => include_str!("topics/formats.md"),
            Topic::Files => include_str!("topics/files.md"),
            Topic::Archives => include_str!("topics/archives.md"),
            Topic::Reports => include_str!("topics/reports.md"),
            Topic::ExitCodes => include_str!("topics/exit-codes.md"),
            Topic::Errors => include_str!("topics/errors.md"),
            Topic::Summaries => include_str!("topics/summaries.md"),
            Topic::Servers => include_str!("topics/servers.md"),
            Topic::Guarantees => include_str!("topics/guarantees.md"),
            Topic::Stores => include_str!("topics/stores.md"),
            Topic::Hooks => include_str!("topics/hooks.md"),
            Topic::Measuring => include_str!("topics/measuring.md"),
            Topic::Check => include_str!("topics/check.md"),
            Topic::Ci => include_str!("topics/ci.md"),
            Topic::Diff => include_str!("topics/diff.md"),
        }
    }

    /// Its title: the first line of its text.
    fn title(self) -> &'static str {
        let first = self.file().lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// The whole text, as Markdown.
    ///
    /// # Errors
    /// None in a build that passes its tests.
    pub(super) fn text(self) -> Result<Cow<'static, str>> {
        Ok(match self {
            Topic::Keys => Cow::Owned(self.file().to_owned() + &policy::reference()?),
            Topic::Policies
            | Topic::Formats
            | Topic::Files
            | Topic::Archives
            | Topic::Reports
            | Topic::ExitCodes
            | Topic::Errors
            | Topic::Summaries
            | Topic::Servers
            | Topic::Guarantees
            | Topic::Stores
            | Topic::Hooks
            | Topic::Measuring
            | Topic::Check
            | Topic::Ci
            | Topic::Diff => Cow::Borrowed(self.file()),
        })
    }
}

/// The end of the program's own help: the topics, and where to begin.
pub(super) fn closing() -> String {
    let lines = Topic::ALL.map(|topic| format!("  {:11}  {}\n", topic.name(), topic.title()));
    format!(
        "Topics (ctxpack help TOPIC):\n{}\nRun `ctxpack compact in.jsonl` to begin with.",
        lines.concat()
    )
}
