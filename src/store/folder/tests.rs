//! What can be reached by a name in a folder, and what cannot.

use std::fs;
use std::io::Write;

use tempfile::tempdir;

use super::*;

fn name(name: &str) -> &OsStr {
    OsStr::new(name)
}

#[test]
fn folders_are_made_once_by_many_threads() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a/b/c/d");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| Folder::open_or_make(&path, Durability::Durable).unwrap());
        }
    });
    assert!(path.is_dir());
    fs::write(path.join("file"), "").unwrap();
    let error = Folder::open_or_make(&path.join("file/e"), Durability::Lazy).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Io);
}

#[test]
fn only_plain_names_lead_below_a_folder() {
    let dir = tempdir().unwrap();
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    let folder = Folder::open(dir.path()).unwrap();
    for good in ["", ".", "a", "a/b", "a/./b"] {
        folder.below(Path::new(good)).unwrap();
    }
    for bad in ["..", "a/..", "a/../a", "/", "/etc"] {
        let error = folder.below(Path::new(bad)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{bad}");
    }
}

#[test]
fn what_is_new_is_made_where_nothing_is() {
    let dir = tempdir().unwrap();
    let folder = Folder::open(dir.path()).unwrap();
    let mut file = folder.create(name("a"), Access::Private).unwrap();
    file.write_all(b"text").unwrap();
    let error = folder.create(name("a"), Access::Private).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(
        io::read_to_string(folder.read(name("a")).unwrap()).unwrap(),
        "text"
    );

    folder.create(name("b"), Access::Default).unwrap();
    let error = folder.rename_to_free(name("a"), name("b")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    folder.rename(name("a"), name("b")).unwrap();
    assert_eq!(fs::read(dir.path().join("b")).unwrap(), b"text");
    folder.rename_to_free(name("b"), name("c")).unwrap();
    assert_eq!(folder.names().unwrap(), ["c"]);
    folder.remove(name("c")).unwrap();
    assert!(folder.look(name("c")).unwrap().is_none());
}

#[test]
fn nobody_foresees_a_name() {
    let names: std::collections::BTreeSet<String> = (0..1000).map(|_| random_name()).collect();
    assert_eq!(names.len(), 1000);
    assert!(names.iter().all(|name| name.len() == 32));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_made_in_one_that_is_there_is_an_error() {
    for path in ["/proc/x", "/proc/x/y"] {
        let error = Folder::open_or_make(Path::new(path), Durability::Lazy).unwrap_err();
        let refused = error.path.as_deref();
        assert_eq!(refused, Some(Path::new("/proc/x")));
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;

    fn why<T: fmt::Debug>(result: io::Result<T>) -> Option<NotPlain> {
        NotPlain::of(&result.unwrap_err())
    }

    #[test]
    fn links_are_named_as_such_wherever_they_lead() {
        let dir = tempdir().unwrap();
        let far = tempdir().unwrap();
        fs::write(far.path().join("file"), "theirs").unwrap();
        for (link, to) in [
            ("folder", far.path().to_owned()),
            ("file", far.path().join("file")),
            ("dangling", far.path().join("nothing")),
            ("loop", PathBuf::from("loop")),
        ] {
            symlink(to, dir.path().join(link)).unwrap();
        }
        let folder = Folder::open(dir.path()).unwrap();
        for link in ["folder", "file", "dangling", "loop"] {
            let here = name(link);
            assert_eq!(why(folder.below(Path::new(link))), Some(NotPlain::Link));
            assert_eq!(why(folder.read(here)), Some(NotPlain::Link), "{link}");
            assert_eq!(why(folder.append(here)), Some(NotPlain::Link), "{link}");
            assert_eq!(why(folder.open_lock(here)), Some(NotPlain::Link), "{link}");
            let error = folder.create(here, Access::Default).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{link}");
            let made = folder.below_or_make(Path::new(link), Access::Private, Durability::Lazy);
            let error = made.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Store, "{link}");
            assert_eq!(error.path, Some(dir.path().join(link)));
            assert!(error.message.contains("it is a link"), "{error}");
            assert!(folder.look(here).unwrap().unwrap().is_symlink());
        }
        assert_eq!(fs::read_dir(far.path()).unwrap().count(), 1);
    }

    #[test]
    fn pipes_and_devices_are_neither_opened_nor_waited_for() {
        let dir = tempdir().unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(dir.path().join("pipe"))
            .status();
        if !made.is_ok_and(|status| status.success()) {
            return;
        }
        let folder = Folder::open(dir.path()).unwrap();
        assert_eq!(why(folder.read(name("pipe"))), Some(NotPlain::NoFile));
        assert_eq!(why(folder.append(name("pipe"))), Some(NotPlain::NoFile));
        assert_eq!(why(folder.open_lock(name("pipe"))), Some(NotPlain::NoFile));
        assert_eq!(
            why(folder.below(Path::new("pipe"))),
            Some(NotPlain::NoFolder)
        );
        let devices = Folder::open(Path::new("/dev")).unwrap();
        assert_eq!(why(devices.read(name("zero"))), Some(NotPlain::NoFile));
    }

    #[test]
    fn a_path_is_split_as_the_standard_library_does() {
        let parts = ["", ".", "..", "a", ".b", "c.d", "\u{e4}"];
        let mut paths: Vec<String> = parts.map(str::to_owned).to_vec();
        for _ in 0..3 {
            let longer = paths
                .iter()
                .flat_map(|path| parts.map(|part| format!("{path}/{part}")));
            paths.extend(longer.collect::<Vec<_>>());
        }
        for path in &paths {
            let path = Path::new(path);
            let expected = path.file_name().map(|name| (folder_of(path), name));
            let same = split(path).map(|(folder, name)| (folder.as_os_str(), name));
            assert_eq!(
                same,
                expected.map(|(folder, name)| (folder.as_os_str(), name)),
                "{path:?}"
            );
        }
        assert!(system::split(Path::new("a/b")).is_some());
    }

    #[test]
    fn what_is_below_a_folder_is_what_the_standard_library_says() {
        let parts = ["", ".", "..", "a", ".b", "\u{e4}"];
        let mut paths: Vec<String> = parts.map(str::to_owned).to_vec();
        for _ in 0..2 {
            let longer = paths
                .iter()
                .flat_map(|path| parts.map(|part| format!("{path}/{part}")));
            paths.extend(longer.collect::<Vec<_>>());
        }
        for (path, folder) in paths.iter().flat_map(|p| paths.iter().map(move |f| (p, f))) {
            let [path, folder] = [path, folder].map(Path::new);
            let rest = |below: Option<&Path>| below.map(|below| below.as_os_str().to_owned());
            let expected = path.strip_prefix(folder).ok();
            assert_eq!(
                rest(below(path, folder)),
                rest(expected),
                "{path:?} {folder:?}"
            );
        }
        assert!(system::below(Path::new("a/b"), Path::new("a")).is_some());
    }

    #[test]
    fn a_file_of_several_names_is_no_lock() {
        let dir = tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        fs::write(dir.path().join("one"), "").unwrap();
        folder.open_lock(name("one")).unwrap();
        fs::hard_link(dir.path().join("one"), dir.path().join("two")).unwrap();
        assert_eq!(why(folder.open_lock(name("one"))), Some(NotPlain::Names(2)));
    }

    #[test]
    fn a_resolved_way_has_no_link_left_on_it() {
        let dir = tempdir().unwrap();
        let plain = dir.path().canonicalize().unwrap();
        fs::create_dir_all(plain.join("real/below")).unwrap();
        symlink("real", plain.join("link")).unwrap();
        Folder::open_resolved(&plain.join("real/below")).unwrap();
        Folder::open(&plain.join("link/below")).unwrap();
        #[cfg(target_os = "linux")]
        Folder::open_resolved(&plain.join("link/below")).unwrap_err();
        Folder::open_resolved(&plain.join("link")).unwrap_err();
    }

    /// The folder that was opened is the one that is written to, whatever its name leads to meanwhile.
    #[test]
    fn an_open_folder_does_not_change_with_its_name() {
        let dir = tempdir().unwrap();
        let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
        fs::create_dir(&ours).unwrap();
        fs::create_dir(&theirs).unwrap();
        let folder = Folder::open(&ours).unwrap();
        fs::rename(&ours, dir.path().join("moved")).unwrap();
        symlink(&theirs, &ours).unwrap();
        folder.create(name("file"), Access::Default).unwrap();
        folder.rename(name("file"), name("new")).unwrap();
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
        assert!(dir.path().join("moved/new").exists());
    }
}
