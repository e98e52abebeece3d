//! Sends a stream of records through the pipeline: one output line for each input line, in order, with several in progress at once.
//!
//! Holds a bounded number of records and bytes, however long the stream is, and writes finished records before it waits, so that a
//! driver that writes one line and waits for its answer gets it. One bad record never stops the stream. Decides nothing about
//! content.

mod work;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;
use std::{io, thread};

use super::budget::Budget;
use super::hooks::{HookContext, Hooks, Trigger};
use super::limits::Workload;
use super::refusal::Refusal;
use super::sink::Sink;
use super::target::open_run_store;
use super::{Options, Stdin, Waiting, needs_archive, one};
use crate::artifacts::SummaryModel;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::Outcome;
use crate::policy::Effective;
use crate::semaphore::Semaphore;
use crate::store::folder::Durability;
use work::{Answer, Task, Work, name_of};

/// How many bytes of records may be in flight, unless a single one is larger.
const ON_THE_WAY: u64 = 64 << 20;
/// How many records may be in flight per thread.
const RECORDS_PER_THREAD: usize = 8;
/// Bytes to read at a time.
const PIECE: usize = 64 << 10;
/// How often a thread that waits for room checks whether its work is still wanted.
const PATIENCE: Duration = Duration::from_millis(50);

/// How the records of a stream are read and answered.
#[derive(Debug)]
pub struct Stream {
    /// The member that holds the conversation; `None`: detected from the record itself.
    pub field: Option<String>,
    /// The folder below which the records' files will be unpacked: the store's names in their texts are relative to it.
    pub folder: PathBuf,
    /// The member that receives the record's entry of the report, if any.
    pub stats: Option<String>,
}

/// Compacts the records of standard input to standard output; `note` gets the outcome of each, in order. Returns errors at the end
/// that concern no single record.
///
/// # Errors
/// Whatever stops the stream: contradictory options, an error on standard input or output, a closed output
/// ([`ErrorKind::ClosedPipe`]), a server that accepts no request, a signal ([`ErrorKind::Interrupted`]).
pub fn filter(
    effective: &Effective,
    options: &Options,
    stream: &Stream,
    note: &mut dyn FnMut(Outcome),
) -> Result<Vec<Error>> {
    if needs_archive(&effective.policy) && options.store.is_none() {
        let message = "the policy archives the original, and a stream has no store to put it in";
        return Err(Error::new(ErrorKind::Usage, message)
            .hint("name a folder with --store DIR, or keep no copy: --set archive=auto, and a summary.text that names none"));
    }
    let store = options.store.clone();
    let store = store.map(|root| open_run_store(root, Durability::Lazy));
    if let Some(kept) = &store {
        kept.store.sweep();
    }
    let turns = Semaphore::new(options.jobs);
    let refusal = Refusal::default();
    let asked = Waiting::of(options, &refusal, &turns, &Silent);
    let threads = options.jobs + asked.as_ref().map_or(0, |asked| asked.at_once);
    let server = asked.as_ref().map(|asked| asked as &dyn SummaryModel);
    let no_hooks = Hooks::default();
    let work = Work {
        run: one::Run::new(effective, options, server, &refusal)?,
        stream,
        store: store.clone(),
        budget: Budget::new(threads, options.limits, Workload::Once),
        turns: &turns,
        hook_context: HookContext {
            hooks: &no_hooks,
            policy: &effective.policy.name,
            trigger: Trigger::of(&effective.policy),
            stop: &options.stop,
        },
        together: RwLock::new(()),
    };
    let ended = AtomicBool::new(false);
    let room = Room::default();
    let stdin = Stdin::open(&options.stop)?.until(&ended);
    let (places, answers) = sync_channel(threads * RECORDS_PER_THREAD);
    let (tasks, waiting) = sync_channel::<Task>(threads);
    let waiting = Mutex::new(waiting);
    let failed = |e| Error::new(ErrorKind::Internal, format!("cannot start a thread: {e}"));
    let written = thread::scope(|scope| {
        let (work, waiting, room, ended) = (&work, &waiting, &room, &ended);
        for _ in 0..threads {
            let worker = || {
                let next = || {
                    let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    waiting.recv()
                };
                while let Ok(task) = next() {
                    let answer = work.answer(&task);
                    // No one receives the answer once the stream has ended.
                    let _ = task.answer.send(answer);
                }
            };
            let started = thread::Builder::new().spawn_scoped(scope, worker);
            started.map_err(failed)?;
        }
        let most = usize::try_from(work.budget.largest()).unwrap_or(usize::MAX);
        let read = move || read(stdin, most, &places, &tasks, room, ended);
        let reader = thread::Builder::new().spawn_scoped(scope, read);
        let reader = reader.map_err(failed)?;
        let mut sink = Sink::stdout(&options.stop);
        let written = write(&answers, &mut sink, room, note);
        ended.store(true, Ordering::Relaxed);
        // Threads that are waiting to send a place end when the receiver is gone.
        drop(answers);
        written?;
        let read = reader.join().unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Internal,
                "internal error while reading the stream",
            ))
        });
        read?;
        sink.commit().map(drop)
    });
    let unfinished = store.and_then(|kept| kept.store.finish().err());
    written?;
    refusal.check()?;
    match options.stop.load(Ordering::Relaxed) {
        0 => Ok(unfinished.into_iter().collect()),
        _ => Err(Error::new(ErrorKind::Interrupted, "interrupted")),
    }
}

