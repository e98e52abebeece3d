use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use super::*;
use crate::policy::preset;

/// Content that no read may ever return.
const CANARY: &str = "canary: not to be read\n";

/// A folder with various contents, next to a file outside of it.
struct Case {
    outer: TempDir,
}

impl Case {
    fn new() -> Self {
        let case = Case {
            outer: TempDir::new().unwrap(),
        };
        fs::write(case.outer.path().join("outside.txt"), CANARY).unwrap();
        fs::create_dir_all(case.at("src")).unwrap();
        fs::write(case.at("src/a.rs"), "fn a() {}\n").unwrap();
        case
    }

    fn at(&self, name: &str) -> PathBuf {
        self.outer.path().join("project").join(name)
    }

    fn root(&self, tokens_per_file: u64) -> Root {
        let settings = settings(&self.at(""), tokens_per_file);
        Root::open_unless_home(&settings, None).unwrap().unwrap()
    }
}

fn settings(root: &Path, tokens_per_file: u64) -> Restore {
    Restore {
        root: root.to_str().unwrap().to_owned().into(),
        tokens_per_file,
        ..preset("layered").unwrap().restore
    }
}

fn whole(text: &str) -> Result<Content, NotRead> {
    Ok(Content {
        text: text.to_owned(),
        lines: Lines::ALL,
    })
}

#[test]
fn paths_below_the_folder_are_read_however_they_are_written() {
    let case = Case::new();
    symlink(case.at(""), case.outer.path().join("link")).unwrap();
    let by_link = settings(&case.outer.path().join("link"), 5_000);
    let by_link = Root::open_unless_home(&by_link, None).unwrap().unwrap();
    let absolute = case.at("src/a.rs").to_str().unwrap().to_owned();
    let linked = case.outer.path().join("link/src/a.rs");
    for path in ["src/a.rs", "./src//./a.rs", &absolute] {
        assert_eq!(case.root(5_000).read(path), whole("fn a() {}\n"), "{path}");
        assert_eq!(by_link.read(path), whole("fn a() {}\n"), "{path}");
    }
    let linked = linked.to_str().unwrap();
    assert_eq!(by_link.read(linked), whole("fn a() {}\n"));
    assert_eq!(case.root(5_000).read(linked), Err(NotRead::Outside));
}

