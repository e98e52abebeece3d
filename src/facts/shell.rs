//! Shell commands that only show a file, used by agents without a tool for reading.
//!
//! Only a single plain command counts: with pipes, file name patterns or redirections, what is shown is unknown.

use std::borrow::Cow;

use super::input::Input;
use super::lines::Lines;
use super::path::below_folder;
use super::{Exchange, script, status};
use crate::policy::ToolKind;
use crate::transcript::Transcript;

/// The shell tools of agents that have no tool for reading.
const SHELLS: [&str; 5] = [
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "container.exec",
];

/// Whether a call is one of these.
pub(super) fn is_shell(transcript: &Transcript<'_>, exchange: &Exchange) -> bool {
    exchange.kind == ToolKind::Shell && is_shell_tool(&exchange.tool(transcript))
}

/// Whether a tool is one of these.
pub(super) fn is_shell_tool(tool: &str) -> bool {
    SHELLS.contains(&tool)
}

/// What a command printed, from the text of its result: without the status after it, or taken from the enclosing object.
pub fn output(said: Cow<'_, str>) -> Cow<'_, str> {
    if said.starts_with("{\"output\":") {
        let record = Input::in_value(said.as_bytes());
        let output = record.text(&["output"]).map(Cow::into_owned);
        return output.map_or(said, Cow::Owned);
    }
    match said {
        Cow::Borrowed(said) => Cow::Borrowed(status::without_end(said)),
        Cow::Owned(said) => Cow::Owned(status::without_end(&said).to_owned()),
    }
}

/// A look at one file; the path is relative to the folder that the call names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The command shows these lines.
    At { path: String, lines: Lines },
    /// The command shows the lines that match.
    For { path: String },
}

/// How a shell call looks at a file, if it does nothing else and the agent reads files this way.
pub(super) fn look(
    transcript: &Transcript<'_>,
    exchange: &Exchange,
    input: &Input<'_>,
) -> Option<Look> {
    if !is_shell(transcript, exchange) {
        return None;
    }
    let words = words(&input.command()?)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let look = match shown(&words) {
        Some((path, lines)) => Look::At {
            path: below_folder(input, path),
            lines,
        },
        None => Look::For {
            path: below_folder(input, searched_by(&words)?),
        },
    };
    Some(look)
}

/// The file that a command shows, if it does nothing else.
pub(super) fn shows(command: &str) -> Option<String> {
    let words = words(command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    shown(&words).map(|(path, _)| path.to_owned())
}

/// Commands that show files, select lines or change the folder.
pub(super) const VIEWERS: [&str; 22] = [
    "cat", "nl", "head", "tail", "sed", "awk", "less", "more", "bat", "grep", "egrep", "fgrep",
    "rg", "ag", "find", "ls", "tree", "wc", "sort", "uniq", "cut", "cd",
];

/// Whether a command only shows files, logs, or lines of them, so that its output is text of these.
pub(super) fn only_shows(command: &str) -> bool {
    /// The subcommands of git that show files.
    const OF_GIT: [&str; 5] = ["diff", "show", "log", "grep", "blame"];
    let is_one = |command: &str| {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["git", ..] => words.get(1).is_some_and(|word| OF_GIT.contains(word)),
            [word, ..] => VIEWERS.contains(&word) || shows_a_log(&words),
            [] => true,
        }
    };
    if words(command).is_some() {
        return is_one(command);
    }
    if let Some(commands) = script::commands(command) {
        return commands.iter().all(|command| {
            let words: Vec<&str> = command.words.iter().map(|word| &word.text[..]).collect();
            match &words[..] {
                ["git", rest @ ..] => {
                    let mut rest = rest.iter().filter(|word| !word.starts_with('-'));
                    rest.any(|word| OF_GIT.contains(word))
                }
                [
                    "echo" | "printf" | "pwd" | "true" | "for" | "done" | "[",
                    ..,
                ] => true,
                ["do" | "if" | "then", rest @ ..] | rest => match rest {
                    [word, ..] => VIEWERS.contains(word) || shows_a_log(rest),
                    [] => true,
                },
            }
        });
    }
    // A pattern may contain the same characters: then the rest is not a known command, and the result is `false`.
    let command = command.replace("2>&1", "").replace("2>/dev/null", "");
    command.split(['|', '&', ';', '\n']).all(is_one)
}

/// Whether a command shows what another program has logged: its own failures are no part of that.
fn shows_a_log(words: &[&str]) -> bool {
    /// Flags whose value is the next word.
    const VALUED: [&str; 8] = [
        "-n",
        "--namespace",
        "--context",
        "-c",
        "-f",
        "--file",
        "-p",
        "--project-name",
    ];
    let [program, rest @ ..] = words else {
        return false;
    };
    let mut rest = rest.iter();
    let mut subcommand = || loop {
        let word = *rest.next()?;
        if VALUED.contains(&word) {
            rest.next()?;
        } else if !word.starts_with('-') {
            return Some(word);
        }
    };
    match *program {
        "journalctl" | "dmesg" => true,
        "docker" | "podman" | "nerdctl" => match subcommand() {
            Some("compose" | "container" | "service") => subcommand() == Some("logs"),
            other => other == Some("logs"),
        },
        "docker-compose" | "kubectl" | "oc" | "heroku" | "pm2" => subcommand() == Some("logs"),
        "gh" => {
            subcommand() == Some("run")
                && subcommand() == Some("view")
                && words
                    .iter()
                    .any(|word| ["--log", "--log-failed"].contains(word))
        }
        _ => false,
    }
}

