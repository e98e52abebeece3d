//! Files that a script recreates after it, or an earlier one, removed them.
//!
//! PURE. A redirection creates its file; other arguments may do so, unless the rules exclude it. The caller supplies what was
//! removed before the script.

use std::collections::BTreeSet;

use super::place::{By, LONGEST};
use super::{Argument, How, PathSpec, ShellWalk, Sure, What, program_of};
use crate::facts::script::{SimpleCommand, Word, may_make};

/// The maximum number of words of a command that are examined.
const MOST: usize = 64;

/// The paths that a script has removed so far. A sorted set, since there may be very many, and each later command looks them up.
#[derive(Debug, Default)]
pub(super) struct Removed(BTreeSet<String>);

impl Removed {
    /// Records what a change removes.
    pub(super) fn note(&mut self, what: &What) {
        match what {
            What::Delete(PathSpec::At(path))
            | What::Move {
                from: PathSpec::At(path),
                ..
            } => {
                self.0.insert(plain(path).to_owned());
            }
            What::Delete(PathSpec::Like { .. })
            | What::Move {
                from: PathSpec::Like { .. },
                ..
            }
            | What::Replace(_)
            | What::Again { .. }
            | What::Revert(_)
            | What::Stash(_)
            | What::Unstash(_)
            | What::Drop(_)
            | What::Clean(_)
            | What::Merge(_)
            | What::Switch { .. } => {}
        }
    }

    /// Whether a place is one of them, is inside one, or contains one.
    fn concerns(&self, place: &PathSpec) -> bool {
        let PathSpec::At(path) = place else {
            return false;
        };
        let path = plain(path);
        // Each folder of a path is looked up.
        if path.len() > LONGEST {
            return false;
        }
        let below = format!("{path}/");
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        let first_below = self.0.range(below.clone()..).next();
        self.0.contains(path)
            || folders.any(|folder| self.0.contains(folder))
            || first_below.is_some_and(|removed| removed.starts_with(&below))
    }
}

/// A path without insignificant parts.
fn plain(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

impl ShellWalk<'_> {
    /// Follows what a command may recreate of what was removed before.
    pub(super) fn again(&mut self, command: &SimpleCommand, words: &[Word], sure: Sure) {
        if self.removed.0.is_empty() && self.before.is_none() {
            return;
        }
        for output in command.outputs.iter().take(MOST) {
            for (place, its) in self.places(&[Argument::Word(output)], By::Shell) {
                if self.was_removed(&place) {
                    let how = How::Written;
                    self.push(What::Again { place, how }, sure.and(its));
                }
            }
        }
        let mut places = self.named(words);
        places.retain(|place| self.was_removed(place));
        if places.is_empty() || !may_make(command) {
            return;
        }
        for place in places {
            let how = How::Possibly;
            self.push(What::Again { place, how }, Sure::No);
        }
    }

    /// Whether a place was removed, by this script or before it.
    fn was_removed(&self, place: &PathSpec) -> bool {
        self.removed.concerns(place) || self.before.is_some_and(|was_removed| was_removed(place))
    }

    /// The paths at which a command may create files.
    fn named(&self, words: &[Word]) -> Vec<PathSpec> {
        /// Programs whose effects are tracked elsewhere.
        const FOLLOWED: [&str; 12] = [
            "rm",
            "mv",
            "rmdir",
            "unlink",
            "trash",
            "trash-put",
            "shred",
            "Remove-Item",
            "rimraf",
            "find",
            "fd",
            "fdfind",
        ];
        let Some((program, arguments)) = words.split_first() else {
            return Vec::new();
        };
        let program = Argument::Word(program);
        let program = program_of(&program).unwrap_or_default();
        let is_clone = program == "git" && arguments.iter().any(|word| word.text == "clone");
        if FOLLOWED.contains(&program) || program == "git" && !is_clone {
            return Vec::new();
        }
        let words = arguments.iter().filter(|word| !word.text.starts_with('-'));
        let mut names: Vec<Word> = words.take(MOST).cloned().collect();
        if is_clone && let Some(url) = names.last() {
            // Without an explicit folder, the clone gets the name of the repository.
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
