//! Keeps other programs from writing to a file, if the system allows it.
//!
//! Linux calls this a lease: it is refused while another program has the file open for writing, and while it is held,
//! an open for writing waits. Advisory locks would not work, because no agent uses them. Never held for longer than it
//! takes to rename a file and copy a few lines.

use std::fs::File;

/// The result of an attempt to lease a file.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(super) enum Hold<'f> {
    /// No one else has it open for writing, and no one will until this is dropped.
    Held { lease: Lease<'f> },
    /// Another process has it open for writing.
    Busy,
    /// There are no leases: another system, a file system without them, or another user's file.
    Unknown,
}

/// A lease, which ends when this is dropped.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(super) struct Lease<'f>(&'f File);

/// Which opens must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    /// Only opens for writing; the handle must itself be open for reading only.
    Writers,
    /// All opens; the handle may be open for writing.
    All,
}

#[cfg(target_os = "linux")]
pub(super) fn hold(file: &File, against: Against) -> Hold<'_> {
    let kind = match against {
        Against::Writers => libc::F_RDLCK,
        Against::All => libc::F_WRLCK,
    };
    // The kernel sends a signal when another process waits. The default one ends the process; this one is ignored.
    let held =
        fcntl(file, F_SETSIG, libc::SIGURG).and_then(|_| fcntl(file, libc::F_SETLEASE, kind));
    match held {
        Ok(_) => Hold::Held { lease: Lease(file) },
        Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => Hold::Busy,
        Err(_) => Hold::Unknown,
    }
}

impl Lease<'_> {
    /// Whether another process is waiting for the lease to end, or the lease was revoked.
    #[cfg(target_os = "linux")]
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(
            fcntl(self.0, libc::F_GETLEASE, 0),
            Ok(libc::F_RDLCK | libc::F_WRLCK)
        )
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_wanted(&self) -> bool {
        let _ = self.0;
        false
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn hold(_file: &File, _against: Against) -> Hold<'_> {
    Hold::Unknown
}

#[cfg(target_os = "linux")]
impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // Closing the handle would end the lease as well.
        let _ = fcntl(self.0, libc::F_SETLEASE, libc::F_UNLCK);
    }
}

/// Linux's number for this command; `libc` has no name for it.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// The only call for which the standard library has no safe form.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> std::io::Result<libc::c_int> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the three commands used in this file take a number or
    // nothing and touch no memory of this process.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(std::io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::OpenOptions;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_writer_is_seen_and_the_next_one_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "a").unwrap();
        let file = File::open(&path).unwrap();
        let open = || OpenOptions::new().append(true).open(&path).unwrap();

        let writer = open();
        assert!(matches!(hold(&file, Against::Writers), Hold::Busy));
        drop(writer);
        let Hold::Held { lease } = hold(&file, Against::Writers) else {
            panic!("not held");
        };
        assert!(!lease.is_wanted());
        // Readers do not break the lease.
        assert_eq!(std::fs::read(&path).unwrap(), b"a");
        let (send, opened) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                open();
                send.send(()).unwrap();
            });
            let waited = opened.recv_timeout(Duration::from_millis(50));
            assert_eq!(waited, Err(mpsc::RecvTimeoutError::Timeout));
            assert!(lease.is_wanted());
            drop(lease);
            opened.recv().unwrap();
        });
    }

    #[test]
    fn a_writer_may_hold_its_own_file_against_all() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(
            hold(file.as_file(), Against::All),
            Hold::Held { .. }
        ));
        let _reader = File::open(file.path()).unwrap();
        let second = OpenOptions::new().write(true).open(file.path()).unwrap();
        assert!(matches!(hold(file.as_file(), Against::All), Hold::Busy));
        drop(second);
    }
}
