//! The binary: arguments in, exit code out.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use ctxpack::cli::{parse, run};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

fn main() -> ExitCode {
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    let stop = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM] {
        // The first signal ends the run in order, the second one at once. Without handlers the system ends it.
        let second = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&second));
        let _ = flag::register(signal, second);
        let _ = flag::register_usize(signal, Arc::clone(&stop), signal as usize);
    }
    ExitCode::from(run(cli, stop))
}
