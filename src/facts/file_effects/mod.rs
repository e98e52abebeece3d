//! What a shell command does to files, as far as its words show: it deletes, moves or replaces them, or git reverts changes to
//! them.
//!
//! PURE. Returns the paths of each command and whether it ran, given that the whole script succeeded. Ignores dry runs and text
//! that cannot be parsed.

mod braces;
mod find_xargs;
mod git;
mod place;
mod recreated;
mod sequence;
mod verbs;

use super::script::{Missing, SimpleCommand, Word, WordKind, assigned, commands};
use braces::expanded;
use place::{By, LONGEST, Values, below, is_rooted};
use recreated::Removed;

pub(super) use git::may_record;
pub(super) use place::{PathSpec, Pattern};

/// What the commands of a script do to files, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) all: Vec<Change>,
    pub(super) status: Status,
}

/// Whose status the script's status is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// The only change's: if the script failed, nothing was changed.
    Own,
    /// That of any one of several commands.
    Shared,
}

/// What one command does to files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) what: What,
    pub(super) sure: Sure,
}

/// Whether a command ran with the paths that it names, given that the whole script succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sure {
    Yes,
    No,
}

impl Sure {
    fn and(self, other: Sure) -> Sure {
        match (self, other) {
            (Sure::Yes, Sure::Yes) => Sure::Yes,
            (Sure::No, _) | (_, Sure::No) => Sure::No,
        }
    }
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Files and folders are deleted.
    Delete(PathSpec),
    /// A file or a folder is moved; the target is not always stated.
    Move { from: PathSpec, to: Option<Target> },
    /// The content of the target is replaced, unless it is a folder.
    Replace(Target),
    /// What was removed before exists again, or may.
    Again { place: PathSpec, how: How },
    /// Files are reset to what git has recorded.
    Revert(Scope),
    /// The same, with the previous state kept in a stash.
    Stash(Scope),
    /// The content of a stash is restored.
    Unstash(Entry),
    /// The content of a stash is discarded.
    Drop(Entry),
    /// Untracked files are deleted.
    Clean(PathSpec),
    /// Changes that are recorded elsewhere come in: what was removed may be there again.
    Merge(Scope),
    /// Another commit takes the place of this one: files are as that one has them, unless their changes are not recorded.
    Switch {
        from: Scope,
        /// If this is a file, it is that which is meant.
        unless: Option<PathSpec>,
    },
}

/// How a path comes to exist again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The output of a command goes there.
    Written,
    /// A command gets its name as an argument.
    Possibly,
}

/// Where a file is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The path, as written.
    pub(super) path: String,
    /// The name inside the target if the target is a folder.
    pub(super) name: Option<String>,
}

/// The files that a git command is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// These, and those in folders of these paths.
    Paths(PathSpec),
    /// These, if such files exist: the word may also name a branch.
    PathsOrBranch(PathSpec),
    /// The whole repository that contains this folder, if the folder is known.
    Repository(Option<String>),
}

/// An entry of the stash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Last,
    All,
    /// Any of them.
    Some,
}

/// The maximum number of brackets open at once.
const MOST_OPEN: usize = 64;

/// The maximum nesting depth of scripts in scripts.
const DEEPEST: usize = 4;

/// Tests whether earlier scripts removed a place; `None` if they removed nothing.
pub(super) type Before<'b> = Option<&'b dyn Fn(&PathSpec) -> bool>;

/// What a script does to files, given what earlier ones removed. `None` if it does nothing, as is nearly always the case.
pub(super) fn changes(text: &str, before: Before<'_>) -> Option<Changes> {
    const WORDS: [&str; 11] = [
        "patch ",
        "rm",
        "mv ",
        "cp ",
        "unlink",
        "Remove-Item",
        "rimraf",
        "trash",
        "shred",
        "git ",
        "-delete",
    ];
    if before.is_none() && !WORDS.iter().any(|word| text.contains(word)) {
        return None;
    }
    let mut walk = ShellWalk {
        folders: vec![Folder {
            at: Some(String::new()),
            sure: Sure::Yes,
        }],
        values: Values::new(),
        found: Vec::new(),
        removed: Removed::default(),
        before,
        temporary: match text.contains("mktemp") {
            true => Temporary::Made,
            false => Temporary::None,
        },
    };
    let number = walk.text(text, Sure::Yes, 0)?;
    let is_switch = |change: &Change| matches!(change.what, What::Switch { .. });
    let is_again = |change: &Change| matches!(change.what, What::Again { .. });
    let mut others = walk
        .found
        .iter()
        .filter(|change| !is_again(change) && !is_switch(change));
    let status = match (number, others.next(), others.next()) {
        (1, Some(change), None) if change.is_of_one_path() => Status::Own,
        (1, None, None) if walk.found.iter().any(is_switch) => Status::Own,
        (_, _, _) => Status::Shared,
    };
    (!walk.found.is_empty()).then_some(Changes {
        all: walk.found,
        status,
    })
}

