//! What commands may do to the files of a project: nothing, something to files that they name, or anything.
//!
//! PURE. A program counts as harmless only where it is known to be: of any other one nobody knows what it has written. Builds and
//! tests are taken to leave sources alone.

use super::programs::{
    CHANGES, CHANGING, HARMLESS, asks, is_harmless_cargo, is_harmless_cmdlet,
    is_harmless_container, is_harmless_git, is_harmless_script, is_of_builds, only_checks,
};
use super::{Simple, WordKind, commands, inline};

/// What may have been changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::facts) enum Effects {
    /// Files of these paths, as written, or what is in folders of these paths; no path: nothing.
    Paths(Vec<String>),
    /// Any file.
    Anything,
}

/// How deep commands may be given to others.
const DEEPEST: usize = 6;

/// Words before a command that run it.
const BEFORE: &[&str] = &[
    "!", "builtin", "command", "do", "elif", "else", "env", "exec", "if", "nice", "nohup", "rtk",
    "sudo", "then", "time", "until", "while", "{", "npx", "bunx", "pnpx",
];

/// Words that only end something.
const AFTER: &[&str] = &["done", "fi", "}", "esac"];

/// What a text that a shell is given may have changed.
pub(in crate::facts) fn effects(text: &str) -> Effects {
    within(text, 0)
}

fn within(text: &str, depth: usize) -> Effects {
    let Some(commands) = commands(text).filter(|_| depth < DEEPEST) else {
        return Effects::Anything;
    };
    let mut paths = Vec::new();
    for command in &commands {
        for output in &command.outputs {
            if output.kind == WordKind::Expanded {
                return Effects::Anything;
            }
            if !output.text.starts_with("/dev/") {
                paths.push(output.text.clone());
            }
        }
        match of_command(command, depth) {
            Effects::Anything => return Effects::Anything,
            Effects::Paths(its) => paths.extend(its),
        }
    }
    Effects::Paths(paths)
}

const NOTHING: Effects = Effects::Paths(Vec::new());

