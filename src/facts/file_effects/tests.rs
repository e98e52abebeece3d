//! Commands as they occur in sessions, and what they do to files.

use super::*;

#[test]
fn signs_of_patterns_that_do_not_end_are_read_once() {
    for signs in ["[", "{"] {
        let pattern = place::Pattern::written(&signs.repeat(1_000_000), place::By::Shell);
        assert!(pattern.fits(&signs.repeat(10)), "{signs}");
        assert!(changes(&format!("rm {}", signs.repeat(1_000_000)), None).is_some());
    }
}

/// What a script does, in words; `?` marks uncertain changes.
fn of(text: &str) -> Vec<String> {
    let place = |place: &PathSpec| match place {
        PathSpec::At(path) => path.clone(),
        PathSpec::Like { folder, .. } => format!("in {}", folder.as_deref().unwrap_or("any")),
    };
    let scope = |scope: &Scope| match scope {
        Scope::Paths(at) => place(at),
        Scope::PathsOrBranch(at) => format!("perhaps {}", place(at)),
        Scope::Repository(folder) => format!("all of {}", folder.as_deref().unwrap_or("any")),
    };
    let target = |to: &Target| to.path.clone();
    let words = |change: &Change| {
        let what = match &change.what {
            What::Delete(at) => format!("rm {}", place(at)),
            What::Move { from, to } => {
                let to = to.as_ref().map_or("somewhere".to_owned(), target);
                format!("mv {} > {to}", place(from))
            }
            What::Replace(to) => format!("cp {}", target(to)),
            What::Again { place: at, how } => match how {
                How::Written => format!("write {}", place(at)),
                How::Possibly => format!("make {}", place(at)),
            },
            What::Revert(of) => format!("revert {}", scope(of)),
            What::Stash(of) => format!("stash {}", scope(of)),
            What::Unstash(entry) => format!("unstash {entry:?}"),
            What::Drop(entry) => format!("drop {entry:?}"),
            What::Clean(at) => format!("clean {}", place(at)),
            What::Merge(_) => "merge".to_owned(),
            What::Switch { .. } => "switch".to_owned(),
        };
        match change.sure {
            Sure::Yes => what,
            Sure::No => format!("?{what}"),
        }
    };
    let changes = changes(text, None).map(|changes| changes.all);
    changes.iter().flatten().map(words).collect()
}