#[test]
fn nothing_from_outside_is_read_and_nothing_is_waited_for() {
    let case = Case::new();
    let outer = case.outer.path().to_str().unwrap().to_owned();
    fs::create_dir(format!("{outer}/project-2")).unwrap();
    fs::write(format!("{outer}/project-2/a.rs"), CANARY).unwrap();
    for (link, target) in [
        ("link", "../outside.txt"),
        ("absolute-link", &*format!("{outer}/outside.txt")),
        ("link-inside", "src/a.rs"),
        ("dangling", "nowhere"),
        ("loop", "loop"),
        ("environ", "/proc/self/environ"),
        ("zero", "/dev/zero"),
        ("up", ".."),
        ("src-link", "src"),
        ("root", "/"),
    ] {
        symlink(target, case.at(link)).unwrap();
    }
    let status = Command::new("mkfifo").arg(case.at("pipe")).status();
    assert!(status.unwrap().success());
    let _socket = UnixListener::bind(case.at("socket")).unwrap();
    fs::File::create(case.at("sparse"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    fs::write(case.at("binary"), b"a\0b").unwrap();
    fs::write(case.at("latin-1"), b"caf\xe9").unwrap();
    fs::write(case.at("\u{e9}.txt"), "composed").unwrap();
    for folder in [".ssh", ".aws", ".git", "keys"] {
        fs::create_dir(case.at(folder)).unwrap();
    }
    let secrets = [
        ".env",
        ".env.local",
        ".ENV",
        "src/.env",
        "id_rsa",
        "keys/id_ed25519.pub",
        "keys/server.pem",
        "keys/Server.PEM",
        ".ssh/config",
        ".aws/config",
        ".git/config",
        ".netrc",
        "my-Credentials.json",
        // Names that file systems may take for others, because they fold or ignore such letters.
        ".e\u{200c}nv",
        ".\u{17f}\u{17f}h/config",
    ];
    let long = "a".repeat(5_000);
    let deep = "a/".repeat(2_500);
    let long_outside = format!("/{long}");
    let beside = format!("{outer}/outside.txt");
    let sibling = format!("{outer}/project-2/a.rs");
    let back_out = format!("{outer}/project/../outside.txt");
    let itself = format!("{outer}/project");
    let hostile: &[(&str, NotRead)] = &[
        ("../outside.txt", NotRead::Outside),
        ("src/../../outside.txt", NotRead::Outside),
        ("src/../src/a.rs", NotRead::Outside),
        ("./../outside.txt", NotRead::Outside),
        ("..", NotRead::Outside),
        (&beside, NotRead::Outside),
        (&sibling, NotRead::Outside),
        (&back_out, NotRead::Outside),
        (&itself, NotRead::Outside),
        ("", NotRead::Outside),
        (".", NotRead::Outside),
        ("/", NotRead::Outside),
        ("//etc/passwd", NotRead::Outside),
        ("/etc/passwd", NotRead::Outside),
        ("/dev/zero", NotRead::Outside),
        ("/dev/stdin", NotRead::Outside),
        ("/proc/self/environ", NotRead::Outside),
        ("/proc/self/root/etc/passwd", NotRead::Outside),
        ("/proc/self/fd/0", NotRead::Outside),
        ("~/.bashrc", NotRead::Outside),
        ("~root/a", NotRead::Outside),
        ("src/a.rs\0", NotRead::Outside),
        ("\0", NotRead::Outside),
        (&long_outside, NotRead::Outside),
        (&long, NotRead::Missing),
        (&deep, NotRead::Missing),
        ("nothing.rs", NotRead::Missing),
        ("nothing/a.rs", NotRead::Missing),
        ("...", NotRead::Missing),
        ("src\\..\\..\\outside.txt", NotRead::Missing),
        ("%2e%2e/outside.txt", NotRead::Missing),
        ("file:///etc/passwd", NotRead::Missing),
        (" /etc/passwd", NotRead::Missing),
        ("link", NotRead::NoFile),
        ("absolute-link", NotRead::NoFile),
        ("link-inside", NotRead::NoFile),
        ("dangling", NotRead::NoFile),
        ("loop", NotRead::NoFile),
        ("loop/a", NotRead::NoFile),
        ("environ", NotRead::NoFile),
        ("zero", NotRead::NoFile),
        ("up/outside.txt", NotRead::NoFile),
        ("src-link/a.rs", NotRead::NoFile),
        ("root/etc/passwd", NotRead::NoFile),
        ("pipe", NotRead::NoFile),
        ("pipe/a", NotRead::NoFile),
        ("socket", NotRead::NoFile),
        ("src", NotRead::NoFile),
        ("src/a.rs/b", NotRead::NoFile),
        ("sparse", NotRead::NoText),
        ("binary", NotRead::NoText),
        ("latin-1", NotRead::NoText),
    ];
    let root = case.root(5_000);
    for name in secrets.iter().filter(|name| name.is_ascii()) {
        fs::write(case.at(name), CANARY).unwrap();
    }
    let secrets = secrets.map(|name| (name, NotRead::Secret));
    for (path, expected) in hostile.iter().chain(&secrets) {
        // Other programs may delay one of the three reads, but not all of them.
        let times = [(); 3].map(|()| {
            let start = Instant::now();
            assert_eq!(root.read(path), Err(*expected), "{path:?}");
            start.elapsed()
        });
        assert!(
            times.iter().min() < Some(&Duration::from_secs(2)),
            "{path:?}"
        );
    }
    assert_eq!(root.read("\u{e9}.txt"), whole("composed"));
    // A file system that normalises names finds the same file by either spelling.
    let apart = root.read("e\u{301}.txt");
    assert!(apart == Err(NotRead::Missing) || apart == whole("composed"));
}

#[test]
fn names_that_only_resemble_secrets_are_read() {
    let case = Case::new();
    for name in [
        "environment.rs",
        "grid_a.rs",
        "pem",
        "src/key.rs",
        ".gitignore",
        "id_map.rs",
    ] {
        fs::write(case.at(name), "x").unwrap();
        assert_eq!(case.root(5_000).read(name), whole("x"), "{name}");
    }
}

#[test]
fn a_hard_link_below_the_folder_is_below_it() {
    let case = Case::new();
    let outside = case.outer.path().join("outside.txt");
    fs::hard_link(outside, case.at("hard")).unwrap();
    assert_eq!(case.root(5_000).read("hard"), whole(CANARY));
}

#[test]
fn what_is_swapped_meanwhile_leads_nowhere() {
    const SWAPS: usize = 1_000;
    let case = Case::new();
    fs::write(case.at("file"), "fn a() {}\n").unwrap();
    symlink("../outside.txt", case.at("file-2")).unwrap();
    fs::write(case.at("a"), "fn a() {}\n").unwrap();
    Command::new("mkfifo").arg(case.at("a-2")).status().unwrap();
    fs::create_dir(case.outer.path().join("other")).unwrap();
    fs::write(case.outer.path().join("other/a.rs"), CANARY).unwrap();
    symlink("../other", case.at("src-2")).unwrap();
    let (swaps, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let root = case.root(5_000);
    let mut read = [0; 2];
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                for name in ["file", "a", "src"] {
                    let (one, other) = (case.at(name), case.at(&format!("{name}-2")));
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                }
                swaps.fetch_add(1, Ordering::Release);
                thread::yield_now();
            }
        });
        let start = Instant::now();
        let is_enough = |read: [usize; 2]| {
            let seen = read.iter().all(|count| *count >= 100);
            seen && swaps.load(Ordering::Acquire) >= SWAPS
        };
        let mut odd = Vec::new();
        while !is_enough(read) && odd.is_empty() && start.elapsed() < Duration::from_secs(60) {
            for path in ["file", "a", "src/a.rs"] {
                let found = root.read(path);
                let is_inside = found == whole("fn a() {}\n");
                if !is_inside && found != Err(NotRead::NoFile) {
                    odd.push((path, found));
                }
                read[usize::from(is_inside)] += 1;
            }
            thread::yield_now();
        }
        is_over.store(true, Ordering::Release);
        assert_eq!(odd, []);
        assert!(is_enough(read), "{read:?}");
    });
}

