//! The binary: arguments in, exit code out.

use std::process::ExitCode;

use ctxpack::cli::{Interruption, parse, run};
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};

/// With musl's own allocator, the threads of a static build would contend on every allocation.
#[cfg(target_env = "musl")]
#[global_allocator]
static HEAP: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set_up_heap();
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    let interruption = Interruption::default();
    install_signal_handlers(&interruption);
    ExitCode::from(run(cli, interruption))
}

/// Returns large buffers to the system when they are freed. Otherwise the heap keeps what one 50 MB file needed while another
/// thread reads the next, and a run takes a fifth more memory. Smaller buffers are kept, because allocating them again takes time.
///
/// Where the address space is limited, all threads share one heap. Otherwise each would reserve 64 MiB for its own, and threads
/// that find no space left would get a whole page for every small allocation.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn set_up_heap() {
    use rustix::process::{Resource, getrlimit};

    const LARGE: i32 = 8 << 20;
    /// Free memory at the top of the heap is returned only above this size. Setting the mmap threshold leaves the default so low
    /// that memory would go back and forth for each file.
    const SPARE: i32 = 32 << 20;

    // SAFETY: this runs first, so no other thread exists that could allocate. The call takes two integers, and if it fails, nothing
    // changes.
    let set = |what, to| unsafe { libc::mallopt(what, to) };
    set(libc::M_MMAP_THRESHOLD, LARGE);
    set(libc::M_TRIM_THRESHOLD, SPARE);
    if getrlimit(Resource::As).current.is_some() {
        set(libc::M_ARENA_MAX, 1);
    }
}

/// The first signal shuts the run down in an orderly way, report included, if its current work ends soon. The second one ends it at
/// once. Without handlers, the system ends it.
#[cfg(unix)]
fn install_signal_handlers(interruption: &Interruption) {
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::{Duration, Instant};

    use signal_hook::iterator::Signals;

    /// A user who pressed Ctrl-C should not wait longer than a second.
    const PATIENCE: Duration = Duration::from_millis(700);
    /// Schedulers signal a process and then its group: signals within this time are one request, not two.
    const ONE: Duration = Duration::from_millis(100);

    ignore_sigxfsz();
    // A program started with `nohup` ignores the hangup of its terminal.
    let of_terminal = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM].into_iter().chain(of_terminal)) else {
        return;
    };
    let Interruption { stop, work_ended } = interruption.clone();
    let watch = move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            if first.is_some_and(|first| first.elapsed() < ONE) {
                continue;
            }
            first.get_or_insert_with(Instant::now);
            if stop.swap(signal as usize, Ordering::Relaxed) != 0 {
                end(signal);
            }
            let work_ended = work_ended.clone();
            let late = move || {
                thread::sleep(PATIENCE);
                if !work_ended.load(Ordering::Relaxed) {
                    end(signal);
                }
            };
            if thread::Builder::new().spawn(late).is_err() {
                end(signal);
            }
        }
    };
    // If no thread can be spawned, a batch cannot run either.
    let _ = thread::Builder::new().spawn(watch);
}

/// Whether this process was started with a signal ignored; `true` if the system does not tell.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & (1 << (signal - 1)) != 0)
}

/// A file larger than the user's limit is an error, as on a full disk: the other inputs are processed.
#[cfg(unix)]
fn ignore_sigxfsz() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[cfg(target_os = "linux")]
    const SIGXFSZ: i32 = libc::SIGXFSZ;
    /// Its number on the other systems in common use.
    #[cfg(not(target_os = "linux"))]
    const SIGXFSZ: i32 = 25;

    let heard = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(SIGXFSZ, heard);
}

/// Ends the process in the middle of its work, and says so. Files that have their final name are complete, and nothing else is left
/// behind.
#[cfg(unix)]
#[allow(clippy::exit)]
fn end(signal: i32) {
    use std::io::Write;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    const MESSAGE: &str = "interrupted: stopped immediately; finished files are complete, all others are unchanged\n\
                         hint: run the same command again for the rest\n";
    /// A stalled reader of stderr must not block the exit.
    const PATIENCE: Duration = Duration::from_millis(100);

    let _halted = ctxpack::store::atomic::halt();
    let (said, heard) = mpsc::channel();
    let say = move || {
        let _ = std::io::stderr().write_all(MESSAGE.as_bytes());
        let _ = said.send(());
    };
    if thread::Builder::new().spawn(say).is_ok() {
        let _ = heard.recv_timeout(PATIENCE);
    }
    std::process::exit(128 + signal);
}

#[cfg(not(unix))]
fn install_signal_handlers(interruption: &Interruption) {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::flag;

    for signal in [SIGINT, SIGTERM] {
        let second = Arc::new(AtomicBool::new(false));
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&second));
        let _ = flag::register(signal, second);
        let _ = flag::register_usize(signal, Arc::clone(&interruption.stop), signal as usize);
    }
}
