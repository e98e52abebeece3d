//! The binary: arguments in, exit code out.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use ctxpack::cli::{parse, run};
use signal_hook::consts::{SIGINT, SIGTERM};

fn main() -> ExitCode {
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    let stop = Arc::new(AtomicUsize::new(0));
    heed(&stop);
    ExitCode::from(run(cli, stop))
}

/// The first signal ends the run in order if that is soon done, the second one at once. Without handlers the system ends it.
#[cfg(unix)]
fn heed(stop: &Arc<AtomicUsize>) {
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::Duration;

    use signal_hook::iterator::Signals;

    /// Whoever pressed a key waits no longer than a second.
    const PATIENCE: Duration = Duration::from_millis(700);

    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    let stop = Arc::clone(stop);
    let watch = move || {
        for signal in signals.forever() {
            if stop.swap(signal as usize, Ordering::Relaxed) != 0 {
                end(signal);
            }
            let late = move || {
                thread::sleep(PATIENCE);
                end(signal);
            };
            if thread::Builder::new().spawn(late).is_err() {
                end(signal);
            }
        }
    };
    // Where the system gives no thread, a batch cannot run either.
    let _ = thread::Builder::new().spawn(watch);
}

/// Ends the process in the middle of its work. What has its name is whole, and nothing else is left.
#[cfg(unix)]
#[allow(clippy::exit)]
fn end(signal: i32) {
    let _halted = ctxpack::store::atomic::halt();
    std::process::exit(128 + signal);
}

#[cfg(not(unix))]
fn heed(stop: &Arc<AtomicUsize>) {
    use std::sync::atomic::AtomicBool;

    use signal_hook::flag;

    for signal in [SIGINT, SIGTERM] {
        let second = Arc::new(AtomicBool::new(false));
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&second));
        let _ = flag::register(signal, second);
        let _ = flag::register_usize(signal, Arc::clone(stop), signal as usize);
    }
}
