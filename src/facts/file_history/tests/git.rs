//! What remains of a file after what git did.

use super::*;

#[test]
fn git_takes_back_an_edit() {
    let revert = |done| (FileAction::Revert, done);
    for command in [
        "git checkout -- src/a.rs",
        "git checkout src/a.rs",
        "git checkout HEAD -- src/a.rs && make",
        "git restore src/a.rs",
        "cd src && git restore a.rs",
    ] {
        assert_eq!(after(&[(command, FINE)]), revert(Done::Yes), "{command}");
    }
    for command in [
        "git checkout .",
        "git checkout -- src",
        "git restore src",
        "git restore '*.rs'",
        "git reset --hard HEAD~1",
        "git restore src/a.rs; ls",
    ] {
        assert_eq!(
            after(&[(command, FINE)]),
            revert(Done::Unclear),
            "{command}"
        );
    }
    // What git has recorded is not reverted.
    let recorded = [
        ("git commit -am x", FINE),
        ("git checkout -- src/a.rs", FINE),
    ];
    assert_eq!(after(&recorded), revert(Done::Unclear));
    // A deleted file exists again.
    let back = [("rm src/a.rs", FINE), ("git checkout -- src/a.rs", FINE)];
    assert_eq!(after(&back), revert(Done::Yes));
    let gone_again = [back[0], back[1], ("rm src/a.rs", FINE)];
    assert_eq!(after(&gone_again), (FileAction::Delete, Done::Yes));
}

#[test]
fn a_stash_keeps_an_edit_until_it_is_put_back() {
    let stash = ("git stash", FINE);
    assert_eq!(after(&[stash]), (FileAction::Stash, Done::Unclear));
    assert_eq!(
        after(&[stash, ("git stash pop", FINE)]),
        (FileAction::Edit, Done::Yes)
    );
    assert_eq!(
        after(&[stash, ("git stash apply", FINE)]),
        (FileAction::Edit, Done::Yes)
    );
    let unclear = (FileAction::Unstash, Done::Unclear);
    let conflict = ResultText::Failed("Exit code 1\nCONFLICT (content)");
    assert_eq!(after(&[stash, ("git stash pop", conflict)]), unclear);
    assert_eq!(after(&[stash, ("git stash pop | cat", FINE)]), unclear);
    let dropped = after(&[stash, ("git stash drop", FINE)]);
    assert_eq!(dropped, (FileAction::Revert, Done::Unclear));
    // Not the entry with the edit.
    let other = [
        stash,
        ("git stash push lib/b.rs", FINE),
        ("git stash pop", FINE),
    ];
    assert_eq!(after(&other), (FileAction::Stash, Done::Unclear));
}

#[test]
fn files_that_git_does_not_know_may_be_cleaned_away() {
    let of_new = |said| last_of("src/new.rs", &[("git clean -fdx", ResultText::Fine(said))]);
    assert_eq!(of_new("Removing src/"), (FileAction::Delete, Done::Unclear));
    assert_eq!(of_new("Removing target/"), (FileAction::Write, Done::Yes));
    assert_eq!(
        of_new("[output cleared]"),
        (FileAction::Delete, Done::Unclear)
    );
}

#[test]
fn what_git_brings_may_be_there_again() {
    let removed = ("rm src/a.rs && git commit -am x", FINE);
    let unclear = (FileAction::Delete, Done::Unclear);
    for command in [
        "git pull",
        "git pull --rebase origin main",
        "git merge other",
        "git checkout main",
        "git checkout -b new origin/main",
        "git switch main",
        "git switch -c new origin/main",
        "git cherry-pick abc",
        "git apply x.patch",
    ] {
        assert_eq!(after(&[removed, (command, FINE)]), unclear, "{command}");
    }
    for command in [
        "git checkout -b new",
        "git switch -c new",
        "git status",
        "git fetch",
    ] {
        let gone = (FileAction::Delete, Done::Yes);
        assert_eq!(after(&[removed, (command, FINE)]), gone, "{command}");
    }
    // What was recorded on one branch is not on another.
    let new = [
        ("git add . && git commit -m x", FINE),
        ("git checkout main", FINE),
    ];
    assert_eq!(
        last_of("src/new.rs", &new),
        (FileAction::Revert, Done::Unclear)
    );
    let reverted = after(&[removed, ("git revert HEAD", FINE)]);
    assert_eq!(reverted, (FileAction::Revert, Done::Unclear));
    // A removal behind that is one again.
    let again = [removed, ("git pull", FINE), ("rm src/a.rs", FINE)];
    assert_eq!(after(&again), (FileAction::Delete, Done::Yes));
}
