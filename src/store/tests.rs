//! What is written to the store, what is read from it, and who may lock it.

use std::fs;
use std::process::Command;

use tempfile::tempdir;

use super::manifest::{Original, Record};
use super::*;

fn store(dir: &Path) -> Store {
    Store::new(dir.join(FOLDER), Durability::Durable)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Known hashes: BLAKE3 of nothing, from its published test vectors.
const NOTHING: &str = "af1349b9f5f9a1a6a0404dea36dcc949";

#[test]
fn names_of_offloads_are_found_wherever_they_stand() {
    let (a, b) = (offload_name(b"a"), offload_name(b"b"));
    let short = &a[..a.len() - 1];
    let escaped = b.replace('/', r"\/");
    let text = format!(
        "{{\"x\":\"at: {a}.\"}} {b}{b} offloaded offloaded/{a} {short} /x/.ctxpack/{b} {escaped}"
    );
    let found: Vec<String> = offload_names_in(text.as_bytes()).collect();
    assert_eq!(found, [&a, &b, &b, &a, &b, &b].map(String::clone));
}

#[test]
fn a_content_is_known_by_every_path_that_a_text_has_given_it() {
    let name = offload_name(b"a");
    for folder in [
        "",
        ".ctxpack/",
        "../../s t/",
        "/home/x/é/.ctxpack/",
        "C:/x/.ctxpack/",
    ] {
        assert_eq!(
            offload_in(&format!("{folder}{name}")),
            Some(name.as_str()),
            "{folder}"
        );
    }
    for other in ["", "offloaded", &name[1..], "../secret.txt"] {
        assert_eq!(offload_in(other), None, "{other}");
    }
    let long = format!("{}/{name}", "x".repeat(40_000));
    for other in [
        format!("x{name}"),
        format!(".ctxpack\\{name}"),
        format!("{name}/"),
        format!("a\n/{name}"),
        format!("a\0/{name}"),
        name.to_uppercase(),
        long,
    ] {
        assert_eq!(offload_in(&other), None, "{other:.60}");
    }
}

#[test]
fn a_copy_is_plain_and_gc_knows_it_by_its_record_or_by_a_text() {
    let dir = tempdir().unwrap();
    let run = store(dir.path());
    let text = b"{\"role\":\"user\"}\n";
    let name = run.put_copy(text).unwrap();
    assert_eq!(name, copy_name(&hash(text)));
    assert_eq!(run.put_copy(text).unwrap(), name);
    assert_eq!(fs::read(run.root().join(&name)).unwrap(), text);
    let (mentioned, stray) = (run.put_copy(b"a").unwrap(), run.put_copy(b"b").unwrap());
    fs::write(
        dir.path().join("out"),
        format!("at /x/.ctxpack/{mentioned}"),
    )
    .unwrap();
    run.put_archive(b"in", &hash(b"in")).unwrap();
    run.record(&Record {
        output: "out".to_owned(),
        output_hash: hash(b"out"),
        output_bytes: 3,
        input: "-".to_owned(),
        input_hash: hash(b"in"),
        input_bytes: 2,
        original: Original::Archive,
        archive: Some(archive_name(&hash(b"in"))),
        offloads: Vec::new(),
        copies: vec![name.clone()],
        cleaned: Vec::new(),
        originals: Default::default(),
        failed_summaries: 0,
        policy_hash: hash(b"policy"),
        sequence: 1,
        overlaps: None,
    })
    .unwrap();
    run.finish().unwrap();
    drop(run);
    let swept = store(dir.path()).gc(gc::Sweep::Delete).unwrap();
    assert_eq!(swept.names, [stray]);
    assert!(dir.path().join(".ctxpack").join(&name).exists());
    assert!(dir.path().join(".ctxpack").join(&mentioned).exists());
}

#[test]
fn names_are_the_first_digits_of_the_hash() {
    assert_eq!(offload_name(b""), format!("offloaded/{NOTHING}.txt"));
    assert_eq!(
        hash(b""),
        format!("blake3:{NOTHING}9bcb25c9adc112b7cc9a93cae41f3262")
    );
    let dir = tempdir().unwrap();
    let archived = store(dir.path()).put_archive(b"", &hash(b"")).unwrap();
    assert_eq!(
        archived,
        Archived {
            name: format!("archive/{NOTHING}.zst"),
            hash: hash(b""),
            bytes: 0
        }
    );
}

#[test]
fn offloads_come_back_and_putting_them_again_changes_nothing() {
    let dir = tempdir().unwrap();
    let store = store(dir.path());
    for content in [&b"output \xff\x00 bytes"[..], b""] {
        let name = store.put_offload(content).unwrap();
        assert_eq!(name, offload_name(content));
        assert_eq!(store.read_offload(&name).unwrap(), content);
        let before = fs::metadata(store.root().join(&name)).unwrap();
        assert_eq!(store.put_offload(content).unwrap(), name);
        let after = fs::metadata(store.root().join(&name)).unwrap();
        assert_eq!(
            atomic::FileVersion::of(&before),
            atomic::FileVersion::of(&after),
            "the file was written twice"
        );
    }
    assert_eq!(names(&store.root().join("offloaded")).len(), 2);
}

#[test]
fn many_threads_keep_the_same_content_once() {
    let dir = tempdir().unwrap();
    let store = Store::new(dir.path().join("s"), Durability::Lazy);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for n in 0..50 {
                    store.put_offload(format!("{n}").as_bytes()).unwrap();
                }
            });
        }
    });
    assert_eq!(names(&store.root().join("offloaded")).len(), 50);
}

