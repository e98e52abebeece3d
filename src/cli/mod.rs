//! The command line: parses flags, calls the library, prints results. Each command has its own file.
//!
//! Results, errors and questions are printed only here, and settings are read from the environment only here. Exceptions:
//! `batch/sink.rs` writes an output to standard output, `batch/hooks.rs` passes on what hooks print, `http/endpoint.rs` reads a
//! provider's key, `artifacts/disk.rs` the home directory, and `main.rs` prints a message when it ends the process at once. Decides
//! nothing about content.

mod aligned;
mod apart;
mod batched;
mod check;
mod closing;
mod compact;
mod config;
mod diff;
mod emit;
mod ending;
mod eval;
mod filled;
mod filter;
mod gates;
mod gc;
mod help;
mod hooks;
mod limits;
mod manual;
mod messages;
mod models;
mod named;
mod next;
mod notices;
mod pack;
mod parse;
mod policy;
mod progress;
mod reading;
mod replay;
mod report;
mod report_cleanup;
mod reports;
mod resuming;
mod schema;
mod screen;
mod server;
mod sessions;
mod shape;
mod shard;
mod shorthand;
mod sibling_reports;
mod since;
mod stats;
mod table;
mod timings;
mod topics;
mod undo;
mod unused_settings;
mod useless_flags;
mod verify;
mod walking;
mod without_server;

pub use parse::parse;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use clap::{Parser, Subcommand, ValueEnum};
use serde_json::json;

use self::screen::Color;
use crate::artifacts::Replies;
use crate::batch::{Paths, Stdin};
use crate::error::{Error, ErrorKind, Result};
use crate::format::Format;
use crate::outcome::path_text;
use crate::policy::{Policy, Source};
use crate::store::read_regular;
use crate::text::{printable, printable_json, shown_name};

/// Compacts transcripts of coding agents, keeps them valid, and can undo it.
#[derive(Debug, Parser)]
#[command(
    name = "ctxpack",
    version,
    max_term_width = 100,
    disable_help_flag = true,
    disable_help_subcommand = true,
    after_help = topics::closing()
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How errors are written to stderr
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Text, value_name = "FORMAT")]
    #[arg(help_heading = GLOBAL, display_order = 1000)]
    error_format: ErrorFormat,
    /// Print only errors to stderr
    #[arg(short, long, global = true, help_heading = GLOBAL, display_order = 1001)]
    quiet: bool,
    /// Print more to stderr: the reasons for each edit, and all warnings
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL, display_order = 1002)]
    verbose: u8,
    /// When tables are drawn with colours and bars
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    #[arg(help_heading = GLOBAL, display_order = 1003)]
    color: Color,
    /// Print help; --help says more than -h
    #[arg(short, long, global = true, action = clap::ArgAction::Help, help_heading = GLOBAL, display_order = 1004)]
    help: Option<bool>,
}

/// The heading of flags that every command takes.
const GLOBAL: &str = "Global options";

