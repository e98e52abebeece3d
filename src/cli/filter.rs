//! `ctxpack filter`: a stream of records, one conversation a line, for engines that run a program beside their workers.
//!
//! Reads standard input and writes standard output; uses other files only below `--store` and for reports.

use std::path::{Path, PathBuf};

use clap::Args;

use super::batched::BatchArgs;
use super::config::{PolicyArgs, ResolvedPolicy};
use super::limits::{INPUT, LimitArgs, jobs, threads};
use super::messages::{no_store, policy_ref};
use super::reports::{OUTPUT, Planned, ReportArgs, RowArgs, write_all};
use super::server::ServerArgs;
use super::shorthand::Shorthands;
use super::unused_settings::UnusedSettings;
use super::{Context, format_named, input_format_help, scripted_answers, useless_flags};
use crate::batch::{
    self, Destination, Effect, Hooks, Options, Outcomes, Overwrite, Reported, Resume, Scope,
    Stream, Trust,
};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{
    Exit, FaultKind, Interrupted, NotReads, NoticeLevel, Notices, Outcome, Status, Totals,
    WarningKind,
};
use crate::policy::{Effective, Layer, Policy, Use};
use crate::report::{CsvRows, StreamedReport};
use crate::text::{count, thousands};

/// Compact a stream: one conversation per line in, one line out, in order.
///
/// Reads records from standard input until it ends, and writes them to standard output: lines with a list of messages, lines of
/// pack-lines, or with --field any record that holds a conversation. Records that are not compacted are written unchanged. A
/// record that cannot be compacted gets a member error, {kind, message}; the exit code is still 0.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack filter <in.jsonl >out.jsonl                          records with messages
  ctxpack filter --field text <in.jsonl >out.jsonl             whole transcripts in a column
  ctxpack pack-lines in/ | ctxpack filter --store out/.ctxpack | ctxpack unpack-lines --out-dir out/")]
pub(super) struct Filter {
    /// The member of each record that holds the conversation: a list of messages, or the text of a transcript
    #[arg(long, value_name = "NAME", help_heading = INPUT)]
    field: Option<String>,
    #[arg(long, value_name = "NAME", help = input_format_help(), help_heading = INPUT)]
    input_format: Option<String>,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    shorthands: Shorthands,
    /// Folder for originals and offloaded outputs; without one, nothing is offloaded
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    store: Option<PathBuf>,
    /// Folder where pack-lines records will be unpacked; store paths in the output are relative to it [default: the folder that
    /// holds the store]
    #[arg(long, value_name = "DIR", requires = "store", help_heading = OUTPUT)]
    out_dir: Option<PathBuf>,
    /// Add to each record its entry of the report, as the last member NAME; a record that has another NAME gets an error instead
    #[arg(long, value_name = "NAME", help_heading = OUTPUT)]
    stats_field: Option<String>,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    rows: RowArgs,
    /// Threads; 0 = one per processor
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = jobs, help_heading = INPUT)]
    jobs: usize,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    server: ServerArgs,
}