#[test]
fn wrong_content_under_a_name_is_an_error_for_a_reader_and_replaced_by_a_writer() {
    let dir = tempdir().unwrap();
    let store = store(dir.path());
    let name = store.put_offload(b"right").unwrap();
    let path = store.root().join(&name);
    for wrong in ["wrong", "", "right and more"] {
        fs::write(&path, wrong).unwrap();
        let error = store.read_offload(&name).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Store);
        assert_eq!(error.path, Some(path.clone()));
        // Only content with the hash in the name replaces it.
        store
            .put_offload_as(&name, |out| out.write_all(b"not right"))
            .unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), wrong.as_bytes());
        assert_eq!(store.put_offload(b"right").unwrap(), name);
        assert_eq!(store.read_offload(&name).unwrap(), b"right");
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(
        store.put_offload(b"right").unwrap_err().kind,
        ErrorKind::Store
    );
}

#[test]
fn only_names_of_our_own_form_are_read() {
    let dir = tempdir().unwrap();
    let store = store(dir.path());
    let good = store.put_offload(b"content").unwrap();
    fs::write(dir.path().join("secret.txt"), "secret").unwrap();
    let digits = &good["offloaded/".len()..good.len() - 4];
    for name in [
        "",
        "offloaded/",
        "../secret.txt",
        "offloaded/../../secret.txt",
        "/etc/passwd",
        digits,
        &format!("offloaded/{digits}"),
        &format!("/{good}"),
        &format!("./{good}"),
        &format!("offloaded//{digits}.txt"),
        &format!("offloaded\\{digits}.txt"),
        &format!("offloaded/{}.txt", digits.to_uppercase()),
        &format!("offloaded/{}.txt", &digits[1..]),
        &format!("offloaded/0{digits}.txt"),
        &format!("offloaded/{digits}.txt\0"),
        &format!("offloaded/{digits}.txt\n"),
        &format!("archive/{digits}.txt"),
        &format!("offloaded/{}.txt", "é".repeat(16)),
        &"a".repeat(4096),
    ] {
        let error = store.read_offload(name).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Store, "{name}");
        assert_eq!(error.path, None, "{name} became a path");
        assert!(error.to_string().len() < 200);
        let mut out = Vec::new();
        let error = store.read_archive(name, u64::MAX, &mut out).unwrap_err();
        assert_eq!((error.kind, out.len()), (ErrorKind::Store, 0), "{name}");
    }
    assert_eq!(store.read_offload(&good).unwrap(), b"content");
}

#[test]
fn archives_come_back_from_pieces_and_from_memory() {
    let dir = tempdir().unwrap();
    let store = Store::new(dir.path().join("s"), Durability::Lazy);
    let original: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    let mut writer = store.archive().unwrap();
    for piece in original.chunks(7919) {
        writer.write_all(piece).unwrap();
    }
    let archived = writer.finish().unwrap();
    assert_eq!(
        store.put_archive(&original, &hash(&original)).unwrap(),
        archived
    );
    assert_eq!(names(&store.root().join("archive")).len(), 1);

    let mut out = Vec::new();
    let written = store
        .read_archive(&archived.name, u64::MAX, &mut out)
        .unwrap();
    assert_eq!(out, original);
    assert_eq!(
        written,
        Written {
            hash: hash(&original),
            bytes: original.len() as u64
        }
    );
    drop(store.archive().unwrap());
    assert_eq!(names(&store.root().join("archive")).len(), 1);
}