/// The file that a search command searches. `None` if a flag makes the command show something else, or if the name has no extension
/// and may be a folder.
fn searched_by<'w>(words: &[&'w str]) -> Option<&'w str> {
    /// Flags for how lines are matched or shown.
    const SWITCHES: [&str; 12] = [
        "-n",
        "-i",
        "-S",
        "-s",
        "-F",
        "-w",
        "-x",
        "-N",
        "--line-number",
        "--ignore-case",
        "--fixed-strings",
        "--no-heading",
    ];
    /// The same, with a number as the next word.
    const NUMBERS: [&str; 7] = [
        "-A",
        "-B",
        "-C",
        "-m",
        "--context",
        "--after-context",
        "--before-context",
    ];
    let ["rg", rest @ ..] = words else {
        return None;
    };
    let mut others = Vec::new();
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        if NUMBERS.contains(word) {
            rest.next()?.parse::<u32>().ok()?;
        } else if *word == "--" {
            others.extend(rest.by_ref());
        } else if word.starts_with('-') && !SWITCHES.contains(word) {
            return None;
        } else if !word.starts_with('-') {
            others.push(*word);
        }
    }
    let [_, path] = others[..] else {
        return None;
    };
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty() && stem != ".").then_some(path)
}

/// What a command shows, given its words.
fn shown<'w>(words: &[&'w str]) -> Option<(&'w str, Lines)> {
    let (path, lines) = match words {
        ["cat", "--" | "-n", path] | ["nl", "-ba", path] | ["cat", path] => (*path, Lines::ALL),
        ["sed", "-n", range, path] => (*path, printed(range)?),
        ["head", "-n", number, path] => (*path, first(number)?),
        ["head", number, path] => {
            let number = number.strip_prefix("-n").or(number.strip_prefix('-'))?;
            (*path, first(number)?)
        }
        ["tail", "-n", from, path] => {
            let first: u64 = from.strip_prefix('+')?.parse().ok()?;
            // Starting at line 0 means starting at line 1.
            let first = first.max(1);
            (*path, Lines { first, last: None })
        }
        _ => return None,
    };
    (!path.starts_with('-')).then_some((path, lines))
}

fn first(number: &str) -> Option<Lines> {
    let last = number.parse().ok().filter(|last| *last > 0);
    last.map(|last| Lines {
        first: 1,
        last: Some(last),
    })
}

/// The lines that `sed` prints: `3p`, `3,7p`, `3,$p`.
fn printed(range: &str) -> Option<Lines> {
    let range = range.strip_suffix('p')?;
    let (first, last) = range.split_once(',').unwrap_or((range, range));
    let first = first.parse().ok().filter(|first| *first > 0)?;
    let last = match last {
        "$" => None,
        last => Some(last.parse().ok().filter(|last| *last >= first)?),
    };
    Some(Lines { first, last })
}

/// The words of one plain command; `None` if a shell would do more than run it.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.trim().chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`' | '\\') => return None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`' | '\\' | '(' | ')' | '\n') => {
                return None;
            }
            (None, '*' | '?' | '[' | '{' | '#' | '!') => return None,
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Option<(String, u64, Option<u64>)> {
        let words = words(command)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (path, lines) = shown(&words)?;
        Some((path.to_owned(), lines.first, lines.last))
    }

    #[test]
    fn plain_commands_show_a_file() {
        let file = |path: &str, first, last| Some((path.to_owned(), first, last));
        assert_eq!(of("cat src/a.rs"), file("src/a.rs", 1, None));
        assert_eq!(of(" cat -- 'a b.rs' "), file("a b.rs", 1, None));
        assert_eq!(of("nl -ba a"), file("a", 1, None));
        assert_eq!(of("sed -n '3,7p' a"), file("a", 3, Some(7)));
        assert_eq!(of("sed -n 3p a"), file("a", 3, Some(3)));
        assert_eq!(of("sed -n '3,$p' a"), file("a", 3, None));
        assert_eq!(of("head -n 20 a"), file("a", 1, Some(20)));
        assert_eq!(of("head -20 \"a\""), file("a", 1, Some(20)));
        assert_eq!(of("tail -n +5 a"), file("a", 5, None));
        assert_eq!(of("tail -n +0 a"), file("a", 1, None));
    }

    #[test]
    fn a_search_in_one_file_names_it() {
        let of = |command: &str| {
            let words = words(command)?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            searched_by(&words).map(str::to_owned)
        };
        for command in [
            "rg x a.rs",
            "rg -n 'fn (a|b)' a.rs",
            "rg -n -C 3 x a.rs",
            "rg -i --no-heading -- -x a.rs",
        ] {
            assert_eq!(of(command).as_deref(), Some("a.rs"), "{command}");
        }
        for command in [
            "rg x",
            "rg x src",
            "rg x .",
            "rg x ..",
            "rg x .git",
            "rg x a.rs b.rs",
            "rg -l x a.rs",
            "rg --files a.rs",
            "rg -c x a.rs",
            "rg -C x a.rs",
            "rg -e x a.rs",
            "rg x a.rs | head",
            "grep x a.rs",
        ] {
            assert_eq!(of(command), None, "{command}");
        }
    }

    #[test]
    fn other_commands_do_not() {
        for command in [
            "",
            "cat",
            "cat a b",
            "cat a | head",
            "cat a; ls",
            "cat a > b",
            "cat $F",
            "cat \"$F\"",
            "cat *.rs",
            "cat 'a",
            "cat a\ncat b",
            "sed -n '7,3p' a",
            "sed -n '/x/p' a",
            "sed -i s/a/b/ a",
            "head -c 10 a",
            "tail -n 5 a",
            "rg x a.rs",
        ] {
            assert_eq!(of(command), None, "{command}");
        }
    }
}
