//! Hooks: the user's own commands, which run before and after an input is compacted, but not if nothing is compacted.
//!
//! A hook gets one JSON line on its standard input: `event` (`pre-compact` or `post-compact`), `trigger` (`manual` or `auto`),
//! `input`, `output` and `policy`; after an input also `format`, `status`, `tokens_before` and `tokens_after`, all as in the
//! report. What the hook before an input prints is added to the instructions for the input's summaries. An exit code of 2 from that
//! hook skips the input. Any other failure is only a warning. A hook can never delay a run for longer than its time limit.

use std::ffi::OsString;
use std::io::{self, Seek, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Target;
use super::heard::Heard;
use crate::artifacts::InstructionSource;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Outcome, Status, Warning, WarningKind, path_text};
use crate::policy::{Policy, SummaryWhen};
use crate::semaphore::Semaphore;

/// The exit code of a hook that skips an input.
const SKIP: i32 = 2;
/// How much of a hook's standard error is kept, in bytes: enough for its first line.
const HEARD: usize = 4096;
/// The most that the hook before an input may print, in bytes: instructions are no longer than that.
const MAX_INSTRUCTION_BYTES: usize = 32_768;
/// The time between two checks of a running hook.
const LOOK: Duration = Duration::from_millis(20);

/// The hooks of a run.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    /// Runs before an input is compacted.
    pub pre: Option<String>,
    /// Runs when an input was compacted.
    pub post: Option<String>,
    /// The time limit of each hook.
    pub limit: Duration,
    /// Environment variables that are not passed to hooks.
    pub hidden: Vec<OsString>,
    /// What to do with their standard output.
    pub output: HookOutput,
}

/// What to do with the standard output of hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HookOutput {
    /// Discard it.
    #[default]
    Dropped,
    /// Write it to our standard error.
    Shown,
}

/// What triggers the compaction of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The user asks for summaries.
    Manual,
    /// The policy decides.
    Auto,
}

impl Trigger {
    pub(super) fn of(policy: &Policy) -> Self {
        match policy.summary.when {
            SummaryWhen::Always => Trigger::Manual,
            SummaryWhen::Auto | SummaryWhen::Never => Trigger::Auto,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Trigger::Manual => "manual",
            Trigger::Auto => "auto",
        }
    }
}

/// What hooks are told about all inputs of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct HookContext<'r> {
    pub(super) hooks: &'r Hooks,
    pub(super) policy: &'r str,
    pub(super) trigger: Trigger,
    pub(super) stop: &'r AtomicUsize,
}

/// The hook before one input: it runs once, as soon as it is known that something is to be compacted.
#[derive(Debug)]
pub(super) struct PreHook<'r> {
    hook_context: HookContext<'r>,
    /// The event that it is sent.
    event: Value,
    /// A thread that waits for the hook lets another thread run.
    turns: &'r Semaphore,
    answer: OnceLock<Answer>,
}

/// The answer of a hook before an input.
#[derive(Debug)]
enum Answer {
    /// Compact the input, with what the hook has printed as instructions.
    Go(String),
    /// Compact it; the hook failed.
    Failed(Warning),
    /// Do not compact it, and why.
    Stop(Error),
}

impl InstructionSource for PreHook<'_> {
    fn instructions(&self) -> Option<&str> {
        match self.answer() {
            Answer::Go(said) => Some(said),
            Answer::Failed(_) => Some(""),
            Answer::Stop(_) => None,
        }
    }
}

impl<'r> PreHook<'r> {
    pub(super) fn new(
        hook_context: HookContext<'r>,
        target: &Target,
        turns: &'r Semaphore,
    ) -> Self {
        let output = target.output().as_deref().map_or("-".to_owned(), path_text);
        let event = json!({
            "event": "pre-compact", "trigger": hook_context.trigger.name(), "input": path_text(target.input_path()),
            "output": output, "policy": hook_context.policy,
        });
        PreHook {
            hook_context,
            event,
            turns,
            answer: OnceLock::new(),
        }
    }

    /// Whether there is a hook to run.
    pub(super) fn is_there(&self) -> bool {
        self.hook_context.hooks.pre.is_some()
    }

    /// Checks whether the input may be compacted; runs the hook if necessary.
    ///
    /// # Errors
    /// [`ErrorKind::Hook`] if the hook skips it, [`ErrorKind::Interrupted`] if the run was interrupted meanwhile.
    pub(super) fn compacts(&self) -> Result<()> {
        match self.answer() {
            Answer::Go(_) | Answer::Failed(_) => Ok(()),
            Answer::Stop(why) => Err(Error::new(why.kind, why.message.clone())),
        }
    }

    /// The warning about the hook, if it failed.
    pub(super) fn warning(&self) -> Option<Warning> {
        match self.answer.get()? {
            Answer::Failed(warning) => Some(warning.clone()),
            Answer::Go(_) | Answer::Stop(_) => None,
        }
    }

    fn answer(&self) -> &Answer {
        let Some(command) = &self.hook_context.hooks.pre else {
            return self.answer.get_or_init(|| Answer::Go(String::new()));
        };
        self.answer.get_or_init(|| {
            self.turns
                .lend(|| self.hook_context.before(command, &self.event))
        })
    }
}

/// How a hook ended.
enum Ended {
    Done(Done),
    TooLate,
    Interrupted,
}

/// A hook that ended by itself.
struct Done {
    status: ExitStatus,
    /// The first line of its standard error.
    said: String,
    /// Its standard output, if it is read.
    printed: Vec<u8>,
}

