//! A file keeps its attributes when it is compacted in place and undone, or a warning says what is lost.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};

use super::harness::{Place, sample};

/// The user 1234 may read, the mask allows it: `setfacl -m u:1234:r`.
const ACL: &[u8] = b"\x02\0\0\0\
    \x01\0\x06\0\xff\xff\xff\xff\
    \x02\0\x04\0\xd2\x04\0\0\
    \x04\0\0\0\xff\xff\xff\xff\
    \x10\0\x04\0\xff\xff\xff\xff\
    \x20\0\0\0\xff\xff\xff\xff";
const ACCESS: &str = "system.posix_acl_access";
const INHERITED: &str = "system.posix_acl_default";

fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    setxattr(path, name, value, XattrFlags::empty()).is_ok()
}

/// Everything about a file but its bytes and its place.
fn state(path: &Path) -> (u32, u32, u32, BTreeMap<String, Vec<u8>>) {
    use std::os::unix::fs::MetadataExt;
    let mut list = vec![0; 4096];
    let length = listxattr(path, &mut list[..]).unwrap();
    let names = list[..length]
        .split(|&b| b == 0)
        .filter(|name| !name.is_empty());
    let attribute = |name: &[u8]| {
        let name = String::from_utf8(name.to_vec()).unwrap();
        let mut value = vec![0; 70_000];
        let length = getxattr(path, name.as_str(), &mut value[..]).unwrap();
        value.truncate(length);
        (name, value)
    };
    let seen = fs::metadata(path).unwrap();
    (
        seen.mode(),
        seen.uid(),
        seen.gid(),
        names.map(attribute).collect(),
    )
}

/// Compacts in place and takes it back; the file's state stays what it is.
#[track_caller]
fn stays(place: &Place, name: &str) {
    let (before, after) = sample();
    let seen = state(&place.path(name));
    place
        .run(&format!("compact --in-place {name} --no-report"))
        .exits(0)
        .says(&["1 compacted"]);
    assert_eq!(place.text(name), after);
    assert_eq!(state(&place.path(name)), seen, "in place");
    place.run(&format!("undo {name}")).exits(0);
    assert_eq!(place.text(name), before);
    assert_eq!(state(&place.path(name)), seen, "undo");
}

#[test]
fn attributes_and_access_lists_stay() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    let path = place.path("in.jsonl");
    let large = vec![b'x'; 2000];
    let attributes: [(&str, &[u8]); 5] = [
        ("user.origin", b"https://example.org/\n"),
        ("user.empty", b""),
        ("user.large", &large),
        (ACCESS, ACL),
        // Root's alone, as labels are.
        ("security.test", b"label"),
    ];
    let given = attributes.map(|(name, value)| set(&path, name, value));
    if !given[0] {
        return;
    }
    assert!(state(&path).3.len() >= 3);
    stays(&place, "in.jsonl");
}

#[test]
fn a_file_without_an_access_list_gets_none_from_its_folder() {
    let place = Place::with(&[("in/a.jsonl", sample().0)]);
    if !set(&place.path("in"), INHERITED, ACL) {
        return;
    }
    File::create(place.path("in/new")).unwrap();
    assert!(state(&place.path("in/new")).3.contains_key(ACCESS));
    assert!(state(&place.path("in/a.jsonl")).3.is_empty());
    stays(&place, "in/a.jsonl");
}

/// The bits of the group are the mask where there is a list; without it they would let the group in.
#[test]
fn an_output_beside_its_input_is_not_more_open() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    if !set(&place.path("in.jsonl"), ACCESS, ACL) {
        return;
    }
    let (mode, ..) = state(&place.path("in.jsonl"));
    assert_eq!(mode & 0o777, 0o640);
    place.run("compact in.jsonl --no-report").exits(0);
    let (mode, _, _, attributes) = state(&place.path("in.compact.jsonl"));
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(attributes.get(ACCESS).map(Vec::as_slice), Some(ACL));
}

#[test]
fn what_lends_rights_is_not_handed_on() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    // CAP_NET_RAW, permitted and effective.
    let capability = b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    if !set(&place.path("in.jsonl"), "security.capability", capability) {
        return;
    }
    place
        .run("compact --in-place in.jsonl --no-report")
        .exits(0);
    assert!(state(&place.path("in.jsonl")).3.is_empty());
}

#[test]
fn what_cannot_be_kept_is_said() {
    let place = Place::with(&[("in/a.jsonl", sample().0), ("in/b.jsonl", sample().0)]);
    for name in ["in/a.jsonl", "in/b.jsonl"] {
        let path = place.path(name);
        if !set(&path, "security.test", b"label") || !set(&path, "user.mine", b"kept") {
            return;
        }
    }
    // Anybody else may neither set such a label nor give a file away.
    let open = "chmod 777 . in && chmod 666 in/*.jsonl && chown 4321:4321 in/*.jsonl";
    let as_other = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    if place.shell(&format!("{open} && {as_other} true")).code != Some(0) {
        return;
    }
    let lost = "some attributes of the file could not be kept: its owner, its group, security.test";
    place
        .shell(&format!(
            "{as_other} \"$CTXPACK\" compact --in-place in --report r.json"
        ))
        .exits(0)
        .says(&[&format!("2 files: warning: {lost}"), "2 compacted"]);
    let warning = &place.json("r.json")["files"][0]["warnings"][0];
    assert_eq!(warning["kind"], "attributes_lost");
    assert_eq!(warning["message"], lost);
    let (.., attributes) = state(&place.path("in/a.jsonl"));
    assert_eq!(attributes.keys().collect::<Vec<_>>(), ["user.mine"]);
    set(&place.path("in/a.jsonl"), "security.test", b"label");
    place
        .shell(&format!("{as_other} \"$CTXPACK\" undo in/a.jsonl"))
        .exits(0)
        .says(&[
            "bytes restored; warning: some attributes of the file",
            "security.test",
        ]);
    assert_eq!(place.text("in/a.jsonl"), sample().0);
}