/// A stream needs no progress display: its output shows it.
struct Silent;

impl super::Progress for Silent {
    fn done(&self, _: u64) {}

    fn waiting(&self, _: usize) {}
}

/// The next line of the output, in order.
enum Place {
    /// The line of a record that takes this many bytes.
    Answer(Receiver<Answer>, u64),
    /// The line of a record that is too long to be held: it is passed through in pieces.
    Pieces(Receiver<Vec<u8>>, Box<Outcome>),
}

/// The room for records in flight.
#[derive(Default)]
struct Room {
    used: Mutex<u64>,
    freed: Condvar,
}

impl Room {
    /// Waits until there is room for `bytes` bytes; one record always has room. Returns `false` if the stream has ended in the
    /// meantime.
    fn take(&self, bytes: u64, ended: &AtomicBool) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > ON_THE_WAY {
            if ended.load(Ordering::Relaxed) {
                return false;
            }
            (used, _) = self
                .freed
                .wait_timeout(used, PATIENCE)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        true
    }

    fn give_back(&self, bytes: u64) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.freed.notify_all();
    }
}

/// Reads lines and hands them out until the stream ends, or no more are wanted. A line of more than `most` bytes is not held.
fn read(
    stdin: impl Read,
    most: usize,
    places: &SyncSender<Place>,
    tasks: &SyncSender<Task>,
    room: &Room,
    ended: &AtomicBool,
) -> Result<()> {
    let mut input = BufReader::with_capacity(PIECE, stdin);
    let failed = |e| Error::io("-", "read", e);
    for number in 1.. {
        let mut line = Vec::new();
        let mut limited = input.by_ref().take(most as u64 + 1);
        if limited.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        if line.len() > most && !line.ends_with(b"\n") {
            let (send, pieces) = sync_channel(1);
            let too_long = Error::new(ErrorKind::TooLarge, "the record does not fit into memory")
                .hint("--max-file-bytes SIZE tries longer ones");
            let outcome = Box::new(Outcome::failed(&name_of(number), &too_long));
            if places.send(Place::Pieces(pieces, outcome)).is_err() {
                return Ok(());
            }
            if !pass(&mut input, line, &send).map_err(failed)? {
                return Ok(());
            }
            continue;
        }
        let bytes = line.len() as u64;
        if !room.take(bytes, ended) {
            return Ok(());
        }
        let (answer, place) = sync_channel(1);
        let task = Task {
            number,
            line,
            answer,
        };
        if places.send(Place::Answer(place, bytes)).is_err() || tasks.send(task).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Passes on a line, whose beginning `piece` was already read, up to its end; returns `false` if it is not wanted.
fn pass(
    input: &mut impl BufRead,
    mut piece: Vec<u8>,
    send: &SyncSender<Vec<u8>>,
) -> io::Result<bool> {
    loop {
        let is_last = piece.is_empty() || piece.ends_with(b"\n");
        if send.send(piece).is_err() {
            return Ok(false);
        }
        if is_last {
            return Ok(true);
        }
        piece = Vec::new();
        let mut limited = input.by_ref().take(PIECE as u64);
        limited.read_until(b'\n', &mut piece)?;
    }
}

/// Writes answers in order, and flushes before it waits.
fn write(
    answers: &Receiver<Place>,
    sink: &mut Sink<'_>,
    room: &Room,
    note: &mut dyn FnMut(Outcome),
) -> Result<()> {
    while let Some(place) = next(answers, sink)? {
        let outcome = match place {
            Place::Answer(answer, bytes) => {
                // A worker sends an answer whatever happens.
                let Some(answer) = next(&answer, sink)? else {
                    return Err(Error::new(ErrorKind::Internal, "a record has no answer"));
                };
                let (line, outcome) = answer?;
                sink.put(&line)?;
                room.give_back(bytes);
                outcome
            }
            Place::Pieces(pieces, outcome) => {
                while let Some(piece) = next(&pieces, sink)? {
                    sink.put(&piece)?;
                }
                *outcome
            }
        };
        note(outcome);
    }
    Ok(())
}

/// The next item of a channel; flushes what was written before waiting.
fn next<T>(channel: &Receiver<T>, sink: &mut Sink<'_>) -> Result<Option<T>> {
    match channel.try_recv() {
        Ok(there) => Ok(Some(there)),
        Err(TryRecvError::Disconnected) => Ok(None),
        Err(TryRecvError::Empty) => {
            let flushed = sink.flush();
            flushed.map_err(|e| sink.failed(&e))?;
            Ok(channel.recv().ok())
        }
    }
}
