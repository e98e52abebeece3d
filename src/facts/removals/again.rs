//! Files that a text makes again after it has removed them.
//!
//! PURE. Where the output of a command goes, there is a file; what else a command makes of the paths that it is given, nobody says.
//! Looks only at what was removed by the same text.

use super::place::By;
use super::{Argument, How, Place, Sure, Walk, What, program_of};
use crate::facts::script::{Simple, Word};

/// Of more removals and more words, each may concern each.
const MOST: usize = 64;

impl Walk {
    /// Follows what a command may make of what was removed before it.
    pub(super) fn again(&mut self, command: &Simple, words: &[Word], sure: Sure) {
        let removed: Vec<String> = self
            .found
            .iter()
            .filter_map(|change| removed(&change.what))
            .collect();
        if removed.is_empty() {
            return;
        }
        let concerns = |path: &str| {
            removed.len() > MOST || removed.iter().any(|removed| are_in_one(removed, path))
        };
        for output in command.outputs.iter().take(MOST) {
            for (place, its) in self.places(&[Argument::Word(output)], By::Shell) {
                if matches!(&place, Place::At(path) if concerns(path)) {
                    let how = How::Written;
                    self.push(What::Again { place, how }, sure.and(its));
                }
            }
        }
        for place in self.named(words) {
            if matches!(&place, Place::At(path) if concerns(path)) {
                let how = How::Perhaps;
                self.push(What::Again { place, how }, Sure::No);
            }
        }
    }

    /// The paths of which a command may make files.
    fn named(&self, words: &[Word]) -> Vec<Place> {
        /// Programs that make no files of what they are given, and those whose work is told otherwise.
        const OTHERS: [&str; 32] = [
            "rm",
            "mv",
            "rmdir",
            "unlink",
            "trash",
            "shred",
            "Remove-Item",
            "rimraf",
            "cd",
            "pushd",
            "popd",
            "ls",
            "echo",
            "printf",
            "test",
            "[",
            "[[",
            "stat",
            "file",
            "find",
            "fd",
            "grep",
            "rg",
            "mkdir",
            "du",
            "wc",
            "head",
            "tail",
            "cat",
            "diff",
            "xargs",
            "for",
        ];
        let Some((program, arguments)) = words.split_first() else {
            return Vec::new();
        };
        let program = Argument::Word(program);
        let program = program_of(&program).unwrap_or_default();
        let is_clone = program == "git" && arguments.iter().any(|word| word.text == "clone");
        if OTHERS.contains(&program) || program == "git" && !is_clone {
            return Vec::new();
        }
        let words = arguments.iter().filter(|word| !word.text.starts_with('-'));
        let mut names: Vec<Word> = words.take(MOST).cloned().collect();
        if is_clone && let Some(url) = names.last() {
            // Without a folder, it has the name of the repository.
            let name = url.text.trim_end_matches('/').rsplit(['/', ':']).next();
            let name = name.map(|name| name.strip_suffix(".git").unwrap_or(name));
            let name = name.filter(|name| *name != url.text);
            names.extend(name.map(|name| Word {
                text: name.to_owned(),
                ..Word::default()
            }));
        }
        let arguments: Vec<Argument<'_>> = names.iter().map(Argument::Word).collect();
        let places = self.places(&arguments, By::Shell);
        places.into_iter().map(|(place, _)| place).collect()
    }
}

/// The path that a change removes.
fn removed(what: &What) -> Option<String> {
    match what {
        What::Delete(Place::At(path))
        | What::Move {
            from: Place::At(path),
            ..
        } => Some(path.clone()),
        What::Delete(Place::Like { .. })
        | What::Move {
            from: Place::Like { .. },
            ..
        }
        | What::Replace(_)
        | What::Again { .. }
        | What::Revert(_)
        | What::Stash(_)
        | What::Unstash(_)
        | What::Drop(_)
        | What::Clean(_) => None,
    }
}

/// Whether one of two paths is the other one, or in it.
fn are_in_one(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|path| path.trim_start_matches("./").trim_end_matches('/'));
    let is_in = |path: &str, folder: &str| {
        path.strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(one, other) || is_in(other, one)
}