#[test]
fn a_damaged_archive_is_noticed_and_archiving_again_heals_it() {
    let dir = tempdir().unwrap();
    let store = store(dir.path());
    let name = store
        .put_archive(b"original", &hash(b"original"))
        .unwrap()
        .name;
    let path = store.root().join(&name);
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let other = zstd::encode_all(&b"other"[..], 3).unwrap();
    for damaged in [&whole[..whole.len() - 1], &flipped, &other, b"", b"junk"] {
        fs::write(&path, damaged).unwrap();
        let error = store
            .read_archive(&name, u64::MAX, &mut io::sink())
            .unwrap_err();
        assert_eq!(error.kind, ErrorKind::Store);
        assert_eq!(error.path, Some(path.clone()));
    }
    store.put_archive(b"original", &hash(b"original")).unwrap();
    store
        .read_archive(&name, u64::MAX, &mut io::sink())
        .unwrap();
    fs::remove_file(&path).unwrap();
    let error = store
        .read_archive(&name, u64::MAX, &mut io::sink())
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
}

#[test]
fn a_writer_that_fails_is_no_fault_of_the_store() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let dir = tempdir().unwrap();
    let store = store(dir.path());
    let name = store
        .put_archive(b"original", &hash(b"original"))
        .unwrap()
        .name;
    let error = store.read_archive(&name, u64::MAX, &mut Full).unwrap_err();
    assert_eq!((error.kind, error.path), (ErrorKind::Io, None));
    assert_eq!(error.source.unwrap().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn nothing_is_created_before_the_first_write() {
    let dir = tempdir().unwrap();
    let store = Store::new(dir.path().join("a/b/store"), Durability::Durable);
    store.read_offload(&offload_name(b"x")).unwrap_err();
    store.ledger().unwrap();
    store.lock().unwrap_err();
    store.name_of(&dir.path().join("a/b/x")).unwrap();
    assert_eq!(names(dir.path()), Vec::<String>::new());
    store.put_offload(b"x").unwrap();
    assert_eq!(names(store.root()), ["lock", "offloaded"]);
}

#[test]
fn names_are_relative_inside_and_absolute_outside() {
    let dir = tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let here = root.join("here");
    fs::create_dir_all(here.join("sub")).unwrap();
    let store = store(&here);
    let name = |path: PathBuf| store.name_of(&path).unwrap();
    assert_eq!(name(here.join("a.jsonl")), "a.jsonl");
    assert_eq!(name(here.join("sub/../sub/a.jsonl")), "sub/a.jsonl");
    assert_eq!(name(here.join("not/yet/a.jsonl")), "not/yet/a.jsonl");
    assert_eq!(name(root.join("b.jsonl")), "../b.jsonl");
    assert_eq!(name(here.join("../in/b.jsonl")), "../in/b.jsonl");
    let outside = root.with_file_name("b.jsonl");
    assert_eq!(Some(name(outside.clone()).as_str()), outside.to_str());
    for path in [here.join("sub/a.jsonl"), outside, root.join("in/b.jsonl")] {
        let named = resolved::resolved(&store.path_of(&name(path.clone())));
        assert_eq!(named, path);
    }
    let top = resolved::seen_from(Path::new("/here"), Path::new("/in/b.jsonl"));
    assert_eq!(top, Path::new("/in/b.jsonl"));
}

#[test]
fn one_holds_the_store_alone_or_runs_share_it() {
    let dir = tempdir().unwrap();
    let (one, two, gc) = (store(dir.path()), store(dir.path()), store(dir.path()));
    one.put_offload(b"1").unwrap();
    two.put_offload(b"2").unwrap();
    let error = gc.lock().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
    drop(one);
    gc.lock().unwrap_err();
    drop(two);
    let held = gc.lock().unwrap();
    gc.lock().unwrap_err();
    drop(held);
    drop(gc.lock().unwrap());
}

/// Runs itself in a second process, which is killed with no chance to tidy up.
#[test]
fn a_killed_run_leaves_its_records_and_no_lock() {
    const CHILD: &str = "CTXPACK_TEST_STORE_OF_CHILD";
    let record = Record {
        output: "out".to_owned(),
        output_hash: hash(b"out"),
        output_bytes: 3,
        input: "-".to_owned(),
        input_hash: hash(b"in"),
        input_bytes: 2,
        original: Original::Archive,
        archive: Some(format!("archive/{}.zst", &hash(b"in")[7..39])),
        offloads: vec![offload_name(b"moved")],
        copies: Vec::new(),
        cleaned: Vec::new(),
        originals: Default::default(),
        failed_summaries: 0,
        policy_hash: hash(b"policy"),
        sequence: 1,
        overlaps: None,
    };
    if let Some(dir) = std::env::var_os(CHILD) {
        let dir = PathBuf::from(dir);
        let run = store(&dir);
        run.put_archive(b"in", &hash(b"in")).unwrap();
        run.put_offload(b"moved").unwrap();
        run.record(&record).unwrap();
        let mut out = atomic::AtomicWriter::create(
            OpenPath::named(&dir.join("out"), Missing::Refuse).unwrap(),
            atomic::Existing::Refuse,
            atomic::Mode::Default,
            Durability::Lazy,
        )
        .unwrap();
        out.write_all(b"out").unwrap();
        fs::write(dir.join("ready"), "").unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    let dir = tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store::tests::a_killed_run_leaves_its_records_and_no_lock",
        ])
        .env(CHILD, dir.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..1000 {
        if dir.path().join("ready").exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(dir.path().join("ready").exists(), "the child never started");
    let store = store(dir.path());
    store.lock().unwrap_err();
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(
        store.ledger().unwrap().records(),
        std::slice::from_ref(&record)
    );
    let mut original = Vec::new();
    let archive = record.archive.unwrap();
    store
        .read_archive(&archive, u64::MAX, &mut original)
        .unwrap();
    assert_eq!(original, b"in");
    store.read_offload(&record.offloads[0]).unwrap();
    drop(store.lock().unwrap());

    let mut left = names(dir.path());
    left.retain(|name| name != "ready");
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(left[0], FOLDER);
    assert!(atomic::is_temp(left[1].as_ref()));
    #[cfg(unix)]
    {
        let folder = Folder::open(dir.path()).unwrap();
        assert!(atomic::remove_leftover(&folder, left[1].as_ref()).unwrap());
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn the_store_is_for_its_owner_alone() {
        let dir = tempdir().unwrap();
        let store = store(dir.path());
        let mode = |name: &str| fs::metadata(store.root().join(name)).unwrap().mode() & 0o7777;
        let offload = store.put_offload(b"x").unwrap();
        let archive = store.put_archive(b"x", &hash(b"x")).unwrap().name;
        for folder in ["", "offloaded", "archive"] {
            assert_eq!(mode(folder), 0o700, "{folder}");
        }
        for file in ["lock", &offload, &archive] {
            assert_eq!(mode(file), 0o600, "{file}");
        }
    }

    #[test]
    fn links_in_place_of_contents_are_not_followed() {
        let dir = tempdir().unwrap();
        let store = store(dir.path());
        let name = store.put_offload(b"content").unwrap();
        let archive = store
            .put_archive(b"content", &hash(b"content"))
            .unwrap()
            .name;
        for (name, copy) in [(&name, "a"), (&archive, "b")] {
            let copy = dir.path().join(copy);
            fs::rename(store.root().join(name), &copy).unwrap();
            symlink(&copy, store.root().join(name)).unwrap();
        }
        assert_eq!(
            store.read_offload(&name).unwrap_err().kind,
            ErrorKind::Store
        );
        assert_eq!(
            store.put_offload(b"content").unwrap_err().kind,
            ErrorKind::Store
        );
        let mut out = Vec::new();
        let error = store
            .read_archive(&archive, u64::MAX, &mut out)
            .unwrap_err();
        assert_eq!((error.kind, out.len()), (ErrorKind::Store, 0));
    }

    #[test]
    fn a_name_that_is_not_unicode_leads_back_to_its_file() {
        let dir = tempdir().unwrap();
        let store = Store::new(dir.path().join(".ctxpack"), Durability::Lazy);
        let path = dir.path().join(std::ffi::OsStr::from_bytes(b"a\xff.jsonl"));
        let name = store.name_of(&path).unwrap();
        assert_eq!(name, "a\0ff.jsonl");
        assert_eq!(store.path_of(&name), path);
    }
}
