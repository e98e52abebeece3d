//! Which words of paths and of users may be about a file.

use super::*;

#[test]
fn a_path_may_be_that_of_a_file() {
    for (touched, path) in [
        ("a.py", "/w/src/a.py"),
        ("src/a.py", "/w/src/a.py"),
        ("./src/a.py", "/w/src/a.py"),
        ("/w/src/a.py", "/w/src/a.py"),
        ("/w/src/a.py", "src/a.py"),
        ("~/w/a.py", "/home/me/w/a.py"),
        ("src", "/w/src/a.py"),
        ("/w", "/w/src/a.py"),
        ("../b", "/w/src/a.py"),
        (".", "/w/src/a.py"),
    ] {
        assert!(may_be(touched, path), "{touched} {path}");
    }
    for (touched, path) in [
        ("b.py", "/w/src/a.py"),
        ("xa.py", "/w/src/a.py"),
        ("lib", "/w/src/a.py"),
        ("/w/lib", "/w/src/a.py"),
        ("/tmp/a.py", "/w/src/a.py"),
        ("/dev/null", "/w/src/a.py"),
    ] {
        assert!(!may_be(touched, path), "{touched} {path}");
    }
}

#[test]
fn a_user_tells_of_a_change() {
    assert!(tells_of_a_change(
        "I deleted src/p.py, do not recreate it",
        "p.py"
    ));
    assert!(tells_of_a_change("x\n我把 p.py 删了", "p.py"));
    assert!(!tells_of_a_change("look at p.py. It is slow", "p.py"));
    assert!(!tells_of_a_change("I changed q.py\np.py is fine", "p.py"));
}