#[test]
fn what_is_made_again_in_the_same_text_is_seen() {
    for (text, expected) in [
        ("rm -f a && cat > a <<'E'\nx\nE", vec!["rm a", "write a"]),
        ("cat > a; rm a", vec!["rm a"]),
        (
            "mv a a.bak && sed s/x/y/ a.bak > a",
            vec!["mv a > a.bak", "write a"],
        ),
        ("rm a; make || echo no > a", vec!["?rm a", "?write a"]),
        (
            "rm -rf d && git clone https://h/x/y.git d",
            vec!["rm d", "?make d"],
        ),
        (
            "rm -rf y && git clone https://h/x/y.git",
            vec!["rm y", "?make y"],
        ),
        ("rm -rf d && tar xf t.tgz -C d", vec!["rm d", "?make d"]),
        (
            "rm -rf d && mkdir d && cp /t/c d/c",
            vec!["rm d", "cp d/c", "?make d/c"],
        ),
        ("rm a && git add a && git commit -m a", vec!["rm a"]),
        ("rm a && ls a", vec!["rm a"]),
        ("rm t/old.py && pytest t/", vec!["rm t/old.py"]),
        ("rm src/a.rs && ruff check src/", vec!["rm src/a.rs"]),
        ("rm w/a.py && python -m mypy w", vec!["rm w/a.py"]),
        ("rm d/x && sed -n 1,5p d/", vec!["rm d/x"]),
        ("rm d/x && bash -c 'cat d/y' d", vec!["rm d/x"]),
        ("rm d/x && timeout 9 mk d", vec!["rm d/x", "?make d"]),
        ("rm d/x && ruff check --fix d", vec!["rm d/x", "?make d"]),
        ("rm -rf b && cmake -S . -B b", vec!["rm b", "?make b"]),
        ("rm a && touch a", vec!["rm a", "?make a"]),
        ("rm a && cc b.c -o a", vec!["rm a", "?make a"]),
        ("rm a && gcc b.c -o a", vec!["rm a", "?make a"]),
        ("rm a && cat > b", vec!["rm a"]),
        ("cd d && rm a && x > a", vec!["rm d/a", "write d/a"]),
        // Into a folder, though it does not end with a slash.
        ("cd d && mv ../s/q .", vec!["mv d/../s/q > d/q"]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn plain_commands_change_files() {
    for (text, expected) in [
        ("rm a", vec!["rm a"]),
        ("rm -rf 'a b' \"c\"", vec!["rm a b", "rm c"]),
        ("rm -f a 2>/dev/null", vec!["rm a"]),
        ("rm a >/dev/null 2>&1", vec!["rm a"]),
        ("rm a &> /dev/null", vec!["rm a"]),
        ("rm \\\n  a \\\n  b", vec!["rm a", "rm b"]),
        ("rm -- -a", vec!["rm -a"]),
        ("cd /w && rm a && git rm -q b", vec!["rm /w/a", "rm /w/b"]),
        ("make; unlink a", vec!["rm a"]),
        ("sudo -u me rm a", vec!["rm a"]),
        ("command rm a", vec!["rm a"]),
        ("/bin/rm a", vec!["rm a"]),
        ("\\rm a", vec!["rm a"]),
        ("time rm a", vec!["rm a"]),
        ("env -u Z X=1 rm a", vec!["rm a"]),
        ("X=1 timeout -k 1 5 rm a", vec!["rm a"]),
        ("( rm a )", vec!["rm a"]),
        ("{ rm a; }", vec!["rm a"]),
        ("set -e; rm a\nls", vec!["rm a"]),
        ("bash -c \"rm a && ls\"", vec!["rm a"]),
        ("bash <<'E'\nrm a\nE", vec!["rm a"]),
        (
            "D=/w/x && rm \"$D/a\" ${D}/b",
            vec!["rm /w/x/a", "rm /w/x/b"],
        ),
        ("rm a && make | tail", vec!["rm a"]),
        ("rm a;", vec!["rm a"]),
        ("mv a b", vec!["mv a > b"]),
        ("git mv x/a b/ 2>&1", vec!["mv x/a > b/a"]),
        ("mv a x/b c", vec!["mv a > c/a", "mv x/b > c/b"]),
        ("mv -t c a x/b", vec!["mv a > c/a", "mv x/b > c/b"]),
        ("mv --target-directory=c a", vec!["mv a > c/a"]),
        ("git -C x mv a b", vec!["mv x/a > x/b"]),
        ("cp a b", vec!["cp b"]),
        ("Remove-Item -Force a", vec!["rm a"]),
        ("trash a", vec!["rm a"]),
        ("shred -u a", vec!["rm a"]),
        ("git worktree remove --force ../x", vec!["rm ../x"]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn what_may_not_have_run_or_may_mean_other_files_is_not_sure() {
    for (text, expected) in [
        ("rm a || true", vec!["?rm a"]),
        ("rm a; ls", vec!["?rm a"]),
        ("rm a\nls", vec!["?rm a"]),
        ("rm a | cat", vec!["?rm a"]),
        ("rm a &", vec!["?rm a"]),
        ("! rm a", vec!["?rm a"]),
        ("if x; then rm a; fi", vec!["?rm a"]),
        ("exit 0; rm a", vec!["?rm a"]),
        ("echo $(rm a)", vec!["?rm a"]),
        ("(rm a; ls) && ls", vec!["?rm a"]),
        ("(rm a && ls) | cat", vec!["?rm a"]),
        ("cd x; rm a", vec!["?rm x/a"]),
        ("cd x; rm /w/a", vec!["rm /w/a"]),
        ("cd $X && rm abc", vec!["?rm in any"]),
        ("(cd x && rm a); rm b", vec!["?rm x/a", "rm b"]),
        ("rm gone*.py", vec!["?rm in "]),
        ("rm src/{a,b}.py", vec!["rm src/a.py", "rm src/b.py"]),
        ("rm src/{1..3}.py", vec!["?rm in src"]),
        ("rm -i a", vec!["?rm a"]),
        ("rm \"$D\"/gone.py", vec!["?rm in any"]),
        ("for f in a b; do rm $f; done", vec!["?rm a", "?rm b"]),
        ("mv -n a b", vec!["?mv a > b"]),
        ("mv a $D", vec!["?mv a > somewhere"]),
        ("mv *.py lib/", vec!["?mv in  > somewhere"]),
        ("find x -name '*.o' -delete", vec!["?rm in x", "?rm in x"]),
        (
            "find . -type f -exec rm -f {} +",
            vec!["?rm in .", "?rm in ."],
        ),
        (
            "find x -name a.o | xargs rm -f",
            vec!["?rm x/a.o", "?rm in x"],
        ),
        ("echo a b | xargs -n 1 rm", vec!["?rm a", "?rm b"]),
        ("xargs rm < list", vec!["?rm in "]),
        ("rm $F", vec!["?rm in any"]),
        ("rm \"$(ls -t | head -1)\"", vec!["?rm in any"]),
        ("F=$(mktemp); rm $F", vec![]),
        (
            "find x | while read -r f; do rm \"$f\"; done",
            vec!["?rm in x", "?rm in x"],
        ),
    ] {
        let found = of(text);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn other_commands_do_nothing() {
    for text in [
        "",
        "ls",
        "rm",
        "echo rm a",
        "echo 'x; rm a'",
        "rm --help",
        "cat > s.sh <<'E'\nrm a\nE",
        "git rm --cached a",
        "git rm -n a",
        "git mv --dry-run a b",
        "git commit -m 'rm a'",
        "docker rm a",
        "command -v rm a",
        "which rm a",
        "ssh host 'rm a'",
        "grep 'rm",
        "echo a\\; rm b",
        "find . -name a",
        "Remove-Item a -WhatIf",
        "python3 -c 'print(\"rm a\")'",
        "# rm a",
    ] {
        assert_eq!(of(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn git_takes_back_what_its_words_say() {
    for (text, expected) in [
        ("git checkout -- a x/b", vec!["revert a", "revert x/b"]),
        ("git checkout HEAD~1 -- a", vec!["revert a"]),
        ("git -C x checkout -q -- a", vec!["revert x/a"]),
        ("git checkout .", vec!["revert ."]),
        ("git checkout a", vec!["revert perhaps a", "?switch"]),
        ("git checkout a.py", vec!["revert perhaps a.py"]),
        ("git checkout v1.2", vec!["revert perhaps v1.2", "?switch"]),
        ("git checkout -B a b", vec!["?switch"]),
        ("git switch main", vec!["?switch"]),
        ("git show HEAD:a > a", vec!["revert a"]),
        ("git show HEAD~1:a > a", vec!["?revert a"]),
        ("git show HEAD:a > b", vec!["cp b"]),
        ("git apply -R x", vec!["?revert all of "]),
        ("git pull", vec!["?merge"]),
        ("git checkout -p -- a", vec!["?revert a"]),
        ("git checkout -- '*.py'", vec!["?revert in "]),
        ("git checkout -f main", vec!["?revert all of "]),
        ("git restore a", vec!["revert a"]),
        ("git restore --source HEAD~2 a", vec!["revert a"]),
        ("git restore -s X --staged --worktree .", vec!["revert ."]),
        ("git restore -SW a", vec!["revert a"]),
        ("git restore :/", vec!["?revert all of "]),
        ("git switch -f main", vec!["?revert all of "]),
        ("cd x && git reset --hard HEAD~1", vec!["revert all of x"]),
        ("git stash", vec!["stash all of "]),
        ("git stash -u -m 'x y'", vec!["stash all of "]),
        ("git stash push -m x -- a", vec!["stash a"]),
        (
            "git stash && make; git stash pop",
            vec!["?stash all of ", "unstash Last"],
        ),
        ("git stash apply stash@{2}", vec!["unstash Some"]),
        ("git stash drop", vec!["drop Last"]),
        ("git clean -fdx", vec!["?clean in "]),
        ("git clean -fd x", vec!["?clean x"]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
    for text in [
        "git checkout -b new",
        "git switch -c new",
        "git restore --staged a",
        "git restore -S a",
        "git reset HEAD a",
        "git reset --soft HEAD~1",
        "git stash list",
        "git stash show -p",
        "git clean -nfd",
        "git clean -fd --dry-run",
        "git clean -d",
        "git checkout --help",
        "echo git stash",
        "git commit -m 'git reset --hard'",
        "git log -- a",
    ] {
        assert_eq!(of(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_pattern_fits_paths_and_what_is_in_folders_that_fit() {
    let fits = |pattern: &str, path: &str| Pattern::written(pattern, By::Shell).fits(path);
    for (pattern, path) in [
        ("a*.py", "a1.py"),
        ("a?", "ab"),
        ("*/x", "y/x"),
        ("build*", "build1/x/y"),
        ("**/x", "a/b/x"),
        ("a[0-9].py", "a1.py"),
        ("{a,b}.py", "b.py"),
    ] {
        assert!(fits(pattern, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        ("a*.py", "b1.py"),
        ("*.py", "x/a.py"),
        ("a", "ab"),
        ("a?", "a"),
    ] {
        assert!(!fits(pattern, path), "{pattern} {path}");
    }
}

#[test]
fn a_hostile_text_takes_little() {
    let doubled = format!("A=aaaaaaaa;{}rm $A", "A=$A$A;".repeat(40));
    assert_eq!(of(&doubled), ["?rm in "]);
    let long = "a".repeat(40_000);
    let deep = format!(
        "cd {long}; {}rm x{}",
        "( ".repeat(30_000),
        " )".repeat(30_000)
    );
    assert_eq!(of(&deep), [""; 0]);
    let far = format!("{}rm x", "cd a;".repeat(50_000));
    assert_eq!(of(&far), ["?rm in any"]);
}

#[test]
fn a_search_is_not_multiplied_out() {
    let starts = "a ".repeat(1_000);
    let names = ["-name b"; 1_000].join(" -o ");
    let found = of(&format!("find {starts} {names} -delete"));
    assert_eq!(found.len(), 2_000);
    let given = of(&format!("echo {starts} {}", "| xargs rm ".repeat(1_000)));
    assert_eq!(given, vec!["?rm in "; 1_000]);
}

#[test]
fn a_text_that_removes_very_much_takes_little() {
    let removals: String = (0..50_000).map(|n| format!("rm f{n}\n")).collect();
    let others: String = (0..50_000).map(|n| format!("mk g{n} x\n")).collect();
    let found = of(&format!("{removals}{others}mk f7 > f49999"));
    assert_eq!(found[50_000..], ["write f49999", "?make f7"]);
}

#[test]
fn an_empty_word_means_no_folder() {
    assert_eq!(of("rm -f \"\""), [""; 0]);
    assert_eq!(of("OUT=\"\"; rm -f \"$OUT\""), [""; 0]);
}