impl Change {
    fn is_of_one_path(&self) -> bool {
        match &self.what {
            What::Delete(PathSpec::At(_))
            | What::Move {
                from: PathSpec::At(_),
                ..
            }
            | What::Replace(_)
            | What::Revert(_)
            | What::Stash(_) => true,
            What::Delete(PathSpec::Like { .. })
            | What::Move {
                from: PathSpec::Like { .. },
                ..
            }
            | What::Again { .. }
            | What::Unstash(_)
            | What::Drop(_)
            | What::Clean(_)
            | What::Merge(_)
            | What::Switch { .. } => false,
        }
    }
}

/// A folder that commands run in.
#[derive(Debug, Clone)]
struct Folder {
    /// Its path as written, below that of the call; `None` if unknown.
    at: Option<String>,
    sure: Sure,
}

/// The commands of a text, one after the other.
struct ShellWalk<'b> {
    /// A stack with the folder of the current commands last, below those of the enclosing brackets.
    folders: Vec<Folder>,
    values: Values,
    found: Vec<Change>,
    /// The paths that the changes found so far remove.
    removed: Removed,
    before: Before<'b>,
    temporary: Temporary,
}

/// Whether a text makes files of its own for a while: what it deletes without a name that is known is most often these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Temporary {
    None,
    Made,
}

/// An argument of a command.
#[derive(Debug, Clone)]
enum Argument<'w> {
    Word(&'w Word),
    /// Names that another command gives.
    Given(Vec<Pattern>),
}

impl Argument<'_> {
    /// Its text as written; "" for given names.
    fn text(&self) -> &str {
        match self {
            Argument::Word(word) => &word.text,
            Argument::Given(_) => "",
        }
    }

    /// Its text, if the shell expands nothing in it.
    fn literal(&self) -> Option<&str> {
        match self {
            Argument::Word(word) => (word.kind == WordKind::Literal).then_some(&word.text[..]),
            Argument::Given(_) => None,
        }
    }

    fn patterns(&self, by: By, values: &Values) -> Vec<Pattern> {
        match self {
            Argument::Word(word) => Pattern::of(word, by, values),
            Argument::Given(patterns) => patterns.clone(),
        }
    }
}

