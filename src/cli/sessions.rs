//! `ctxpack sessions`: the sessions of installed agents, the newest first, with what takes their tokens.
//!
//! Reads only what is shown. Writes only the list.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::config::PolicyArgs;
use super::limits::{jobs, threads};
use super::named::{AgentArgs, surroundings};
use super::progress::Bar;
use super::reading::note_skipped;
use super::since::since;
use super::table::{Aligned, Table};
use super::useless_flags::given;
use super::{Context, flush, json_line, put};
use crate::batch::{
    self, BadLines, Contents, Filter, Limits, NO_HOME, Over, Session, Sessions, SkipReason,
    Workload, number_of,
};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Notices, path_text};
use crate::policy::Use;
use crate::report::Lines;
use crate::stats::{Counter, Exact};
use crate::text::{count, printable, shown_path, size, thousands};

/// The most sessions that are shown without --all.
const DEFAULT_LISTED: usize = 20;
/// The minimum number of characters shown of an id; more are shown if necessary to distinguish it from all others.
const MIN_ID_CHARS: usize = 8;

/// List the sessions of installed agents, newest first.
///
/// Searches the folders of Claude Code, Codex, pi, Copilot CLI, Gemini CLI, Qwen Code, Factory Droid, Kimi Code and Cline. Other
/// commands accept an id in place of a file: compact --in-place ID. Tokens are estimated as the policy says; recorded is the
/// provider's last count.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack sessions --since 7d                those of the last week
  ctxpack sessions --agent codex             those of one agent
  ctxpack sessions --json | jq -r '.sessions[0].id'
                                             the newest id")]
pub(super) struct SessionsCommand {
    #[command(flatten)]
    agent: AgentArgs,
    /// Only sessions whose file was modified at or after this time: 7d, 24h, 2026-11-01 (in UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<SystemTime>,
    /// Only sessions whose file was modified before this time: 7d, 24h, 2026-11-01 (in UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    until: Option<SystemTime>,
    /// Only sessions of projects whose path or folder name matches: app, '*/code/*'
    #[arg(long, value_name = "GLOB")]
    project: Option<String>,
    /// List all sessions instead of the newest 20
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Shape::Table, value_name = "FORMAT")]
    format: Shape,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Threads; 0 = one per processor
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = jobs)]
    jobs: usize,
    #[command(flatten)]
    policy: PolicyArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// A table
    #[value(alias = "text")]
    Table,
    /// One JSON object
    Json,
}

impl SessionsCommand {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let effective = self.policy.resolve(context)?.effective;
        context.without_effect([&effective], Use::Once);
        let counting = Counter::new(&effective.policy, 0, Exact::No)?;
        let mut sessions = batch::sessions(&surroundings(), self.agent.format()?);
        let ids = short_ids(&sessions.list);
        let since = self.since.unwrap_or(SystemTime::UNIX_EPOCH);
        let until = self.until;
        let is_then = |at: SystemTime| at >= since && until.is_none_or(|until| at < until);
        let project = Filter::new(None, None, self.project.as_deref())?;
        let filters: Vec<&str> = match sessions.list.is_empty() {
            true => Vec::new(),
            false => self.filters().collect(),
        };
        sessions.list.retain(|session| {
            is_then(session.modified) && project.takes(&session.path) && !session.is_spawned()
        });
        let shown = if self.all {
            sessions.list.len()
        } else {
            DEFAULT_LISTED
        };
        let more = sessions.list.len().saturating_sub(shown);
        sessions.list.truncate(shown);

        let unseen = std::mem::take(&mut sessions.unseen);
        let skipped = std::mem::take(&mut sessions.skipped);
        let contents = self.count(context, &sessions, &counting)?;
        let rows: Vec<(&Session, Contents)> = sessions
            .list
            .iter()
            .map(|session| {
                (
                    session,
                    contents.get(&session.path).cloned().unwrap_or_default(),
                )
            })
            .collect();
        let mut out = BufWriter::new(io::stdout().lock());
        if self.json || self.format == Shape::Json {
            let line = json_line(&to_json(&rows, more, &sessions));
            put(&mut out, line.as_bytes())?;
            put(&mut out, b"\n")?;
        } else {
            put(
                &mut out,
                to_text(&rows, &ids, more, context, (&sessions, &filters)).as_bytes(),
            )?;
        }
        flush(&mut out)?;
        drop(out);
        Ok(say(context, unseen, skipped, &rows))
    }

    /// The filters that were given.
    fn filters(&self) -> impl Iterator<Item = &'static str> {
        given([
            ("--since", self.since.map(drop)),
            ("--until", self.until.map(drop)),
            ("--project", self.project.as_ref().map(drop)),
        ])
    }

    fn count(
        &self,
        context: &Context,
        sessions: &Sessions,
        counting: &Counter<'_>,
    ) -> Result<BTreeMap<PathBuf, Contents>> {
        let found = Sessions::inputs(&sessions.list);
        let bar = Bar::new(&found.sources, context.voice)?;
        let over = Over {
            found: &found,
            format: None,
            limits: Limits::default(),
            bad_lines: BadLines::Pass,
            job: Workload::Once,
            jobs: threads(self.jobs),
            stop: &context.stop,
            progress: &bar,
            clock: None,
        };
        let counted = batch::count_sessions(&over, counting)?;
        bar.finish();
        Ok(counted)
    }
}