#[derive(Debug, Subcommand)]
enum Command {
    Compact(Box<compact::Compact>),
    Stats(stats::Stats),
    Sessions(sessions::SessionsCommand),
    Replay(replay::Replay),
    Eval(eval::Eval),
    Report(report::ReportCommand),
    Verify(verify::Verify),
    Undo(undo::Undo),
    Check(check::Check),
    Diff(Box<diff::Diff>),
    Filter(Box<filter::Filter>),
    PackLines(pack::PackLines),
    UnpackLines(pack::UnpackLines),
    Gc(gc::Gc),
    Policy(policy::PolicyCommand),
    Config(policy::ConfigCommand),
    Schema(schema::SchemaCommand),
    Completions(manual::Completions),
    Man(manual::Man),
    Help(help::Help),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ErrorFormat {
    /// `path:line: what went wrong`, and a hint
    Text,
    /// One JSON object per error: kind, message, file, line, hint
    Json,
}

/// Maximum size of the answers of a scripted summariser.
const MOST_ANSWERS: u64 = 256 << 20;

/// The answers of a scripted summariser: `summaries.jsonl` beside the policy that asks for it.
fn scripted_answers(file: Option<&Path>, policy: &Policy) -> Result<Replies> {
    if policy.summary.source != Source::Scripted {
        return Ok(Replies::default());
    }
    let Some(file) = file else {
        return Err(Error::new(
            ErrorKind::Config,
            "a scripted summariser reads its answers from a file beside the policy file, and presets have no such file",
        )
        .hint("write a policy file, with summaries.jsonl beside it, and name it with --policy"));
    };
    let path = file.with_file_name("summaries.jsonl");
    let text = read_regular(&path, MOST_ANSWERS)?;
    let text = String::from_utf8(text).map_err(|e| {
        let error = io::Error::new(io::ErrorKind::InvalidData, e);
        Error::io(&path, "read the answers", error)
    })?;
    Replies::parse(&text).map_err(|error| error.at(path))
}

/// The help of `--input-format`.
fn input_format_help() -> String {
    let names = Format::ALL.map(Format::name);
    format!("Read inputs as this format: {}", names.join(", "))
}

/// Parses `--input-format`.
fn format_named(name: Option<&str>) -> Result<Option<Format>> {
    let Some(name) = name else { return Ok(None) };
    let known = Format::ALL.map(Format::name);
    Format::named(name).map(Some).ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, format!("unknown format {name:?}"));
        match crate::text::nearest(name, known) {
            Some(near) => error.hint(format!(
                "did you mean {near:?}? known formats: {}",
                known.join(", ")
            )),
            None => error.hint(format!("known formats: {}", known.join(", "))),
        }
    })
}

/// The paths of the command line and those of `--files-from` (`-`: standard input), one per line or separated by NUL bytes.
fn all_paths(paths: Vec<PathBuf>, files_from: Option<&Path>, stop: &AtomicUsize) -> Result<Paths> {
    let paths = Paths::new(paths);
    match files_from {
        None => Ok(paths),
        Some(list) if list == Path::new("-") => paths.with_list(list, Stdin::open(stop)?),
        Some(list) => {
            let read = File::open(list);
            let read = read.map_err(|e| Error::io(list, "read the list of files", e))?;
            paths.with_list(list, read)
        }
    }
}

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Voice {
    /// Only errors.
    Quiet,
    /// A table.
    Normal,
    /// Also warnings.
    Loud,
}

/// The context that every command gets.
#[derive(Debug)]
struct Context {
    voice: Voice,
    color: Color,
    error_format: ErrorFormat,
    /// As in [`Interruption`].
    stop: Arc<AtomicUsize>,
    /// As there.
    work_ended: Arc<AtomicBool>,
}

/// Tells a run to end, and reports how far it has got.
#[derive(Debug, Clone, Default)]
pub struct Interruption {
    /// The signal that ends the run; 0 = none yet.
    pub stop: Arc<AtomicUsize>,
    /// Whether no input is worked on any more: what remains is to count what is left, and to report.
    pub work_ended: Arc<AtomicBool>,
}

impl Context {
    /// Whether stderr has room for output that only people read, such as tables. For programs, it contains only errors and notices,
    /// one object per line.
    fn is_for_people(&self) -> bool {
        match self.error_format {
            ErrorFormat::Text => self.voice > Voice::Quiet,
            ErrorFormat::Json => false,
        }
    }

    /// Writes an error to stderr.
    fn error(&self, error: &Error) {
        let file = error.path.as_deref().map(path_text);
        self.fault(&Fault {
            kind: json!(error.kind),
            file,
            line: error.line,
            message: &error.message,
            hint: error.hint.as_deref(),
        });
    }