impl Filter {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let ResolvedPolicy {
            effective, file, ..
        } = self
            .policy
            .resolve_with(context, self.shorthands.settings())?;
        self.check(&effective)?;
        context.without_effect([&effective], Use::Once);
        let planned = self.rows.of(self.reports.checked()?, &[CsvRows::Action])?;
        let options = self.options(context, &effective.policy, file.as_deref())?;
        let stream = Stream {
            field: self.field.clone(),
            folder: self.folder(),
            stats: self.stats()?,
        };
        let mut seen = Seen::new(&planned);
        let mut unused_settings = UnusedSettings::of(&effective);
        let note = &mut |outcome: Outcome| {
            if let Some(unused_settings) = &mut unused_settings {
                unused_settings.see(&outcome);
            }
            seen.add(outcome);
        };
        let ended = batch::filter(&effective, &options, &stream, note);
        let mut exit = seen.exit;
        // The number of records that were not read is unknown.
        let cut_off = context.interrupted().map(|_| Interrupted { left: 0 });
        let reported = self.report(context, &effective, cut_off, &planned, seen);
        if let Some(unused_settings) = unused_settings {
            unused_settings.say(context);
        }
        let faults = ended?;
        for error in &faults {
            context.error(error);
        }
        if !faults.is_empty() || !reported {
            exit = Exit::Partial;
        }
        Ok(exit.code())
    }

    /// Refuses flags that cannot have an effect.
    fn check(&self, effective: &Effective) -> Result<()> {
        useless_flags::check(effective, &self.shorthands.needing(self.server.given()))
    }

    /// The member for stats, which must not be one with another meaning.
    fn stats(&self) -> Result<Option<String>> {
        let taken = ["error", "messages", "path", "text", "base64"];
        let stats = self.stats_field.as_deref();
        if stats.is_some_and(|name| taken.contains(&name))
            || stats.is_some() && self.field == self.stats_field
        {
            let message = "these records already have a member that --stats-field names";
            return Err(Error::new(ErrorKind::Usage, message).hint("choose an unused name"));
        }
        Ok(self.stats_field.clone())
    }

    /// The folder below which the files of records will be.
    fn folder(&self) -> PathBuf {
        let above = self.store.as_deref().and_then(Path::parent);
        match (&self.out_dir, above) {
            (Some(folder), _) => folder.clone(),
            (None, Some(above)) if !above.as_os_str().is_empty() => above.to_owned(),
            (None, Some(_) | None) => PathBuf::from("."),
        }
    }

    fn options(&self, context: &Context, policy: &Policy, file: Option<&Path>) -> Result<Options> {
        if policy.has(Layer::Offload) && self.store.is_none() {
            return Err(no_store());
        }
        let batch = BatchArgs::default();
        let asked = self
            .server
            .server(policy, Effect::Write, &batch, &context.stop)?;
        Ok(Options {
            server: asked.map(|asked| (asked.model, asked.at_once)),
            destination: Destination::Stdout,
            fork: None,
            emit: None,
            store: self.store.clone(),
            overwrite: Overwrite::OwnOnly,
            reported: Reported::default(),
            effect: Effect::Write,
            format: format_named(self.input_format.as_deref())?,
            replies: scripted_answers(file, policy)?,
            hooks: Hooks::default(),
            limits: self.limits.limits(),
            scope: Scope::All,
            resume: Resume::Never,
            trust: Trust::Bytes,
            bad_lines: self.limits.bad_lines(),
            jobs: threads(self.jobs),
            stop: context.stop.clone(),
            clock: None,
        })
    }

    /// Reports what became of the records, and writes the reports; returns whether all were written.
    fn report(
        &self,
        context: &Context,
        effective: &Effective,
        cut_off: Option<Interrupted>,
        planned: &[Planned],
        seen: Seen,
    ) -> bool {
        let Seen {
            totals,
            errors,
            notices,
            outcomes,
            unkept,
            not_read,
            ..
        } = seen;
        let said = format!(
            "{}: {} compacted, {} unchanged, {} with an error; {} to {} tokens",
            count(totals.files, "record"),
            thousands(totals.compacted),
            thousands(totals.unchanged),
            thousands(errors),
            thousands(totals.tokens_before),
            thousands(totals.tokens_after),
        );
        context.say(&said);
        context.notices(notices);
        let Some(outcomes) = outcomes else {
            return true;
        };
        let sorted = match unkept {
            Some(error) => Err(error),
            None => outcomes.sorted(),
        };
        let outcomes = match sorted {
            Ok(outcomes) => outcomes,
            Err(error) => {
                context.error(&error.hint("no report is written"));
                return false;
            }
        };
        let report = StreamedReport::new(policy_ref(effective), totals, &outcomes);
        let report = report.with_left(not_read.into_list(), cut_off);
        write_all(context, planned, &report)
    }
}

/// What is known of the records so far: sums, and their outcomes only if a report was asked for.
struct Seen {
    totals: Totals,
    /// The number of records returned with an error.
    errors: u64,
    notices: Notices,
    outcomes: Option<Outcomes>,
    /// The first outcome that could not be kept for the reports.
    unkept: Option<Error>,
    not_read: NotReads,
    exit: Exit,
}

impl Seen {
    fn new(planned: &[Planned]) -> Self {
        Seen {
            totals: Totals::default(),
            errors: 0,
            notices: Notices::of_records(),
            outcomes: (!planned.is_empty()).then(|| Outcomes::new(&std::env::temp_dir())),
            unkept: None,
            not_read: NotReads::default(),
            exit: Exit::Done,
        }
    }

    fn add(&mut self, outcome: Outcome) {
        self.totals += &outcome;
        self.errors += u64::from(match outcome.status {
            Status::Failed | Status::Rejected | Status::Unsupported | Status::Skipped => true,
            Status::Compacted | Status::Unchanged => false,
        });
        let input = outcome.file.path.as_str();
        for degraded in &outcome.degraded {
            let kind = degraded.kind;
            let (level, place) = (NoticeLevel::Failed, (input, None));
            self.notices
                .add(level, kind.name(), &degraded.message, kind.hint(), place);
        }
        if let Some(error) = &outcome.file.error {
            if let FaultKind::Error(kind) = error.kind
                && is_of_the_machine(kind)
            {
                self.exit = Exit::Partial;
            }
            let place = (input, error.line);
            self.notices.add(
                NoticeLevel::Failed,
                "not_compacted",
                &error.message,
                None,
                place,
            );
        }
        for warning in &outcome.warnings {
            if warning.kind == WarningKind::Unsupported {
                self.notices
                    .unsupported(input, &warning.message, "left as it is");
            }
        }
        self.not_read.add_outcome(&outcome);
        if let Some(outcomes) = self.outcomes.as_mut().filter(|_| self.unkept.is_none()) {
            // Output is still written in this case.
            self.unkept = outcomes.push(outcome).err();
        }
    }
}

/// Whether an error is not the record's fault: the same record may be compacted elsewhere.
fn is_of_the_machine(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Io | ErrorKind::Store | ErrorKind::NotFound => true,
        ErrorKind::Usage
        | ErrorKind::Config
        | ErrorKind::NoInput
        | ErrorKind::Exists
        | ErrorKind::Changed
        | ErrorKind::Unsupported
        | ErrorKind::Decode
        | ErrorKind::BadLine
        | ErrorKind::TooLarge
        | ErrorKind::Crowded
        | ErrorKind::Link
        | ErrorKind::Hook
        | ErrorKind::Summary
        | ErrorKind::ClosedPipe
        | ErrorKind::Interrupted
        | ErrorKind::Internal => false,
    }
}
