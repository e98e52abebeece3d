//! What the name holds before, during and after a write.

use std::fs;
#[cfg(target_os = "linux")]
use std::{fs::File, time::Duration};

use tempfile::tempdir;

use super::*;
use crate::store::{Missing, hash};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn lazy(path: &Path, existing: Existing) -> Result<AtomicWriter> {
    let spot = OpenPath::named(path, Missing::Refuse)?;
    AtomicWriter::create(spot, existing, Mode::Default, Durability::Lazy)
}

/// Calls the function of the same name, with a path.
fn write(
    path: &Path,
    bytes: &[u8],
    existing: Existing,
    mode: Mode,
    durability: Durability,
) -> Result<Written> {
    let spot = OpenPath::named(path, Missing::Refuse)?;
    super::write(spot, bytes, existing, mode, durability)
}

fn remove_leftover(path: &Path) -> io::Result<bool> {
    let folder = Folder::open(path.parent().unwrap())?;
    super::remove_leftover(&folder, path.file_name().unwrap())
}

#[test]
fn what_was_written_is_hashed_counted_and_there() {
    let dir = tempdir().unwrap();
    for durability in [Durability::Durable, Durability::Lazy] {
        let path = dir.path().join(format!("{durability:?}"));
        let mut file = AtomicWriter::create(
            OpenPath::named(&path, Missing::Refuse).unwrap(),
            Existing::Refuse,
            Mode::Default,
            durability,
        )
        .unwrap();
        let mut whole = Vec::new();
        for i in 0..20_000 {
            let piece = format!("{i},");
            file.write_all(piece.as_bytes()).unwrap();
            whole.extend_from_slice(piece.as_bytes());
        }
        assert!(!path.exists());
        let expected = Written {
            hash: hash(&whole),
            bytes: whole.len() as u64,
        };
        assert_eq!(file.written().unwrap(), expected);
        assert_eq!(file.commit().unwrap().written, expected);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    assert_eq!(names(dir.path()), ["Durable", "Lazy"]);
}

#[test]
fn an_abandoned_file_leaves_nothing() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("out");
    fs::write(&path, "old").unwrap();
    let mut file = lazy(&path, Existing::Overwrite).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(names(dir.path()).len(), 2);
    drop(file);
    assert_eq!(names(dir.path()), ["out"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn refuse_leaves_a_file_that_is_there_and_one_that_appears() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("out");
    let mut late = lazy(&path, Existing::Refuse).unwrap();
    late.write_all(b"new").unwrap();
    fs::write(&path, "theirs").unwrap();

    for error in [
        late.commit().unwrap_err(),
        lazy(&path, Existing::Refuse).unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Exists);
        assert_eq!(error.path.as_deref(), Some(path.as_path()));
        assert!(error.hint.is_some());
    }
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert_eq!(names(dir.path()), ["out"]);
}

#[test]
fn a_file_that_grew_while_we_wrote_keeps_its_lines() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("session");
    fs::write(&path, "one\n").unwrap();
    let stamp = FileVersion::of(&fs::metadata(&path).unwrap());

    let mut file = lazy(&path, Existing::IfUnchanged(stamp)).unwrap();
    file.write_all(b"compacted\n").unwrap();
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"two\n")
        .unwrap();
    assert_eq!(file.commit().unwrap_err().kind, ErrorKind::Changed);
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
    assert_eq!(names(dir.path()), ["session"]);

    let stamp = FileVersion::of(&fs::metadata(&path).unwrap());
    write(
        &path,
        b"compacted\n",
        Existing::IfUnchanged(stamp),
        Mode::Default,
        Durability::Lazy,
    )
    .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"compacted\n");
}

#[test]
fn errors_name_the_output_and_what_was_being_done() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("missing/out");
    let error = lazy(&path, Existing::Refuse).unwrap_err();
    assert_eq!(error.path.as_deref(), Some(path.as_path()));
    assert!(
        error.message.starts_with("cannot open its folder: "),
        "{error}"
    );

    fs::create_dir(path.parent().unwrap()).unwrap();
    let mut file = lazy(&path, Existing::Refuse).unwrap();
    file.write_all(b"x").unwrap();
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let error = file.commit().unwrap_err();
    assert_eq!(error.path.as_deref(), Some(path.as_path()));
    assert!(error.message.starts_with("cannot write: "), "{error}");
}

#[test]
fn errors_do_not_show_temporary_names() {
    let dir = tempdir().unwrap();
    let error = lazy(&dir.path().join("missing/out"), Existing::Refuse).unwrap_err();
    assert!(!error.message.contains(TEMP_PREFIX), "{error}");
    // The caller should see the system's message.
    assert!(error.source.unwrap().raw_os_error().is_some());
}