impl ShellWalk<'_> {
    /// Follows a script; returns the number of its commands.
    fn text(&mut self, text: &str, outer: Sure, depth: usize) -> Option<usize> {
        let commands = commands(text).filter(|_| depth < DEEPEST)?;
        let open = |sum: usize, of: &SimpleCommand| {
            let sum = sum + of.opens;
            (sum <= MOST_OPEN).then(|| sum.saturating_sub(of.closes))
        };
        commands.iter().try_fold(0, open)?;
        let sure = sequence::certainty(&commands);
        for (number, command) in commands.iter().enumerate() {
            for _ in 0..command.opens {
                self.folders.push(self.folder().clone());
            }
            let given = || find_xargs::names(&commands[..number], self);
            let all = expanded(&command.words);
            let words = sequence::without_what_runs_it(&all);
            match words {
                Some([program, ..]) if program.text == "xargs" => {
                    let names = given();
                    let mut arguments: Vec<Argument<'_>> = words
                        .unwrap_or_default()
                        .iter()
                        .map(Argument::Word)
                        .collect();
                    find_xargs::skip_flags(&mut arguments);
                    arguments.push(Argument::Given(names));
                    self.command(&arguments, command, Sure::No, depth);
                }
                Some([read, .., name]) if read.text == "read" => {
                    let names = given();
                    self.values.insert(name.text.clone(), names);
                }
                Some([word, name, of, values @ ..]) if word.text == "for" && of.text == "in" => {
                    let values = values.iter();
                    let values = values
                        .flat_map(|value| Pattern::of(value, By::Shell, &self.values))
                        .collect();
                    self.values.insert(name.text.clone(), values);
                }
                Some(words) => {
                    self.assign(&all);
                    let arguments: Vec<Argument<'_>> = words.iter().map(Argument::Word).collect();
                    let sure = sure[number].and(outer);
                    self.command(&arguments, command, sure, depth);
                    self.again(command, words, sure);
                }
                None => self.assign(&all),
            }
            for _ in 0..command.closes {
                if self.folders.len() > 1 {
                    self.folders.pop();
                }
            }
        }
        Some(commands.len())
    }

    fn folder(&self) -> &Folder {
        // There always is one.
        const NONE: &Folder = &Folder {
            at: None,
            sure: Sure::No,
        };
        self.folders.last().unwrap_or(NONE)
    }

    /// Records variable assignments.
    fn assign(&mut self, words: &[Word]) {
        let words = words.iter().skip_while(|word| word.text == "export");
        for word in words {
            let Some((name, _)) = assigned(&word.text) else {
                return;
            };
            let mut value = word.clone();
            let skipped = name.len() + 1;
            value.text.drain(..skipped);
            for gap in &mut value.gaps {
                gap.at = gap.at.saturating_sub(skipped);
            }
            let value = Pattern::of(&value, By::Shell, &self.values);
            self.values.insert(name.to_owned(), value);
        }
    }

    /// Follows one command.
    fn command(&mut self, words: &[Argument<'_>], of: &SimpleCommand, sure: Sure, depth: usize) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let Some(program) = program_of(program) else {
            return;
        };
        match program {
            "cd" | "pushd" | "popd" | "chdir" | "Set-Location" => {
                self.enter(program, arguments, sure)
            }
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "eval" => {
                let document = of.document.as_deref().filter(|_| arguments.is_empty());
                let script = match arguments {
                    [script] if program == "eval" => script.literal(),
                    [flag, script, ..] if sequence::runs_text(flag.text()) => script.literal(),
                    _ => document,
                };
                // A subshell has a folder of its own.
                self.folders.push(self.folder().clone());
                if let Some(script) = script {
                    self.text(script, sure, depth + 1);
                }
                let inner = self.folders.pop();
                if program == "eval"
                    && let (Some(inner), Some(own)) = (inner, self.folders.last_mut())
                {
                    *own = inner;
                }
            }
            "git" => self.git(arguments, of, sure),
            "patch"
                if arguments
                    .iter()
                    .any(|word| matches!(word.text(), "-R" | "--reverse")) =>
            {
                let scope = Scope::Repository(self.folder().at.clone());
                self.push(What::Revert(scope), Sure::No);
            }
            "find" | "fd" | "fdfind" => self.find(program, arguments),
            _ => self.verb(program, arguments, By::Shell, sure),
        }
    }

    /// Changes the current folder.
    fn enter(&mut self, program: &str, arguments: &[Argument<'_>], sure: Sure) {
        let mut words = arguments
            .iter()
            .filter(|word| !matches!(word.text(), "-P" | "-L" | "--"));
        let to = match (program, words.next()) {
            ("popd", _) => None,
            ("cd", None) => Some("~".to_owned()),
            (_, None) => None,
            (_, Some(to)) => match &to.patterns(By::Shell, &self.values)[..] {
                [to] => to.text().filter(|to| to != "-"),
                _ => None,
            },
        };
        let folder = self.folder();
        let at = match (&folder.at, to) {
            (_, Some(to)) if is_rooted(&to) => Some(to),
            (Some(folder), Some(to)) => Some(below(folder, &to)),
            (_, _) => None,
        };
        let folder = Folder {
            at: at.filter(|at| at.len() <= LONGEST),
            // If this failed, the next commands run in the old folder.
            sure: sure.and(folder.sure),
        };
        if let Some(last) = self.folders.last_mut() {
            *last = folder;
        }
    }

    /// The places that arguments refer to, and whether each is certain.
    fn places(&self, arguments: &[Argument<'_>], by: By) -> Vec<(PathSpec, Sure)> {
        let folder = self.folder();
        let patterns = arguments.iter();
        let patterns = patterns.flat_map(|argument| {
            let patterns = argument.patterns(by, &self.values);
            // Which one of several it is remains open.
            let sure = match &patterns[..] {
                [_] => Sure::Yes,
                _ => Sure::No,
            };
            patterns.into_iter().map(move |pattern| (pattern, sure))
        });
        let places = patterns.filter_map(|(pattern, sure)| {
            let place = pattern.place(folder.at.as_deref())?;
            let sure = match &place {
                PathSpec::At(path) if is_rooted(path) && !is_below(folder, path) => sure,
                PathSpec::At(_) => sure.and(folder.sure),
                PathSpec::Like { .. } => Sure::No,
            };
            Some((place, sure))
        });
        places.collect()
    }

    fn push(&mut self, what: What, sure: Sure) {
        self.removed.note(&what);
        self.found.push(Change { what, sure });
    }
}

/// Whether a path may have been made absolute by its command's folder.
fn is_below(folder: &Folder, path: &str) -> bool {
    folder
        .at
        .as_deref()
        .is_some_and(|folder| !folder.is_empty() && path.starts_with(folder))
}

/// The program that a word names, without its folder.
fn program_of<'w>(word: &'w Argument<'_>) -> Option<&'w str> {
    let Argument::Word(word) = word else {
        return None;
    };
    let name = word.text.rsplit('/').next()?;
    let start = word.text.len() - name.len();
    // An escaped name bypasses an alias.
    let is_known = |gap: &super::script::ExpansionSite| match gap.what {
        Missing::Anything => gap.at == start && !name.is_empty(),
        Missing::Variable(_) => gap.at < start,
        Missing::Pattern => false,
    };
    word.gaps.iter().all(is_known).then_some(name)
}

#[cfg(test)]
mod tests;
