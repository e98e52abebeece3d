//! Commands that delete, move and copy files.
//!
//! PURE.

use super::place::By;
use super::{Argument, PathSpec, Pattern, ShellWalk, Sure, Target, Temporary, What};

/// The effect of flags.
enum Flags {
    /// The change is made.
    Does,
    /// The change may be made, to some of the paths.
    May,
    /// Nothing is changed.
    Only,
}

/// What things are moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    /// A name, or an existing folder.
    Either,
}

/// The arguments of a command without its flags.
struct Parts<'a, 'w> {
    flags: Flags,
    paths: Vec<&'a Argument<'w>>,
    /// The folder that a flag names.
    into: Option<Argument<'w>>,
}

impl ShellWalk<'_> {
    /// Follows a command that deletes, moves or copies its arguments.
    pub(super) fn verb(&mut self, verb: &str, arguments: &[Argument<'_>], by: By, sure: Sure) {
        let parts = Parts::of(verb, by, arguments);
        let sure = match parts.flags {
            Flags::Does => sure,
            Flags::May => Sure::No,
            Flags::Only => return,
        };
        let mut paths: Vec<Argument<'_>> = parts.paths.into_iter().cloned().collect();
        match verb {
            "rm" | "unlink" | "trash" | "trash-put" | "rimraf" | "Remove-Item" => {
                for (place, its) in self.places(&paths, by) {
                    self.push(What::Delete(place), sure.and(its));
                }
                for place in self.unknown(&paths, by) {
                    self.push(What::Delete(place), Sure::No);
                }
            }
            "shred" if arguments.iter().any(|word| removes(word.text())) => {
                for (place, its) in self.places(&paths, By::Shell) {
                    self.push(What::Delete(place), sure.and(its));
                }
            }
            "mv" | "cp" => {
                // One word may stand for both.
                if let ("mv", None, [both]) = (verb, &parts.into, &paths[..]) {
                    let both = std::slice::from_ref(both);
                    let mut places: Vec<PathSpec> = self.unknown(both, by);
                    places.extend(self.places(both, by).into_iter().map(|(place, _)| place));
                    for from in places {
                        self.push(What::Move { from, to: None }, Sure::No);
                    }
                    return;
                }
                let is_into = parts.into.is_some();
                let Some(to) = parts.into.or_else(|| paths.pop()) else {
                    return;
                };
                let kind = match is_into || paths.len() > 1 || is_folder(to.text()) {
                    true => Kind::Folder,
                    false => Kind::Either,
                };
                let to = match &self.places(&[to], By::Shell)[..] {
                    [(PathSpec::At(to), its)] => Some((to.clone(), *its)),
                    _ => None,
                };
                for (from, its) in self.places(&paths, By::Shell) {
                    self.put(verb, from, to.as_ref(), kind, sure.and(its));
                }
            }
            _ => {}
        }
    }

    /// The paths of arguments of which so little is known that they may be any.
    fn unknown(&self, arguments: &[Argument<'_>], by: By) -> Vec<PathSpec> {
        if self.temporary == Temporary::Made {
            return Vec::new();
        }
        let folder = self.folder();
        let patterns = arguments.iter();
        let patterns = patterns.flat_map(|argument| argument.patterns(by, &self.values));
        patterns
            .filter(|pattern| pattern.is_unknown() && pattern.place(folder.at.as_deref()).is_none())
            .map(|pattern| PathSpec::Like {
                folder: None,
                pattern,
            })
            .collect()
    }

    /// Moves or copies one thing.
    fn put(
        &mut self,
        verb: &str,
        from: PathSpec,
        to: Option<&(String, Sure)>,
        kind: Kind,
        sure: Sure,
    ) {
        let name = match &from {
            PathSpec::At(from) => from.trim_end_matches('/').rsplit('/').next(),
            PathSpec::Like { .. } => None,
        };
        let name = name.map(str::to_owned);
        let target = to.and_then(|(to, _)| match (kind, &name) {
            (Kind::Folder, Some(name)) => {
                let to = to.trim_end_matches('/');
                let to = to.strip_suffix("/.").unwrap_or(to);
                Some(Target {
                    path: format!("{to}/{name}"),
                    name: None,
                })
            }
            // It is unknown which of the folder's files.
            (Kind::Folder, None) => None,
            (Kind::Either, _) => Some(Target {
                path: to.clone(),
                name: name.clone(),
            }),
        });
        let sure = to.map_or(Sure::No, |(_, its)| sure.and(*its));
        match (verb, target) {
            ("mv", to) => self.push(What::Move { from, to }, sure),
            (_, Some(to)) => self.push(What::Replace(to), sure),
            (_, None) => {}
        }
    }
}

/// Whether the end of a path alone shows that it is a folder.
fn is_folder(path: &str) -> bool {
    path.ends_with('/') || matches!(path.rsplit('/').next(), Some("." | ".."))
}

/// Whether a flag of `shred` has the file deleted.
fn removes(flag: &str) -> bool {
    flag.starts_with("--remove")
        || flag.starts_with('-') && !flag.starts_with("--") && flag.contains('u')
}

impl<'a, 'w> Parts<'a, 'w> {
    fn of(verb: &str, by: By, arguments: &'a [Argument<'w>]) -> Self {
        let mut parts = Parts {
            flags: Flags::Does,
            paths: Vec::new(),
            into: None,
        };
        let is_git = by == By::Program;
        let is_put = matches!(verb, "mv" | "cp") && !is_git;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text();
            if text == "--" {
                parts.paths.extend(words);
                return parts;
            }
            if !text.starts_with('-') || text == "-" {
                parts.paths.push(word);
                continue;
            }
            if let Some(folder) = text.strip_prefix("--target-directory=") {
                parts.into = Some(Argument::Given(vec![Pattern::path(folder)]));
                continue;
            }
            match text {
                "--help" | "--version" | "--dry-run" | "-WhatIf" => parts.flags = Flags::Only,
                "-n" | "--cached" | "-nr" | "-rn" if is_git => parts.flags = Flags::Only,
                _ if is_git && text.starts_with("--pathspec") => parts.flags = Flags::Only,
                "-ErrorAction" | "-ea" | "-Stream" => {
                    words.next();
                }
                "-Include" | "-Exclude" | "-Filter" => {
                    words.next();
                    parts.may();
                }
                "-t" | "--target-directory" if is_put => parts.into = words.next().cloned(),
                "-S" | "--suffix" if is_put => {
                    words.next();
                }
                "-k" if is_git => parts.may(),
                "--interactive" | "--no-clobber" | "--update" | "-Confirm" => parts.may(),
                _ if text.starts_with("--interactive=") || text.starts_with("--update=") => {
                    parts.may();
                }
                _ if text.starts_with("--") || verb == "Remove-Item" => {}
                // It asks, or keeps existing files.
                _ if !is_git && text.contains(['i', 'I']) => parts.may(),
                _ if is_put && text.contains(['n', 'u']) => parts.may(),
                _ => {}
            }
        }
        parts
    }

    fn may(&mut self) {
        if matches!(self.flags, Flags::Does) {
            self.flags = Flags::May;
        }
    }
}
