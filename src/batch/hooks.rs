//! Hooks: the user's own commands, run before and after each input.
//!
//! A hook gets one JSON line on its standard input: `event` (`pre-compact` or `post-compact`), `input`, `output` and `policy`;
//! after an input also `format`, `status`, `error`, `tokens_before` and `tokens_after`, all as in the report. Exit code 2
//! before an input skips it. Any other failure is only a warning. A hook can never delay a run for longer than its time limit.

use std::ffi::OsString;
use std::io::{self, Read, Seek, Write};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Outcome, Warning, WarningKind, path_text};
use crate::text::printable;

/// The exit code of a hook that skips an input.
const SKIP: i32 = 2;
/// How much of a hook's standard error is kept, in bytes: enough for its first line.
const HEARD: usize = 4096;
/// How many characters of that line a message shows.
const SHOWN: usize = 300;
/// The time between two checks of a running hook.
const LOOK: Duration = Duration::from_millis(20);
/// How long to wait for output after the end of a hook. Its background processes may keep its standard error open for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The hooks of a run.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    /// Runs before an input is read.
    pub pre: Option<String>,
    /// Runs when an input is done, whatever its status, unless `pre` skipped it.
    pub post: Option<String>,
    /// The time limit of each.
    pub limit: Duration,
    /// Environment variables that are not passed on.
    pub hidden: Vec<OsString>,
    /// What to do with their standard output.
    pub words: Words,
}

/// What to do with the standard output of hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Words {
    /// Discard it.
    #[default]
    Dropped,
    /// Write it to our standard error.
    Shown,
}

/// The answer of a hook before an input.
pub(super) enum Verdict {
    /// Compact it; with a warning if the hook failed.
    Go(Vec<Warning>),
    /// Skip it, and why.
    Skip(Error),
}

/// How a hook ended.
enum Ended {
    Done(ExitStatus, String),
    TooLate,
    Interrupted,
}

impl Hooks {
    /// Runs the hook before an input.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`] if the run was interrupted meanwhile.
    pub(super) fn before(
        &self,
        target: &Target,
        policy: &str,
        stop: &AtomicUsize,
    ) -> Result<Verdict> {
        let Some(command) = &self.pre else {
            return Ok(Verdict::Go(Vec::new()));
        };
        let input = target.input_path();
        let output = target.output.as_deref().map_or("-".to_owned(), path_text);
        let event = json!({
            "event": "pre-compact", "input": path_text(input), "output": output, "policy": policy,
        });
        let ended = self.run(command, &event, stop);
        match &ended {
            Ok(Ended::Interrupted) => Err(Error::new(ErrorKind::Interrupted, "interrupted")),
            Ok(Ended::Done(status, said)) if status.code() == Some(SKIP) => {
                let message = with("skipped by the pre-hook", said);
                Ok(Verdict::Skip(Error::new(ErrorKind::Hook, message)))
            }
            Ok(Ended::Done(..) | Ended::TooLate) | Err(_) => Ok(Verdict::Go(
                self.fault("pre-hook", ended).into_iter().collect(),
            )),
        }
    }

    /// Runs the hook after an input.
    pub(super) fn after(&self, outcome: &mut Outcome, policy: &str, stop: &AtomicUsize) {
        let Some(command) = &self.post else {
            return;
        };
        let event = json!({
            "event": "post-compact", "input": outcome.file.path, "output": outcome.output, "policy": policy,
            "format": outcome.file.format, "status": outcome.status,
            "error": outcome.file.error.as_ref().map(|error| &error.message),
            "tokens_before": outcome.tokens_before(), "tokens_after": outcome.tokens_after(),
        });
        let ended = self.run(command, &event, stop);
        outcome.warnings.extend(self.fault("post-hook", ended));
    }

    fn run(&self, command: &str, event: &Value, stop: &AtomicUsize) -> io::Result<Ended> {
        if stop.load(Ordering::Relaxed) != 0 {
            return Ok(Ended::Interrupted);
        }
        // From a file, so that we never wait for a hook that does not read.
        let mut input = tempfile::tempfile()?;
        writeln!(input, "{event}")?;
        input.rewind()?;
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(input);
        shell.stderr(Stdio::piped()).stdout(match self.words {
            Words::Dropped => Stdio::null(),
            Words::Shown => Stdio::from(io::stderr()),
        });
        for name in &self.hidden {
            shell.env_remove(name);
        }
        // So that its children can be killed with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut child = shell.spawn()?;
        let heard = child.stderr.take().map(Heard::listen);
        let end = Instant::now() + self.limit;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait()? {
                let said = heard.map(Heard::first_line).unwrap_or_default();
                return Ok(Ended::Done(status, said));
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
            Ok(Ended::Done(status, _)) if status.success() => return None,
            // "exit status: 3", "signal: 9 (SIGKILL)"
            Ok(Ended::Done(status, said)) => with(&format!("the {hook} failed, {status}"), &said),
            Ok(Ended::TooLate) => {
                let seconds = self.limit.as_secs();
                format!("the {hook} took longer than {seconds} s and was killed")
            }
            Ok(Ended::Interrupted) => {
                format!("the {hook} has not finished, because the run was interrupted")
            }
            Err(error) => format!("the {hook} could not be run: {error}"),
        };
        Some(Warning {
            kind: WarningKind::Hook,
            line: None,
            message,
        })
    }
}

/// `what`, and the hook's own message.
fn with(what: &str, said: &str) -> String {
    if said.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {said}")
    }
}

/// The beginning of a hook's standard error.
struct Heard {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Heard {
    /// Reads to the end, so that no hook waits for us, however much it writes.
    fn listen(mut stderr: ChildStderr) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (at_end, end): (Sender<()>, _) = channel();
        let heard = Arc::clone(&bytes);
        let listen = move || {
            let mut buffer = [0; HEARD];
            while let Ok(n @ 1..) = stderr.read(&mut buffer) {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                let room = HEARD - heard.len();
                heard.extend_from_slice(&buffer[..n.min(room)]);
            }
            drop(at_end);
        };
        // If no thread can be started, only the hook's message is lost.
        let _ = thread::Builder::new().spawn(listen);
        Heard { bytes, end }
    }

    fn first_line(self) -> String {
        let _ = self.end.recv_timeout(LAST_WORDS);
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        printable(line.unwrap_or_default())
            .chars()
            .take(SHOWN)
            .collect()
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