fn of_command(command: &Simple, depth: usize) -> Effects {
    let literal = |at: usize| {
        let word = command.words.get(at)?;
        (word.kind == WordKind::Literal).then_some(&word.text[..])
    };
    let mut at = 0;
    loop {
        let Some(word) = command.words.get(at) else {
            return NOTHING;
        };
        match &word.text[..] {
            text if is_assignment(text) => at += 1,
            text if word.kind == WordKind::Literal && BEFORE.contains(&text) => at += 1,
            "timeout" | "gtimeout" => at += 2,
            "uv" | "poetry" | "pipenv" if literal(at + 1) == Some("run") => at += 2,
            "pnpm" | "npm" | "yarn" if matches!(literal(at + 1), Some("exec" | "dlx")) => at += 2,
            // Flags of what was before it.
            text if at > 0 && text.starts_with('-') => at += 1,
            _ => break,
        }
    }
    let words = &command.words[at..];
    let Some((program, arguments)) = words.split_first() else {
        return NOTHING;
    };
    if program.kind == WordKind::Expanded {
        return Effects::Anything;
    }
    let program = program.text.rsplit('/').next().unwrap_or_default();
    let has = |word: &str| arguments.iter().any(|argument| argument.text == word);
    let begins = |start: &str| arguments.iter().any(|a| a.text.starts_with(start));
    let all_named = || match arguments.iter().any(|word| word.kind == WordKind::Expanded) {
        true => Effects::Anything,
        false => {
            let named = arguments.iter().filter(|word| !word.text.starts_with('-'));
            Effects::Paths(named.map(|word| word.text.clone()).collect())
        }
    };
    let or_anything = |is_harmless: bool| match is_harmless {
        true => NOTHING,
        false => Effects::Anything,
    };
    match program {
        word if AFTER.contains(&word) => NOTHING,
        "sed" | "gsed" => match arguments.iter().any(|word| is_in_place(&word.text)) {
            true => all_named(),
            // Its scripts can write files, too.
            false => or_anything(!arguments.iter().any(|word| word.text.contains("/w "))),
        },
        "awk" | "gawk" => {
            let writes = ["-i", "> \"", ">\"", "system(", "| \""];
            let mut words = arguments.iter();
            or_anything(!words.any(|word| writes.iter().any(|part| word.text.contains(part))))
        }
        "docker" | "docker-compose" | "podman" => or_anything(is_harmless_container(
            arguments.iter().map(|word| &word.text[..]),
        )),
        "dd" => match arguments
            .iter()
            .find_map(|word| word.text.strip_prefix("of="))
        {
            Some(path) => Effects::Paths(vec![path.to_owned()]),
            None => NOTHING,
        },
        "sort" => or_anything(!has("-o") && !begins("--output")),
        "find" => {
            let run = ["-exec", "-execdir", "-ok"].iter().find_map(|flag| {
                let at = arguments.iter().position(|word| word.text == *flag)?;
                Some(&arguments[at + 1..])
            });
            let runs = arguments
                .iter()
                .filter(|word| word.text.starts_with("-exec"));
            match run {
                _ if ["-delete", "-fprint", "-fls"].iter().any(|flag| has(flag)) => {
                    Effects::Anything
                }
                Some(_) if runs.count() > 1 => Effects::Anything,
                Some(words) => run_by_another(words, depth),
                None => NOTHING,
            }
        }
        "xargs" => {
            let takes = ["-n", "-I", "-P", "-L", "-d"];
            let mut at = 0;
            while let Some(flag) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
                at += 1 + usize::from(takes.contains(&&flag.text[..]));
            }
            run_by_another(&arguments[at.min(arguments.len())..], depth)
        }
        "sh" | "bash" | "zsh" | "pwsh" | "powershell" => match arguments {
            [flag, _, ..] if flag.text == "-n" => NOTHING,
            [.., flag, script] if is_script_flag(&flag.text) => match script.kind {
                WordKind::Literal => within(&script.text, depth + 1),
                WordKind::Expanded => Effects::Anything,
            },
            _ => match &command.document {
                Some(document) if arguments.is_empty() => within(document, depth + 1),
                Some(_) | None => Effects::Anything,
            },
        },
        "source" | "." => {
            or_anything(begins("venv") || arguments.iter().any(|a| a.text.ends_with("activate")))
        }
        "git" => match &subcommands(arguments)[..] {
            ["mv" | "rm", rest @ ..] if !rest.contains(&"--cached") => all_named(),
            ["checkout" | "restore", rest @ ..] if rest.contains(&"--") => all_named(),
            words => or_anything(is_harmless_git(words)),
        },
        "apply_patch" | "applypatch" => match &command.document {
            Some(patch) => Effects::Paths(patched(patch)),
            None => Effects::Anything,
        },
        "mix" => or_anything(arguments.first().is_some_and(|task| {
            let is_generator = task.text.contains("gen");
            let task = task.text.split('.').next().unwrap_or_default();
            !is_generator
                && matches!(
                    task,
                    "test"
                        | "compile"
                        | "credo"
                        | "dialyzer"
                        | "run"
                        | "ecto"
                        | "phx"
                        | "hex"
                        | "docs"
                        | "deps"
                )
        })),
        "mise" | "asdf" => or_anything(match arguments {
            [run, task, ..] if run.text == "run" => is_of_builds(&task.text),
            [first, ..] => matches!(
                &first.text[..],
                "trust" | "install" | "ls" | "list" | "current" | "which"
            ),
            [] => true,
        }),
        "gh" => or_anything(!has("checkout") && !has("clone") && !has("sync") && !has("download")),
        "cargo" => or_anything(is_harmless_cargo(arguments.iter().map(|a| &a.text[..]))),
        "npm" | "pnpm" | "yarn" | "bun" | "deno" => {
            or_anything(is_harmless_script(arguments.iter().map(|a| &a.text[..])))
        }
        "make" | "just" | "task" | "rake" => or_anything(arguments.iter().all(|word| {
            word.text.starts_with('-') || is_assignment(&word.text) || is_of_builds(&word.text)
        })),
        "black" | "isort" | "prettier" | "rustfmt" | "gofmt" | "goimports" | "ruff" | "eslint"
        | "biome" | "oxlint" | "stylelint" | "rubocop" | "golangci-lint" | "clang-format"
        | "pylint" => {
            let words = arguments.iter().map(|word| &word.text[..]);
            let names_files = words
                .clone()
                .any(|word| word.contains(['/', '.']) && word.len() > 1);
            match only_checks(program, words) {
                true => NOTHING,
                false if names_files => all_named(),
                false => Effects::Anything,
            }
        }
        "python" | "python3" | "node" | "ruby" | "perl" | "php" => or_anything(inline::only_reads(
            program,
            arguments,
            command.document.as_deref(),
        )),
        "unzip" => or_anything(has("-l") || has("-t")),
        "tar" => or_anything(arguments.first().is_some_and(|flags| {
            let flags = flags.text.trim_start_matches('-');
            flags.starts_with('t') || flags == "list"
        })),
        "wget" => or_anything(has("-qO-") || has("-O-") || has("--spider")),
        word if CHANGING.contains(&word) => all_named(),
        word if HARMLESS.contains(&word) => {
            let changes = CHANGES.iter().find(|(program, _)| *program == word);
            or_anything(!changes.is_some_and(|(_, words)| words.iter().any(|word| has(word))))
        }
        word if is_harmless_cmdlet(word) => NOTHING,
        // Whatever it is, to ask it for something changes nothing.
        _ if asks(arguments.first().map(|word| &word.text[..])) => NOTHING,
        // An executable that a build has made; not a script.
        word if program_is_built(words) => or_anything(!word.contains('.')),
        _ => Effects::Anything,
    }
}

