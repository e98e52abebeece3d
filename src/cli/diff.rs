//! `ctxpack diff`: what became of each message, from a transcript to its compacted form, or under two policies.
//!
//! Writes no transcript. Reads the two files, or one of them together with the stores and the report next to it.

mod sides;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;

use super::config::{KeyArgs, POLICY};
use super::limits::{INPUT, LimitArgs};
use super::named::{AgentArgs, LatestScope};
use super::reports::{ReportArgs, write_all};
use super::shape::{Shape, ShapeArgs};
use super::{Context, flush, format_named, input_format_help, put, stdout_failed};
use crate::batch::Loading;
use crate::diff::plain;
use crate::error::{Error, ErrorKind, Result};
use crate::facts::Earlier;
use crate::outcome::Exit;
use crate::policy::Policy;
use crate::report::{
    ComparisonReport, DiffReport, Screen, write_comparison, write_comparison_json,
    write_comparison_stat, write_diff, write_diff_json, write_diff_stat,
};
use crate::text::printable;

use sides::Input;

/// Show what a compaction did, message by message.
///
/// OLD and NEW are aligned: which messages are kept, cleared, demoted, offloaded, summarised or dropped, with reasons and
/// tokens, and the summary's text in full. FILE alone is compared with the original that undo would give back. With
/// --policy, FILE is compacted in memory instead: one policy against FILE as it is, two against each other.
#[derive(Debug, Args)]
#[command(
    override_usage = "ctxpack diff [OPTIONS] OLD NEW\n       ctxpack diff [OPTIONS] FILE\n       \
                      ctxpack diff [OPTIONS] --policy A [--policy B] FILE",
    after_long_help = "\
Examples:
  ctxpack diff in.jsonl in.compact.jsonl            what the compaction did
  ctxpack diff in.compact.jsonl --stat              against its original, a line for each kind
  ctxpack diff --policy auto in.jsonl               what a compaction would do
  ctxpack diff --policy auto --policy reset in.jsonl    where two policies differ
  ctxpack diff --textconv in.jsonl                  a transcript as text, for git diff"
)]
pub(super) struct Diff {
    /// OLD and NEW, or FILE: transcripts, ids of sessions, latest, or - for standard input
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    agent: AgentArgs,
    /// Compact FILE in memory by this preset or policy file; two are compared. With OLD and NEW: count tokens under this policy
    #[arg(long = "policy", value_name = "NAME|FILE", help_heading = POLICY)]
    policies: Vec<String>,
    #[command(flatten)]
    keys: KeyArgs,
    /// Print one line for each kind of outcome
    #[arg(long, conflicts_with = "json")]
    stat: bool,
    /// Print FILE as text without ids and times, as git's textconv wants it
    #[arg(long, conflicts_with_all = ["policies", "stat", "json", "reports", "exit_code", "stats", "store"])]
    textconv: bool,
    /// Exit with 1 if messages or other lines differ; line endings are ignored
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    reports: ReportArgs,
    /// Take reasons from this report of compact [default: the one beside NEW]
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// The store, if it is not the .ctxpack folder beside FILE or above it
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    #[arg(long, value_name = "NAME", help = input_format_help(), help_heading = INPUT)]
    input_format: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// The result to report.
enum Found {
    Diff(DiffReport),
    Comparison(ComparisonReport),
}

impl Diff {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let planned = self.reports.checked()?;
        let paths = self
            .agent
            .paths(context, &self.paths, LatestScope::Anywhere)?;
        let input = Input {
            loading: Loading {
                format: format_named(self.input_format.as_deref())?,
                limits: self.limits.limits(),
                bad_lines: self.limits.bad_lines(),
                stop: &context.stop,
            },
            keys: &self.keys,
            store: self.store.as_deref(),
            stats: self.stats.as_deref(),
        };
        if self.textconv {
            return self.textconv(&input, &paths);
        }
        self.check(&paths)?;
        let done = Exit::Done;
        let (found, exit) = match (&paths[..], &self.policies[..]) {
            ([old, new], [] | [_]) => {
                let report = input.two(context, old, new, self.policies.first())?;
                (Found::Diff(report), done)
            }
            ([file], []) => (Found::Diff(input.with_original(context, file)?), done),
            ([file], [policy]) => {
                let (report, exit) = input.compacted(context, file, policy)?;
                (Found::Diff(report), exit)
            }
            ([file], [first, second]) => {
                let (report, exit) = input.policies(context, file, [first, second])?;
                (Found::Comparison(report), exit)
            }
            ([_, _, ..] | [], _) | (_, [_, _, ..]) => {
                let message =
                    "--policy is given once with OLD and NEW, and at most twice with FILE";
                return Err(Error::new(ErrorKind::Usage, message)
                    .hint("`ctxpack eval` and `ctxpack replay` compare more policies"));
            }
        };
        let all = match &found {
            Found::Diff(report) => write_all(context, &planned, report),
            Found::Comparison(report) => write_all(context, &planned, report),
        };
        let mut out = BufWriter::new(io::stdout().lock());
        self.print(&found, context.color.screen(&io::stdout()), &mut out)
            .map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        let is_same = match &found {
            Found::Diff(report) => report.diff().is_same(),
            Found::Comparison(report) => report.comparison().first_byte.is_none(),
        };
        Ok(match all {
            false => 3,
            true => exit.code().max(u8::from(self.exit_code && !is_same)),
        })
    }