    fn fault(&self, fault: &Fault<'_>) {
        let Fault {
            kind,
            file,
            line,
            message,
            hint,
        } = fault;
        let mut err = io::stderr().lock();
        // If stderr itself fails, the failure cannot be reported anywhere.
        let _ = match self.error_format {
            ErrorFormat::Text => {
                let file = file
                    .as_ref()
                    .map(|file| format!("{}:", printable(&shown_name(file))))
                    .unwrap_or_default();
                let line = line.map(|line| format!("{line}:")).unwrap_or_default();
                let place = if file.is_empty() {
                    String::new()
                } else {
                    format!("{file}{line} ")
                };
                let hint = hint
                    .map(|hint| format!("\nhint: {}", printable(hint)))
                    .unwrap_or_default();
                writeln!(err, "{place}{}{hint}", printable(message))
            }
            ErrorFormat::Json => {
                let json = json!({"kind": kind, "message": message, "file": file, "line": line, "hint": hint});
                writeln!(err, "{}", json_line(&json))
            }
        };
    }

    /// The exit code of an interruption, if there was one.
    fn interrupted(&self) -> Option<u8> {
        match self.stop.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(128 + signal as u8),
        }
    }
}

/// An error as stderr shows it.
struct Fault<'f> {
    kind: serde_json::Value,
    file: Option<String>,
    line: Option<u64>,
    message: &'f str,
    hint: Option<&'f str>,
}

/// Runs a command line; returns the exit code.
pub fn run(cli: Cli, interruption: Interruption) -> u8 {
    let Interruption { stop, work_ended } = interruption;
    let voice = match (cli.quiet, cli.verbose) {
        (true, _) => Voice::Quiet,
        (false, 0) => Voice::Normal,
        (false, _) => Voice::Loud,
    };
    let context = Context {
        voice,
        color: cli.color,
        error_format: cli.error_format,
        stop,
        work_ended,
    };
    let result = match cli.command {
        Command::Compact(args) => match args.run(&context) {
            // The command has already reported what is left; a signal that arrives after everything is done changes nothing.
            Ok(code) => return code,
            failed => failed,
        },
        Command::Stats(args) => args.run(&context),
        Command::Sessions(args) => args.run(&context),
        Command::Replay(args) => args.run(&context),
        Command::Eval(args) => args.run(&context),
        Command::Report(args) => args.run(&context),
        Command::Verify(args) => args.run(&context),
        Command::Undo(args) => args.run(&context),
        Command::Check(args) => args.run(&context),
        Command::Diff(args) => args.run(&context),
        Command::Filter(args) => args.run(&context),
        Command::PackLines(args) => args.run(&context),
        Command::UnpackLines(args) => args.run(&context),
        Command::Gc(args) => args.run(&context),
        Command::Policy(args) => args.run(&context),
        Command::Config(args) => args.run(&context),
        Command::Schema(args) => args.run(),
        Command::Completions(args) => args.run(),
        Command::Man(args) => args.run(),
        Command::Help(args) => args.run(),
    };
    let code = match result {
        Ok(code) => code,
        Err(error) if error.kind == ErrorKind::ClosedPipe => 0,
        Err(error) => {
            match context.interrupted() {
                None => context.error(&error),
                // The signal may have caused the failure.
                Some(_) => context.error(
                    &Error::new(ErrorKind::Interrupted, "interrupted before the end")
                        .hint("run the same command again"),
                ),
            }
            2
        }
    };
    context.interrupted().unwrap_or(code)
}

/// JSON on one line, without terminal control sequences.
fn json_line(value: &serde_json::Value) -> String {
    printable_json(&value.to_string()).into_owned()
}

/// Writes data to stdout; a reader that has gone away is not an error.
fn put(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|e| stdout_failed(&e))
}

/// Flushes the data.
fn flush(out: &mut impl Write) -> Result<()> {
    out.flush().map_err(|e| stdout_failed(&e))
}

fn stdout_failed(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Error::new(ErrorKind::ClosedPipe, "the output was closed"),
        _ => Error::new(
            ErrorKind::Io,
            format!("cannot write to standard output: {error}"),
        ),
    }
}
