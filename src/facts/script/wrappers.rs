//! Wrappers that only run another command: `sudo -u me`, `env`, `timeout 5`, `npx`, shell keywords before a command.
//!
//! PURE. The one place that knows them and their flags. Programs that run a command with files they find themselves (`find`,
//! `xargs`), or a script (`sh -c`), are not wrappers.

use super::args::{Args, FlagList, FlagMeaning, FlagScope};
use super::{Word, WordKind};

/// What is left of a command without its wrappers.
pub(in crate::facts) enum Unwrapped<'w> {
    Command(&'w [Word]),
    /// A command that runs in another folder.
    Elsewhere(&'w [Word]),
    /// Probably this command: a flag was unknown or has an effect of its own.
    Unsure(&'w [Word]),
    /// Nothing is run.
    Nothing,
}

/// A program that runs another command.
struct Wrapper {
    /// Its names; with a second word if only a subcommand is meant.
    names: &'static [&'static str],
    /// Its flags; with a marked one, nothing is run.
    flags: FlagList,
    /// The flags that name a folder to run in.
    folder: &'static [&'static str],
    /// The flags with which it writes a file itself.
    writing: &'static [&'static str],
    /// The number of its own words before the command.
    own: usize,
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    flags: "",
    folder: &[],
    writing: &[],
    own: 0,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &[
            "!", "{", "builtin", "do", "elif", "else", "if", "nohup", "rtk", "setsid", "then",
            "unbuffer", "until", "while",
        ],
        ..PLAIN
    },
    Wrapper {
        names: &["command"],
        flags: "-p !-[vV]",
        ..PLAIN
    },
    Wrapper {
        names: &["exec"],
        flags: "-a= -[cl]",
        ..PLAIN
    },
    Wrapper {
        names: &["env"],
        flags: "-[i0v] -u= --unset= -C= --chdir= --ignore-environment --null --debug",
        folder: &["-C", "--chdir"],
        ..PLAIN
    },
    Wrapper {
        names: &["nice"],
        flags: "-n= --adjustment=",
        ..PLAIN
    },
    Wrapper {
        names: &["ionice"],
        flags: "-c= -n= -t --class= --classdata= --ignore",
        ..PLAIN
    },
    Wrapper {
        names: &["stdbuf"],
        flags: "-i= -o= -e= --input= --output= --error=",
        ..PLAIN
    },
    Wrapper {
        names: &["caffeinate"],
        flags: "-[dimsu] -t=",
        ..PLAIN
    },
    Wrapper {
        names: &["sudo"],
        flags: "-u= -g= -h= -p= -C= -r= -t= -U= -T= -D= -R= -[AbEHikKlnPsSv] --user= --group= \
            --preserve-env? --non-interactive --stdin --set-home --login --chdir=",
        folder: &["-D", "--chdir", "-R"],
        ..PLAIN
    },
    Wrapper {
        names: &["doas"],
        flags: "-u= -C= -[Lns]",
        ..PLAIN
    },
    Wrapper {
        names: &["time", "gtime"],
        flags: "-f= --format= -o= --output= -[aplv] --append --portability --verbose",
        writing: &["-o", "--output"],
        ..PLAIN
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: "-k= -s= -v --kill-after= --signal= --preserve-status --foreground --verbose",
        own: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["npx", "bunx", "pnpx"],
        flags: "-y --yes --no --no-install -q --quiet --bun -p= --package= --prefer-offline",
        ..PLAIN
    },
    Wrapper {
        names: &[
            "npm exec",
            "npm x",
            "pnpm exec",
            "pnpm dlx",
            "yarn exec",
            "yarn dlx",
            "bun x",
        ],
        flags: "-y --yes --no -q --quiet --silent --bun -p= --package= -w= --workspace=",
        ..PLAIN
    },
    Wrapper {
        names: &["uv run"],
        flags: "--with= --with-requirements= --with-editable= -p= --python= --project= --directory= --extra= \
            --group= --env-file= --frozen --locked --no-sync --isolated -q --quiet -v --verbose \
            --active --all-extras --all-groups --dev --no-dev --offline --all-packages --package= --exact --no-project",
        folder: &["--directory"],
        ..PLAIN
    },
    Wrapper {
        names: &[
            "poetry run",
            "pipenv run",
            "pdm run",
            "rye run",
            "hatch run",
            "bundle exec",
        ],
        ..PLAIN
    },
    Wrapper {
        names: &["cross-env"],
        ..PLAIN
    },
    Wrapper {
        names: &["coverage run"],
        flags: "-[map] --module --append --parallel-mode --branch --source= --omit= --include= --rcfile=",
        ..PLAIN
    },
    Wrapper {
        names: &["conda run"],
        flags: "-n= --name= --no-capture-output --live-stream",
        ..PLAIN
    },
];

/// The words of a command without its wrappers.
pub(in crate::facts) fn strip(words: &[Word]) -> Unwrapped<'_> {
    let mut words = words;
    let (mut is_elsewhere, mut is_unsure) = (false, false);
    loop {
        let Some((first, rest)) = words.split_first() else {
            return Unwrapped::Nothing;
        };
        if assigned(&first.text).is_some() {
            words = rest;
            continue;
        }
        let Some((wrapper, length)) = wrapper(words) else {
            break;
        };
        let args = Args::parse(&words[length..], wrapper.flags, FlagScope::Leading);
        if args.has(FlagMeaning::Marked) {
            return Unwrapped::Nothing;
        }
        let has = |names: &[&str]| {
            args.flags
                .iter()
                .any(|flag| names.contains(&&flag.name[..]))
        };
        is_unsure |= args
            .flags
            .iter()
            .any(|flag| flag.means != FlagMeaning::Plain);
        is_unsure |= has(wrapper.writing);
        is_elsewhere |= has(wrapper.folder);
        words = args.rest.get(wrapper.own..).unwrap_or_default();
    }
    match (is_elsewhere, is_unsure) {
        (true, _) => Unwrapped::Elsewhere(words),
        (false, true) => Unwrapped::Unsure(words),
        (false, false) => Unwrapped::Command(words),
    }
}

/// The wrapper at the beginning of these words, and the number of words that name it.
fn wrapper(words: &[Word]) -> Option<(&'static Wrapper, usize)> {
    let literal = |at: usize| {
        let word = words
            .get(at)
            .filter(|word| word.kind == WordKind::Literal)?;
        Some(&word.text[..])
    };
    let first = literal(0)?;
    let first = first.rsplit('/').next()?;
    WRAPPERS.iter().find_map(|wrapper| {
        wrapper.names.iter().find_map(|name| {
            let length = match name.split_once(' ') {
                Some((program, sub)) if program == first => (literal(1) == Some(sub)).then_some(2),
                Some(_) => None,
                None => (*name == first).then_some(1),
            };
            Some((wrapper, length?))
        })
    })
}

/// Splits `NAME=value` into `NAME` and `value`.
pub(in crate::facts) fn assigned(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name =
        name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    is_name.then_some((name, value))
}
