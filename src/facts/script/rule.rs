//! What is to be known of a program: rules for what it changes, by its flags and its other arguments.
//!
//! PURE. The forms of the rows alone; which programs there are, it does not know.

use super::args::FlagList;

/// A program, under all its names.
pub(super) struct Program {
    pub(super) names: &'static str,
    pub(super) rule: Rule,
}

/// What a program does to files, by its arguments. Builds and tests are taken to leave sources alone.
pub(super) enum Rule {
    /// It writes nothing but its output.
    Reads,
    /// It changes the files that it names.
    Names,
    /// The same for tools that change a whole project if they name none, or a pattern.
    Formats,
    /// Anything.
    Unknown,
    /// It depends on whether a marked flag is there.
    Flags {
        flags: FlagList,
        others: Others,
        with: &'static Rule,
        without: &'static Rule,
    },
    /// It depends on the first argument behind leading flags, of which a marked one may do anything. `""` stands for none, `*` for
    /// any other one, which belongs to the arguments of the next rule then.
    Sub {
        flags: FlagList,
        rules: &'static [(&'static str, Rule)],
    },
    /// It has so many arguments at most without writing: the next one is a file that it writes.
    Operands { flags: FlagList, most: usize },
    /// It runs the commands that flags name with files that it finds; a marked flag changes files.
    Finds { flags: FlagList },
    /// It runs the command behind its flags with files that it reads the names of.
    Runs { flags: FlagList },
    /// All that it is asked for is one of these, or has the name of a build, a check or a test.
    Tasks {
        flags: FlagList,
        names: &'static str,
    },
    /// The same for the first argument; the others are those of a script.
    Script,
    /// It makes new files of what it is given; what else it changes, this says.
    Makes(&'static Rule),
    /// It depends on what is behind its first argument.
    Behind(&'static Rule),
    /// It looks something up if one of its first arguments says so, and none that it fetches.
    Asks(&'static str),
    /// It may do anything if one of its arguments contains such a text, in any case of letters.
    Says {
        texts: &'static [&'static str],
        otherwise: &'static Rule,
    },
    /// What has to be read more closely.
    Special(Special),
}

/// What flags mean that are not in a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// Nothing that matters: plugins bring their own.
    Pass,
    /// Anything.
    Unknown,
}

/// Programs whose arguments are programs, or name files in ways of their own.
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

/// Whether a word is one of a list, in which `*` stands for any end.
pub(super) fn is_one_of(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|name| match name.strip_suffix('*') {
            Some(start) if !start.is_empty() => word.starts_with(start),
            Some(_) | None => name == word,
        })
}