/// Who gets a hook's standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Printed {
    /// The caller, and our standard error if [`HookOutput`] says so.
    Heard,
    /// Our standard error, if [`HookOutput`] says so.
    NotHeard,
}

impl HookContext<'_> {
    /// Runs the hook before an input.
    fn before(&self, command: &str, event: &Value) -> Answer {
        let ended = self.hooks.run(command, event, Printed::Heard, self.stop);
        match ended {
            Ok(Ended::Interrupted) => {
                Answer::Stop(Error::new(ErrorKind::Interrupted, "interrupted"))
            }
            Ok(Ended::Done(done)) if done.status.code() == Some(SKIP) => {
                let message = with("skipped by the pre-hook", &done.said);
                Answer::Stop(Error::new(ErrorKind::Hook, message))
            }
            Ok(Ended::Done(done)) if done.status.success() => {
                match instructions_from(&done.printed) {
                    Ok(said) => Answer::Go(said),
                    Err(why) => {
                        Answer::Failed(warning(format!("the pre-hook's output was ignored: {why}")))
                    }
                }
            }
            Ok(Ended::Done(_) | Ended::TooLate) | Err(_) => {
                match self.hooks.fault("pre-hook", ended) {
                    Some(warning) => Answer::Failed(warning),
                    None => Answer::Go(String::new()),
                }
            }
        }
    }

    /// Runs the hook after an input.
    pub(super) fn after(&self, outcome: &mut Outcome) {
        let Some(command) = &self.hooks.post else {
            return;
        };
        if outcome.status != Status::Compacted {
            return;
        }
        let event = json!({
            "event": "post-compact", "trigger": self.trigger.name(), "input": outcome.file.path, "output": outcome.output,
            "policy": self.policy, "format": outcome.file.format, "status": outcome.status,
            "tokens_before": outcome.tokens_before(), "tokens_after": outcome.tokens_after(),
        });
        let ended = self
            .hooks
            .run(command, &event, Printed::NotHeard, self.stop);
        outcome
            .warnings
            .extend(self.hooks.fault("post-hook", ended));
    }
}

/// What a hook has printed, as instructions.
fn instructions_from(printed: &[u8]) -> std::result::Result<String, String> {
    if printed.len() > MAX_INSTRUCTION_BYTES {
        return Err(format!("it is longer than {MAX_INSTRUCTION_BYTES} bytes"));
    }
    match std::str::from_utf8(printed) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(_) => Err("it is not UTF-8".to_owned()),
    }
}

fn warning(message: String) -> Warning {
    Warning {
        kind: WarningKind::Hook,
        line: None,
        message,
    }
}

impl Hooks {
    fn run(
        &self,
        command: &str,
        event: &Value,
        printed: Printed,
        stop: &AtomicUsize,
    ) -> io::Result<Ended> {
        if stop.load(Ordering::Relaxed) != 0 {
            return Ok(Ended::Interrupted);
        }
        // The event is passed as a file, so that we never wait for a hook that does not read it.
        let mut input = tempfile::tempfile()?;
        writeln!(input, "{event}")?;
        input.rewind()?;
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(input);
        shell.stderr(Stdio::piped());
        shell.stdout(match (printed, self.output) {
            (Printed::Heard, _) => Stdio::piped(),
            (Printed::NotHeard, HookOutput::Dropped) => Stdio::null(),
            (Printed::NotHeard, HookOutput::Shown) => Stdio::from(io::stderr()),
        });
        for name in &self.hidden {
            shell.env_remove(name);
        }
        // The hook gets its own process group, so that its children can be killed with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut child = shell.spawn()?;
        let said = child.stderr.take().map(|from| Heard::listen(from, HEARD));
        // One extra byte shows whether the output is too long.
        let out = child.stdout.take();
        let out = out.map(|from| Heard::listen(from, MAX_INSTRUCTION_BYTES + 1));
        let end = Instant::now() + self.limit;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait()? {
                let printed = out.map(Heard::bytes).unwrap_or_default();
                if self.output == HookOutput::Shown {
                    // A failure here is not reported.
                    let _ = io::stderr().write_all(&printed);
                }
                return Ok(Ended::Done(Done {
                    status,
                    said: said.map(Heard::first_line).unwrap_or_default(),
                    printed,
                }));
            }
            let ended = if stop.load(Ordering::Relaxed) != 0 {
                Ended::Interrupted
            } else if Instant::now() >= end {
                Ended::TooLate
            } else {
                thread::sleep(pause);
                pause = (pause * 2).min(LOOK);
                continue;
            };
            kill(&mut child)?;
            return Ok(ended);
        }
    }

    /// The warning about a hook that failed.
    fn fault(&self, hook: &str, ended: io::Result<Ended>) -> Option<Warning> {
        let message = match ended {
            Ok(Ended::Done(done)) if done.status.success() => return None,
            // "exit status: 3", "signal: 9 (SIGKILL)"
            Ok(Ended::Done(done)) => {
                with(&format!("the {hook} failed, {}", done.status), &done.said)
            }
            Ok(Ended::TooLate) => {
                let seconds = self.limit.as_secs();
                format!("the {hook} took longer than {seconds} s and was killed")
            }
            Ok(Ended::Interrupted) => {
                format!("the {hook} has not finished, because the run was interrupted")
            }
            Err(error) => format!("the {hook} could not be run: {error}"),
        };
        Some(warning(message))
    }
}

/// `what`, followed by the hook's own message.
fn with(what: &str, said: &str) -> String {
    if said.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {said}")
    }
}

/// Kills a hook and everything that it started in its process group.
fn kill(child: &mut Child) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        // It has not been waited for, so its process id has not been reused.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    child.kill()?;
    child.wait().map(drop)
}