/// Agents of both kinds append numbered lines while the file is replaced by a copy of itself, again and again.
#[cfg(target_os = "linux")]
#[test]
fn no_line_is_lost_or_moved_while_a_file_is_replaced() {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    const LINES: usize = 3000;
    // How many lines are written before the file is closed: each alone, a few, all.
    for held in [1, 7, LINES] {
        let dir = tempdir().unwrap();
        let path = dir.path().join("session");
        fs::write(&path, "first\n").unwrap();
        let (done, replaced) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut file = None;
                for i in 0..LINES {
                    if i % held == 0 {
                        drop(file.take());
                        if i % (7 * 30) == 0 {
                            // Otherwise it changes again before it can be replaced.
                            std::thread::sleep(Duration::from_millis(1));
                        }
                        file = Some(File::options().append(true).open(&path).unwrap());
                    }
                    let mut file = file.as_ref().unwrap();
                    file.write_all(format!("{i}\n").as_bytes()).unwrap();
                }
                drop(file);
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                let stamp = FileVersion::of(&fs::metadata(&path).unwrap());
                let bytes = fs::read(&path).unwrap();
                if bytes.len() as u64 != stamp.bytes {
                    continue;
                }
                let existing = Existing::IfUnchanged(stamp);
                let mode = Mode::Default;
                match write(&path, &bytes, existing, mode, Durability::Lazy) {
                    Ok(_) => drop(replaced.fetch_add(1, Ordering::Relaxed)),
                    Err(e) => assert_eq!(e.kind, ErrorKind::Changed, "{e}"),
                }
            }
        });
        let numbered: String = (0..LINES).map(|i| format!("{i}\n")).collect();
        let expected = format!("first\n{numbered}");
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text == expected,
            "{held}: {} bytes of {}",
            text.len(),
            expected.len()
        );
        assert_eq!(names(dir.path()), ["session"]);
        eprintln!("{held} lines held: replaced {replaced:?} times");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_somebody_has_open_for_writing_is_left_alone() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("session");
    fs::write(&path, "one\n").unwrap();
    let replace = || {
        let existing = Existing::IfUnchanged(FileVersion::of(&fs::metadata(&path).unwrap()));
        write(
            &path,
            b"compacted\n",
            existing,
            Mode::Default,
            Durability::Lazy,
        )
    };
    let mut agent = File::options().append(true).open(&path).unwrap();
    let error = replace().unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            ErrorKind::Changed,
            "another program has the file open for writing; it was left alone"
        )
    );
    agent.write_all(b"two\n").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
    assert_eq!(names(dir.path()), ["session"]);
    drop(agent);
    // Readers are not a reason to refuse.
    let _reader = File::open(&path).unwrap();
    replace().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"compacted\n");
}

