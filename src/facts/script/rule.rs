//! Rules for what a program changes, by its flags and its other arguments.
//!
//! PURE. Defines only the form of the rules; knows no programs.

use super::args::FlagList;

/// A program, under all its names.
pub(super) struct Program {
    pub(super) names: &'static str,
    pub(super) rule: Rule,
}

/// What a program does to files, by its arguments. Builds and tests are assumed to leave sources alone.
pub(super) enum Rule {
    /// It writes nothing but its output.
    Reads,
    /// It changes the files that it names.
    Names,
    /// The same for tools that change a whole project if the arguments name no file or a pattern.
    Formats,
    /// Anything.
    Unknown,
    /// It depends on whether a marked flag is given.
    Flags {
        flags: FlagList,
        others: Others,
        with: &'static Rule,
        without: &'static Rule,
    },
    /// It depends on the first argument after leading flags; with a marked flag, it may do anything. `""` stands for no argument,
    /// `*` for any other, which is then passed on to the next rule.
    Sub {
        flags: FlagList,
        rules: &'static [(&'static str, Rule)],
    },
    /// It writes nothing with at most `most` arguments: the next one is a file that it writes.
    Operands { flags: FlagList, most: usize },
    /// It runs the commands named by flags with the files that it finds; a marked flag changes files.
    Finds { flags: FlagList },
    /// It runs the command after its flags with files whose names it reads.
    Runs { flags: FlagList },
    /// It only reads if all requested tasks are listed or named like a build, a check or a test.
    Tasks {
        flags: FlagList,
        names: &'static str,
    },
    /// The same for the first argument; the others belong to a script.
    Script,
    /// It creates new files from its arguments; the inner rule states what else it changes.
    Makes(&'static Rule),
    /// It depends on what follows its first argument.
    Behind(&'static Rule),
    /// It only looks something up if one of its first arguments says so and none says that it fetches.
    Asks(&'static str),
    /// It may do anything if an argument contains one of these texts, ignoring case.
    Says {
        texts: &'static [&'static str],
        otherwise: &'static Rule,
    },
    /// It needs a closer look.
    Special(Special),
}

/// What flags outside of a list mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// Nothing that matters: plugins bring their own.
    Pass,
    /// Anything.
    Unknown,
}

/// Programs whose arguments are programs, or name files in special ways.
#[derive(Clone, Copy)]
pub(super) enum Special {
    Sed,
    Awk,
    Shell,
    PowerShell,
    Interpreter,
    Patch,
    Source,
    Dd,
    Tar,
    Wget,
    Checkout,
    Restore,
    Reset,
}

/// Reads if all flags are known and none is marked.
pub(super) const fn strict(flags: FlagList) -> Rule {
    Rule::Flags {
        flags,
        others: Others::Unknown,
        with: &Rule::Unknown,
        without: &Rule::Reads,
    }
}

/// Reads if no flag is marked.
pub(super) const fn open(flags: FlagList) -> Rule {
    Rule::Flags {
        flags,
        others: Others::Pass,
        with: &Rule::Unknown,
        without: &Rule::Reads,
    }
}

/// Formats unless a flag is marked.
pub(super) const fn formats_unless(flags: FlagList) -> Rule {
    Rule::Flags {
        flags,
        others: Others::Pass,
        with: &Rule::Reads,
        without: &Rule::Formats,
    }
}

/// Formats if a flag is marked.
pub(super) const fn formats_if(flags: FlagList) -> Rule {
    Rule::Flags {
        flags,
        others: Others::Pass,
        with: &Rule::Formats,
        without: &Rule::Reads,
    }
}

/// Does anything unless a flag is marked.
pub(super) const fn unless(flags: FlagList) -> Rule {
    Rule::Flags {
        flags,
        others: Others::Pass,
        with: &Rule::Reads,
        without: &Rule::Unknown,
    }
}

pub(super) const fn program(names: &'static str, rule: Rule) -> Program {
    Program { names, rule }
}

/// Whether a word is in a list, in which a final `*` matches any ending.
pub(super) fn is_one_of(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|name| match name.strip_suffix('*') {
            Some(start) if !start.is_empty() => word.starts_with(start),
            Some(_) | None => name == word,
        })
}