/// Whether the word behind a flag of a shell is a text that it runs.
fn is_script_flag(flag: &str) -> bool {
    flag.eq_ignore_ascii_case("-command")
        || flag.len() <= 4 && flag.starts_with('-') && flag.ends_with('c')
}

/// The files that a patch names.
fn patched(patch: &str) -> Vec<String> {
    const HEADERS: [&str; 4] = [
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let path = |line: &str| {
        HEADERS
            .iter()
            .find_map(|header| line.strip_prefix(header))
            .map(str::to_owned)
    };
    patch.lines().filter_map(path).collect()
}

/// Whether the program is one below the folder of a build.
fn program_is_built(words: &[super::Word]) -> bool {
    words.first().is_some_and(|word| {
        word.text.contains("target/debug/") || word.text.contains("target/release/")
    })
}

/// A command that another one runs with files that nobody named.
fn run_by_another(words: &[super::Word], depth: usize) -> Effects {
    let command = Simple {
        words: words.to_vec(),
        ..Simple::default()
    };
    match of_command(&command, depth + 1) {
        Effects::Paths(paths) if paths.is_empty() && !changes_what_it_is_given(words) => NOTHING,
        Effects::Paths(_) | Effects::Anything => Effects::Anything,
    }
}

/// Whether a program changes files that are added to its arguments.
fn changes_what_it_is_given(words: &[super::Word]) -> bool {
    let program = words.first().map_or("", |word| &word.text);
    CHANGING.contains(&program)
        || program.ends_with("sed") && words.iter().any(|word| is_in_place(&word.text))
}

fn is_in_place(flag: &str) -> bool {
    let is_short = |rest: &str| {
        !rest.starts_with('-')
            && rest.contains('i')
            && !rest.starts_with('f')
            && !rest.starts_with('e')
    };
    flag.starts_with("--in-place") || flag.strip_prefix('-').is_some_and(is_short)
}

/// Whether a word is `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let mut bytes = name.bytes();
        bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// The words of git behind its own flags.
fn subcommands(arguments: &[super::Word]) -> Vec<&str> {
    let mut words = arguments.iter().map(|word| &word.text[..]).peekable();
    while let Some(flag) = words.next_if(|word| word.starts_with('-')) {
        if matches!(flag, "-C" | "-c") {
            words.next();
        }
    }
    words.collect()
}