/// Reports what could not be read; returns the exit code.
fn say(
    context: &Context,
    unseen: Vec<Error>,
    skipped: Vec<(PathBuf, SkipReason)>,
    rows: &[(&Session, Contents)],
) -> u8 {
    let unread = rows.iter().filter_map(|(session, contents)| {
        let error = contents.error.as_ref()?;
        Some(Error::new(ErrorKind::Io, error.clone()).at(&session.path))
    });
    let mut code = 0;
    for error in unread.chain(unseen) {
        context.error(&error);
        code = 3;
    }
    let mut notices = Notices::default();
    note_skipped(&skipped.into_iter().collect(), &mut notices);
    context.notices(notices);
    code
}

/// The beginnings of ids that no other session shares.
fn short_ids(list: &[Session]) -> BTreeMap<String, String> {
    let mut all: Vec<&str> = list.iter().map(|session| session.id.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let short = |at: usize| {
        let id = all[at];
        let before = at
            .checked_sub(1)
            .map_or(0, |before| common(id, all[before]));
        let after = all.get(at + 1).map_or(0, |after| common(id, after));
        let least = id.len() - number_of(id).len() + MIN_ID_CHARS;
        let length = (before.max(after) + 1).clamp(least, id.len().max(least));
        (id.to_owned(), id.get(..length).unwrap_or(id).to_owned())
    };
    (0..all.len()).map(short).collect()
}

/// The second in which a file was written, in UTC.
fn moment(time: SystemTime) -> Option<Timestamp> {
    Timestamp::try_from(time).ok()
}

fn to_json(rows: &[(&Session, Contents)], more: usize, sessions: &Sessions) -> Value {
    let row = |(session, contents): &(&Session, Contents)| {
        let figures = contents.counts;
        json!({
            "agent": session.format.name(),
            "id": session.id,
            "path": path_text(&session.path),
            "modified": moment(session.modified).map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            "project": contents.directory,
            "turns": figures.map(|f| f.turns),
            "live_tokens": figures.map(|f| f.tokens),
            "recorded": figures.and_then(|f| f.recorded),
            "dead_bytes": figures.map(|f| f.dead_bytes),
            "error": contents.error,
        })
    };
    let folders: Vec<String> = sessions
        .folders
        .iter()
        .map(|folder| path_text(folder))
        .collect();
    json!({
        "schema_version": 1,
        "folders": folders,
        "sessions": rows.iter().map(row).collect::<Vec<_>>(),
        "more": more,
    })
}

/// The columns that narrow terminals do without, the least important first: dead, recorded, turns, written.
const LESS: [usize; 4] = [6, 5, 3, 1];

fn to_text(
    rows: &[(&Session, Contents)],
    ids: &BTreeMap<String, String>,
    more: usize,
    context: &Context,
    (sessions, filters): (&Sessions, &[&str]),
) -> String {
    if rows.is_empty() && sessions.folders.is_empty() {
        return format!("no sessions: {NO_HOME}\n");
    }
    if rows.is_empty() {
        let folders = sessions.looked_into();
        let folders = printable(&folders);
        return match filters {
            [] => format!("no sessions in {folders}\n"),
            filters => format!("no sessions in {folders} match {}\n", filters.join(" and ")),
        };
    }
    let mut table = Table::new(&[
        ("agent", Aligned::Left),
        ("written (UTC)", Aligned::Left),
        ("id", Aligned::Left),
        ("turns", Aligned::Right),
        ("live tokens", Aligned::Right),
        ("recorded", Aligned::Right),
        ("dead", Aligned::Right),
        ("project", Aligned::Left),
    ]);
    for (session, contents) in rows {
        let time = moment(session.modified).map(|time| time.strftime("%Y-%m-%d %H:%M").to_string());
        let figure = |figure: Option<u64>| figure.map_or_else(|| "–".to_owned(), thousands);
        let figures = contents.counts;
        // A session whose lines do not name a folder is shown by its file.
        let project = contents
            .directory
            .clone()
            .unwrap_or_else(|| shown_path(&session.path));
        table.row(vec![
            session.format.name().to_owned(),
            time.unwrap_or_default(),
            ids.get(&session.id).unwrap_or(&session.id).clone(),
            figure(figures.map(|f| f.turns)),
            figure(figures.map(|f| f.tokens)),
            figure(figures.and_then(|f| f.recorded)),
            figures.map_or_else(|| "–".to_owned(), |f| size(f.dead_bytes)),
            printable(&project).into_owned(),
        ]);
    }
    let screen = context.color.screen(&io::stdout());
    let table = match screen.lines {
        Lines::Whole => table,
        Lines::Folded => table.within(screen.width, &LESS),
    };
    let mut text = table.text();
    if more > 0 {
        text.push_str(&format!(
            "{} more; --all shows them\n",
            count(more as u64, "session")
        ));
    }
    text
}
