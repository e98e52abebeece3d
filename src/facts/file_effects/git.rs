//! Git commands that change files of the working tree.
//!
//! PURE. Switching branches carries unrecorded changes along, so it reverts nothing.

use super::place::{By, LONGEST, below};
use super::{Argument, Entry, Folder, PathSpec, Pattern, Scope, ShellWalk, Sure, Target, What};
use crate::facts::script::SimpleCommand;

impl ShellWalk<'_> {
    /// Follows a git command.
    pub(super) fn git(&mut self, arguments: &[Argument<'_>], of: &SimpleCommand, sure: Sure) {
        // Where its output goes is seen from the folder of the shell.
        self.show(arguments, of, sure);
        let mut folder = self.folder().clone();
        let mut words = arguments;
        while let [flag, rest @ ..] = words {
            words = match (flag.text(), rest) {
                ("-C", [to, rest @ ..]) => {
                    let to = to.literal();
                    folder.at = match (folder.at, to) {
                        (Some(at), Some(to)) => Some(below(&at, to)),
                        (None, Some(to)) if to.starts_with(['/', '~']) => Some(to.to_owned()),
                        (_, _) => None,
                    };
                    folder.at = folder.at.filter(|at| at.len() <= LONGEST);
                    rest
                }
                ("-c", [_, rest @ ..]) => rest,
                ("--work-tree" | "--git-dir", [_, rest @ ..]) => {
                    folder.at = None;
                    rest
                }
                (text, _) if text.starts_with("--work-tree=") || text.starts_with("--git-dir=") => {
                    folder.at = None;
                    rest
                }
                (text, _) if text.starts_with('-') => rest,
                _ => break,
            };
        }
        self.folders.push(folder);
        self.subcommand(words, sure);
        self.folders.pop();
    }

    /// Follows `git show COMMIT:PATH > FILE`.
    fn show(&mut self, arguments: &[Argument<'_>], of: &SimpleCommand, sure: Sure) {
        let ([name, rest @ ..], [output]) = (arguments, &of.outputs[..]) else {
            return;
        };
        if !matches!(name.text(), "show" | "cat-file") {
            return;
        }
        let named = rest.iter().find_map(|word| word.text().split_once(':'));
        let Some((commit, path)) = named else {
            return;
        };
        let path = path.trim_start_matches("./");
        for (place, its) in self.places(&[Argument::Word(output)], By::Shell) {
            let PathSpec::At(to) = &place else {
                continue;
            };
            // The path is seen from the root of the repository.
            let to = to.trim_start_matches("./");
            let is_its_own = to == path
                || to.ends_with(&format!("/{path}"))
                || path.ends_with(&format!("/{to}"));
            let sure = sure.and(its);
            match (is_its_own, commit) {
                (true, "HEAD" | "@" | "") => self.push(What::Revert(Scope::Paths(place)), sure),
                (true, _) => self.push(What::Revert(Scope::Paths(place)), Sure::No),
                (false, _) => {
                    let path = to.to_owned();
                    self.push(What::Replace(Target { path, name: None }), sure);
                }
            }
        }
    }

    fn subcommand(&mut self, words: &[Argument<'_>], sure: Sure) {
        let Some((name, arguments)) = words.split_first() else {
            return;
        };
        let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.text()));
        if has(&["--help", "-h", "--dry-run"]) {
            return;
        }
        // Git asks about each part.
        let sure = match has(&["-p", "--patch", "-i", "--interactive", "--ours", "--theirs"]) {
            true => Sure::No,
            false => sure,
        };
        let repository = |folder: &Folder| Scope::Repository(folder.at.clone());
        match name.text() {
            verb @ ("rm" | "mv") => self.verb(verb, arguments, By::Program, sure),
            "checkout" => self.checkout(arguments, sure),
            "restore" => {
                let is_index = has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]);
                if !is_index {
                    let paths = without_flags(arguments, &["-s", "--source"]);
                    self.revert(&paths, Scope::Paths, sure);
                }
            }
            "switch" if has(&["-f", "--force", "--discard-changes"]) => {
                self.push(What::Revert(repository(self.folder())), Sure::No);
            }
            "switch" => {
                let names = without_flags(arguments, &[]);
                let is_new = has(&["-c", "-C", "--create", "--force-create"]) && names.len() < 2;
                if !is_new && !has(&["--orphan"]) {
                    let from = repository(self.folder());
                    self.push(What::Switch { from, unless: None }, Sure::No);
                }
            }
            "apply" if !has(&["--check", "--stat", "--numstat", "--summary", "--cached"]) => {
                let scope = repository(self.folder());
                let what = match has(&["-R", "--reverse"]) {
                    true => What::Revert(scope),
                    false => What::Merge(scope),
                };
                self.push(what, Sure::No);
            }
            "revert" => {
                self.push(What::Merge(repository(self.folder())), Sure::No);
                self.push(What::Revert(repository(self.folder())), Sure::No);
            }
            "pull" | "merge" | "rebase" | "cherry-pick" | "am" => {
                self.push(What::Merge(repository(self.folder())), Sure::No);
            }
            "reset" if has(&["--hard", "--merge", "--keep"]) => {
                self.push(What::Revert(repository(self.folder())), sure);
            }
            "stash" => self.stash(arguments, sure),
            "clean" => {
                let is_short = |text: &str| text.starts_with('-') && !text.starts_with("--");
                let letters = |letter: char| {
                    let mut texts = arguments.iter().map(Argument::text);
                    texts.any(|text| is_short(text) && text.contains(letter))
                };
                if letters('n') || !letters('f') && !has(&["--force"]) {
                    return;
                }
                let paths = without_flags(arguments, &["-e", "--exclude"]);
                if paths.is_empty() {
                    let place = PathSpec::Like {
                        folder: self.folder().at.clone(),
                        pattern: Pattern::any(),
                    };
                    return self.push(What::Clean(place), Sure::No);
                }
                for (place, _) in self.places(&paths, By::Program) {
                    self.push(What::Clean(place), Sure::No);
                }
            }
            "worktree"
                if arguments
                    .first()
                    .is_some_and(|word| word.text() == "remove") =>
            {
                let paths = without_flags(&arguments[1..], &[]);
                for (place, its) in self.places(&paths, By::Shell) {
                    self.push(What::Delete(place), sure.and(its));
                }
            }
            _ => {}
        }
    }

    fn checkout(&mut self, arguments: &[Argument<'_>], sure: Sure) {
        /// Flags for switching to another commit.
        const GOES: [&str; 9] = [
            "-b", "-B", "--orphan", "-d", "--detach", "-t", "--track", "-l", "--guess",
        ];
        let mut texts = arguments.iter().map(Argument::text);
        if let Some(end) = texts.clone().position(|text| text == "--") {
            return self.revert(
                &without_flags(&arguments[end + 1..], &[]),
                Scope::Paths,
                sure,
            );
        }
        let words = without_flags(arguments, &["--conflict", "--pathspec-from-file"]);
        let from = Scope::Repository(self.folder().at.clone());
        if texts.clone().any(|text| GOES.contains(&text)) {
            // A new branch begins here, unless it is said where.
            let is_new = texts.any(|text| matches!(text, "-b" | "-B" | "-l" | "--orphan"));
            if !is_new || words.len() > 1 {
                self.push(What::Switch { from, unless: None }, Sure::No);
            }
            return;
        }
        if texts.any(|text| matches!(text, "-f" | "--force")) && words.len() < 2 {
            let scope = Scope::Repository(self.folder().at.clone());
            return self.push(What::Revert(scope), Sure::No);
        }
        let only = match &words[..] {
            [only] if may_be_branch(only.text()) => Some(only.clone()),
            _ => None,
        };
        for word in words {
            let scope: fn(PathSpec) -> Scope = match word.text() {
                text if text == "." || text.starts_with(':') => Scope::Paths,
                text if text.starts_with("./") || text.ends_with('/') => Scope::Paths,
                _ => Scope::PathsOrBranch,
            };
            self.revert(&[word], scope, sure);
        }
        if let Some(branch) = only {
            let places = self.places(&[branch], By::Program).into_iter();
            let unless = places.map(|(place, _)| place).next();
            self.push(What::Switch { from, unless }, Sure::No);
        }
    }

    fn revert(&mut self, paths: &[Argument<'_>], scope: fn(PathSpec) -> Scope, sure: Sure) {
        for path in paths {
            // The path starts at the root of the repository.
            if path.text().starts_with(':') {
                let scope = Scope::Repository(self.folder().at.clone());
                self.push(What::Revert(scope), Sure::No);
                continue;
            }
            for (place, its) in self.places(std::slice::from_ref(path), By::Program) {
                self.push(What::Revert(scope(place)), sure.and(its));
            }
        }
    }

    fn stash(&mut self, arguments: &[Argument<'_>], sure: Sure) {
        let first = arguments.first().map_or("", Argument::text);
        let rest = arguments.get(1..).unwrap_or_default();
        let entry = |words: &[Argument<'_>]| {
            let named = words.iter().find(|word| !word.text().starts_with('-'));
            match named.map(Argument::text) {
                None | Some("stash@{0}" | "0") => Entry::Last,
                Some(_) => Entry::Some,
            }
        };
        let what = match first {
            "pop" | "apply" => What::Unstash(entry(rest)),
            "branch" => What::Unstash(entry(rest.get(1..).unwrap_or_default())),
            "drop" => What::Drop(entry(rest)),
            "clear" => What::Drop(Entry::All),
            "push" | "" => return self.push_stash(rest, sure),
            "save" => return self.push_stash(&[], sure),
            flag if flag.starts_with('-') => return self.push_stash(arguments, sure),
            _ => return,
        };
        self.push(what, sure);
    }

    fn push_stash(&mut self, arguments: &[Argument<'_>], sure: Sure) {
        let paths = without_flags(arguments, &["-m", "--message", "--pathspec-from-file"]);
        if paths.is_empty() {
            let scope = Scope::Repository(self.folder().at.clone());
            return self.push(What::Stash(scope), sure);
        }
        for (place, its) in self.places(&paths, By::Program) {
            self.push(What::Stash(Scope::Paths(place)), sure.and(its));
        }
    }
}

/// Whether a word may name a branch: with an ending such as files have, hardly one does.
fn may_be_branch(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_file = ending.is_some_and(|ending| ending.starts_with(|c: char| c.is_alphabetic()));
    !is_file && !text.starts_with([':', '.', '/', '~']) && !text.ends_with('/')
}

/// The words without flags and without the values of flags that take one.
fn without_flags<'w>(arguments: &[Argument<'w>], taking: &[&str]) -> Vec<Argument<'w>> {
    let mut words = arguments.iter();
    let mut others = Vec::new();
    while let Some(word) = words.next() {
        match word.text() {
            "--" => {
                others.extend(words.by_ref().cloned());
            }
            text if taking.contains(&text) => {
                words.next();
            }
            text if text.starts_with('-') => {}
            _ => others.push(word.clone()),
        }
    }
    others
}

/// Whether a command may make git record changes, so that later reverts keep them.
pub(in crate::facts) fn may_record(text: &str) -> bool {
    const WORDS: [&str; 14] = [
        " add",
        " commit",
        " stash",
        " stage",
        " merge",
        " rebase",
        " cherry-pick",
        " am ",
        " apply",
        " pull",
        " rm ",
        " mv ",
        " update-index",
        " ci",
    ];
    text.contains("commit") || text.contains("git ") && WORDS.iter().any(|word| text.contains(word))
}
