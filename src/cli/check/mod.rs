//! `ctxpack check`: fixtures as regression tests.
//!
//! A case is compacted in memory under its policy and compared with what is expected: the output byte for byte, the report key by
//! key (keys that are not listed may have any value), and the contents of `expect.toml`. One with an expected replay is replayed,
//! one with expected counts counted. A scripted summariser answers from `summaries.jsonl`. Writes no golden without `--update` or
//! the user's consent.

mod again;
mod asked;
mod cases;
mod changed;
mod difference;
mod expect;
mod goldens;
mod limit;
mod met;
mod names;
mod output;
mod runs;
mod search;
mod settle;
mod texts;
mod verdict;

use std::io::{self, BufWriter};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use cases::Part;
use difference::Detail;
use names::Listed;
use output::{CheckReports, Listing, OutputFormat};
use runs::run;
use search::{Empty, search};
use settle::{Settling, review, update};
use verdict::{Checked, Verdict};

pub(super) use again::render_again;
pub(super) use expect::{CaseCommand, Key as CaseKey};

use super::config::{PolicyArgs, ResolvedPolicy};
use super::messages::policy_ref;
use super::reading::note_skipped;
use super::reports::OUTPUT;
use super::{Context, Voice, flush, stdout_failed};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{NoticeLevel, Notices, path_text};
use crate::policy::Use;

/// Compare fixtures with their expected output.
///
/// A folder with an input.jsonl is a case; policy.toml, expected.jsonl and expected.stats.json are beside it. NAME.jsonl and
/// NAME.expected.jsonl are a case, too, with NAME.policy.toml and NAME.expected.stats.json. An expect.toml states what must hold
/// without a golden file. The input is compacted in memory; a case with an expected replay is replayed instead. A case with its own
/// policy file is checked with that policy alone, all others with the policy in effect. The exit code is 1 if a case differs, or
/// checks nothing.
///
/// `ctxpack help check` explains the files of a case.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack check fixtures/                       compare
  ctxpack check --policy ours.toml fixtures/    cases without a policy.toml, by this policy
  ctxpack check --update fixtures/my-case       write what is expected; read it before you commit it
  ctxpack check --review                        the same, asked case by case
  ctxpack check --output-format junit > r.xml   for a report of tests
  ctxpack check --report check.md               for a comment on a pull request")]
pub(super) struct Check {
    /// Folders to search for cases
    #[arg(default_value = "fixtures")]
    dirs: Vec<PathBuf>,
    /// Write the output as the expected files; refused if the variable CI is set, unless forced
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "yes", value_name = "force", require_equals = true)]
    update: Option<Update>,
    /// Show each difference and ask whether to write it as expected; without a terminal, write .new files beside the expected ones
    #[arg(long, conflicts_with = "update")]
    review: bool,
    /// Accept a folder without a case
    #[arg(long)]
    allow_empty: bool,
    /// What is printed; --format says the same
    #[arg(long, alias = "format", value_enum, default_value_t = OutputFormat::Full, value_name = "FORMAT")]
    output_format: OutputFormat,
    /// Short for --output-format json
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// Write a report as .json, .jsonl, .csv, .md, .html or .xml (JUnit); repeatable
    #[arg(long = "report", value_name = "FILE", help_heading = OUTPUT)]
    reports: Vec<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Update {
    /// Outside of CI.
    Yes,
    /// Anywhere.
    Force,
}

impl Check {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        if self.update == Some(Update::Yes)
            && std::env::var_os("CI").is_some_and(|ci| !ci.is_empty())
        {
            return Err(Error::new(ErrorKind::Usage, "--update is refused where CI is set: a check that rewrites its expectations checks nothing")
                .hint("use --update=force if you mean it"));
        }
        let reports = CheckReports::checked(&self.reports)?;
        let chosen = self.policy.resolve(context)?;
        let empty = match self.allow_empty {
            true => Empty::Allow,
            false => Empty::Refuse,
        };
        let searched = search(&self.dirs, empty)?;
        self.note_flags(context, &chosen, &searched.cases);
        let checked = self.checked(context, &chosen, searched.cases)?;
        for (_, verdict) in &checked.cases {
            if let Verdict::Failed(error) = verdict {
                context.error(error);
            }
        }
        let mut notices = Notices::default();
        note_skipped(&searched.skipped, &mut notices);
        note_policies(&searched.policies, &mut notices);
        context.notices(notices);
        let all_written = reports.write(context, &checked);
        self.print(context, &checked)?;
        let [_, _, differ, failed] = checked.numbers();
        Ok(match (differ, failed) {
            _ if !all_written => 3,
            (_, 1..) => 3,
            (1.., 0) => 1,
            (0, 0) => 0,
        })
    }

    /// Runs the cases, and settles those that differ.
    fn checked(
        &self,
        context: &Context,
        chosen: &ResolvedPolicy,
        cases: Vec<Listed>,
    ) -> Result<Checked> {
        let detail = match context.voice {
            Voice::Quiet | Voice::Normal => Detail::Messages,
            Voice::Loud => Detail::Bytes,
        };
        let settling = match (self.update, self.review) {
            (Some(_), _) => Settling::Update,
            (None, true) => Settling::Review,
            (None, false) => Settling::Show,
        };
        let check = |listed: Listed| {
            let verdict = match (run(&listed, chosen, detail), settling) {
                (Ok(Verdict::Differs(difference)), Settling::Update) => {
                    update(&listed.case, difference)
                }
                (Ok(Verdict::Differs(mut difference)), Settling::Show) => {
                    difference.goldens.clear();
                    Ok(Verdict::Differs(difference))
                }
                (verdict, _) => verdict,
            };
            (listed.case, verdict.unwrap_or_else(Verdict::Failed))
        };
        let mut checked = Checked {
            version: env!("CARGO_PKG_VERSION").into(),
            policy: policy_ref(&chosen.effective),
            own: cases.iter().filter(|listed| has_own_policy(listed)).count() as u64,
            cases: cases.into_par_iter().map(check).collect(),
        };
        if settling == Settling::Review {
            review(&mut checked.cases, &context.stop)?;
        }
        Ok(checked)
    }

    /// Says which settings had no effect: in a policy that some case uses, or on the command line if no case uses that.
    fn note_flags(&self, context: &Context, chosen: &ResolvedPolicy, cases: &[Listed]) {
        if !cases.iter().all(has_own_policy) {
            context.without_effect([&chosen.effective], Use::Once);
        } else if !cases.is_empty() {
            for flag in self.policy.given() {
                let message = format!("{flag} had no effect: every case has a policy of its own");
                context.remark("no_effect", &message, None);
            }
        }
    }

    fn print(&self, context: &Context, checked: &Checked) -> Result<()> {
        let format = match self.json {
            true => OutputFormat::Json,
            false => self.output_format,
        };
        let mut out = BufWriter::new(io::stdout().lock());
        checked
            .write(format, Listing::of(context.voice), &mut out)
            .map_err(|e| stdout_failed(&e))?;
        flush(&mut out)
    }
}

fn has_own_policy(listed: &Listed) -> bool {
    listed.case.has(Part::Policy)
}

/// Notes the policies that are beside no case.
fn note_policies(policies: &[PathBuf], notices: &mut Notices) {
    if !policies.is_empty() {
        let names = policies.iter().map(|path| path_text(path)).collect();
        let message = "the policy of no case: only a case's own policy can extend it";
        let of = (NoticeLevel::Warning, "no_effect");
        notices.add_all(of, message, None, (policies.len() as u64, names));
    }
}