#[test]
fn our_temporary_names_are_told_from_all_others() {
    for (name, ours) in [
        (".ctxpack-0123456789abcdefc24bc12c.tmp", true),
        (".ctxpack-0124456789abcdefc24bc12c.tmp", false),
        (".ctxpack-0123456789abcdefc24bc12c0.tmp", false),
        (".ctxpack-0123456789abcdefc24bc12.tmp", false),
        (".ctxpack-0123456789ABCDEFC24BC12C.tmp", false),
        (".ctxpack-0123456789abcdefc24bc12c.jsonl", false),
        (".ctxpack-aB3x9Z.tmp", false),
        ("ctxpack-aB3x9Z.tmp", false),
        (".ctxpack", false),
    ] {
        assert_eq!(is_temp(OsStr::new(name)), ours, "{name}");
    }
    let dir = tempdir().unwrap();
    let _file = lazy(&dir.path().join("out"), Existing::Refuse).unwrap();
    assert!(is_temp(OsStr::new(&names(dir.path())[0])));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn written_with(path: &Path, existing: Existing, mode: Mode) -> u32 {
        write(path, b"x", existing, mode, Durability::Lazy).unwrap();
        mode_of(path)
    }

    #[test]
    fn a_new_file_gets_the_mode_asked_for() {
        let dir = tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        fs::write(file("plain"), "").unwrap();
        let umask = mode_of(&file("plain"));
        assert_eq!(
            written_with(&file("default"), Existing::Refuse, Mode::Default),
            umask
        );
        assert_eq!(
            written_with(&file("private"), Existing::Refuse, Mode::Private),
            0o600
        );
        for (given, expected) in [(0o640, 0o640), (0o444, 0o444), (0o6755, 0o755)] {
            let like = Mode::Like(Permissions::from_mode(given).into());
            let path = file(&format!("like{given:o}"));
            assert_eq!(written_with(&path, Existing::Refuse, like), expected);
        }
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_is_never_open_to_others_before() {
        let dir = tempdir().unwrap();
        let path = dir.path().join("session");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let owner = |path: &Path| {
            let metadata = fs::metadata(path).unwrap();
            (metadata.uid(), metadata.gid())
        };
        // Only root can give a file to another user; others still test that nothing changes.
        let _ = std::os::unix::fs::chown(&path, Some(65534), Some(65534));
        let before = owner(&path);

        let file = lazy(&path, Existing::Overwrite).unwrap();
        let temp = &names(dir.path())[0];
        assert_eq!(mode_of(&dir.path().join(temp)), 0o600);
        file.commit().unwrap();
        assert_eq!(mode_of(&path), 0o640);
        assert_eq!(owner(&path), before);
    }

    #[test]
    fn a_link_that_is_meant_keeps_pointing_and_its_target_is_replaced() {
        let dir = tempdir().unwrap();
        let (far, link) = (dir.path().join("far"), dir.path().join("link"));
        fs::create_dir(&far).unwrap();
        fs::write(far.join("file"), "old").unwrap();
        symlink("far/file", &link).unwrap();
        let spot = || OpenPath::resolved(&link, None).unwrap();
        let (mode, lazy) = (Mode::Default, Durability::Lazy);
        let file = AtomicWriter::create(spot(), Existing::Overwrite, mode.clone(), lazy).unwrap();
        assert_eq!(names(&far).len(), 2);
        drop(file);
        super::super::write(spot(), b"new", Existing::Overwrite, mode, lazy).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("far/file"));
        assert_eq!(fs::read(far.join("file")).unwrap(), b"new");
    }

    #[test]
    fn a_link_in_place_of_an_output_is_refused_and_named() {
        let dir = tempdir().unwrap();
        let link = dir.path().join("link");
        fs::write(dir.path().join("file"), "theirs").unwrap();
        for to in ["nowhere", "file"] {
            symlink(to, &link).unwrap();
            for existing in [Existing::Refuse, Existing::Overwrite] {
                let refused = lazy(&link, existing).unwrap_err();
                assert_eq!(refused.kind, ErrorKind::Exists);
                assert_eq!(refused.path.as_deref(), Some(link.as_path()));
                assert!(
                    refused.message.contains("the output path is a link"),
                    "{refused}"
                );
            }
            assert_eq!(names(dir.path()), ["file", "link"]);
            fs::remove_file(&link).unwrap();
        }

        // A link that appears late is not written through either.
        let file = lazy(&link, Existing::Refuse).unwrap();
        symlink("nowhere", &link).unwrap();
        assert_eq!(file.commit().unwrap_err().kind, ErrorKind::Exists);
        assert_eq!(names(dir.path()), ["file", "link"]);
        fs::remove_file(&link).unwrap();
        let file = lazy(&link, Existing::Overwrite).unwrap();
        symlink("file", &link).unwrap();
        file.commit().unwrap();
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"theirs");
    }

    #[test]
    fn hard_links_and_devices_are_refused() {
        let dir = tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "old").unwrap();
        fs::hard_link(&one, &two).unwrap();
        let error = lazy(&one, Existing::Overwrite).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Exists);
        assert!(error.message.contains("2 hard links"), "{error}");
        assert_eq!(
            lazy(dir.path(), Existing::Overwrite).unwrap_err().kind,
            ErrorKind::Exists
        );
        assert_eq!(
            lazy(Path::new("/dev/null"), Existing::Overwrite)
                .unwrap_err()
                .kind,
            ErrorKind::Exists
        );
    }

    #[test]
    fn leftovers_go_and_living_files_stay() {
        let dir = tempdir().unwrap();
        let living = lazy(&dir.path().join("out"), Existing::Refuse).unwrap();
        let living_temp = dir.path().join(&names(dir.path())[0]);
        let dead = dir.path().join(".ctxpack-0123456789abcdefc24bc12c.tmp");
        let other = dir.path().join("notes.tmp");
        fs::write(&dead, "half").unwrap();
        fs::write(&other, "theirs").unwrap();

        assert!(remove_leftover(&dead).unwrap());
        assert!(!remove_leftover(&dead).unwrap());
        assert!(!remove_leftover(&other).unwrap());
        assert!(!remove_leftover(&living_temp).unwrap());
        living.commit().unwrap();
        assert_eq!(names(dir.path()), ["notes.tmp", "out"]);
    }
}