    /// Fails if a given flag would have no effect.
    fn check(&self, paths: &[PathBuf]) -> Result<()> {
        let (one, in_memory) = (paths.len() == 1, !self.policies.is_empty());
        let wrong = match () {
            () if one && paths == [PathBuf::from("-")] && !in_memory => {
                Some("standard input has no record of where it came from")
            }
            () if self.store.is_some() && (!one || in_memory) => {
                Some("--store is for a file that is compared with its original")
            }
            () if self.stats.is_some() && one && in_memory => {
                Some("--stats is for a file that a run has written")
            }
            () => None,
        };
        wrong.map_or(Ok(()), |wrong| {
            Err(Error::new(ErrorKind::Usage, wrong).hint("`ctxpack diff --help` shows the forms"))
        })
    }

    fn print(&self, found: &Found, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
        let Screen { width, ink, .. } = screen;
        match (found, self.shape.shape()) {
            (Found::Diff(report), Shape::Json) => write_diff_json(report, out),
            (Found::Diff(report), Shape::Text) if self.stat => write_diff_stat(report, ink, out),
            (Found::Diff(report), Shape::Text) => write_diff(report, width, ink, out),
            (Found::Comparison(report), Shape::Json) => write_comparison_json(report, out),
            (Found::Comparison(report), Shape::Text) if self.stat => {
                write_comparison_stat(report, out)
            }
            (Found::Comparison(report), Shape::Text) => write_comparison(report, width, ink, out),
        }
    }

    /// Prints a transcript as text. A file that is not a transcript is printed line by line, so that git shows it as usual.
    fn textconv(&self, input: &Input<'_>, paths: &[PathBuf]) -> Result<u8> {
        let [path] = paths else {
            return Err(Error::new(ErrorKind::Usage, "--textconv takes one file")
                .hint("git calls it for each version"));
        };
        let loaded = input.loading.file(path)?;
        let mut out = BufWriter::new(io::stdout().lock());
        let mut written = Ok(());
        let mut write = |text: &str| {
            if written.is_ok() {
                written = put(&mut out, text.as_bytes());
            }
        };
        match sides::source(&loaded) {
            Some(source) => plain(source, &Earlier::of(&Policy::default())?, &mut write),
            None => {
                for line in String::from_utf8_lossy(&loaded.bytes).lines() {
                    write(&printable(line));
                    write("\n");
                }
            }
        }
        written?;
        flush(&mut out)?;
        Ok(0)
    }
}