#[test]
fn of_a_long_file_the_first_lines_are_read() {
    let case = Case::new();
    let read = |bytes: &[u8]| {
        fs::write(case.at("long"), bytes).unwrap();
        // 32 bytes.
        case.root(1).read("long")
    };
    let first = |text: &str, last: u64| {
        Ok(Content {
            text: text.to_owned(),
            lines: Lines {
                first: 1,
                last: Some(last),
            },
        })
    };
    let fits = "0123456789abcde\n".repeat(2);
    assert_eq!(read(fits.as_bytes()), whole(&fits));
    assert_eq!(
        read(format!("{fits}x").as_bytes()),
        first(fits.trim_end(), 2)
    );
    let longer = format!("0123456789\n{}", "x".repeat(60));
    assert_eq!(read(longer.as_bytes()), first("0123456789", 1));
    // A character across the limit is left out, and does not make the file count as binary.
    assert_eq!(
        read("a".repeat(31).replace("a", "é").as_bytes()),
        first(&"é".repeat(16), 1)
    );
    let odd = format!("a{}", "é".repeat(31));
    assert_eq!(read(odd.as_bytes()), first(&odd[..31], 1));
    assert_eq!(
        read(b"0123456789012345678901234567\xff\xff\xff\xff\xff"),
        Err(NotRead::NoText)
    );
}

#[test]
fn folders_that_hold_more_than_a_project_are_refused() {
    let case = Case::new();
    let home = case.at("home/me");
    fs::create_dir_all(home.join("work")).unwrap();
    let open = |root: &Path| {
        let opened = Root::open_unless_home(&settings(root, 1), Some(&home));
        opened
            .map(|_| ())
            .map_err(|error| (error.kind, error.hint.is_some()))
    };
    let refused = Err((ErrorKind::Config, true));
    assert_eq!(open(Path::new("/")), refused);
    assert_eq!(open(Path::new("/usr/..")), refused);
    assert_eq!(open(&home), refused);
    assert_eq!(open(&home.join("work/..")), refused);
    assert_eq!(open(&case.at("home")), refused);
    assert_eq!(open(&case.at("src/a.rs")), refused);
    assert_eq!(open(&case.at("nothing")), Err((ErrorKind::NotFound, true)));
    assert_eq!(open(&home.join("work")), Ok(()));
}

#[test]
fn without_a_folder_nothing_is_opened() {
    assert!(Root::open(&settings(Path::new(""), 1)).unwrap().is_none());
}
