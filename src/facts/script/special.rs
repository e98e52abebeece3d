//! Programs whose arguments are programs themselves, or that name what they write in ways of their own.
//!
//! PURE. Says what they may change, never what they do. What it cannot read may change anything.

use super::args::{Args, Means, Reach};
use super::effects::{Call, Effects, NOTHING, named, of_command, or_anything, within};
use super::{Missing, Simple, Word, WordKind, inline, streams};

pub(super) fn sed(call: &Call<'_>) -> Effects {
    const FLAGS: &str = "!-i? !-I? !--in-place? -[nErsuza] -l= -e= -f= --expression= --file= --quiet --silent --regexp-extended \
        --null-data --separate --unbuffered --line-length= --posix --debug --sandbox --follow-symlinks";
    let args = Args::parse(call.arguments, FLAGS, Reach::All);
    let is_known = !args.has(Means::Unknown) && !args.has(Means::Perhaps);
    let scripts: Vec<Option<&str>> = args
        .flags
        .iter()
        .filter(|flag| matches!(&flag.name[..], "-e" | "--expression"))
        .map(|flag| flag.value)
        .collect();
    // A file that nobody has read.
    let is_file = |name: &str| matches!(name, "-f" | "--file");
    if !is_known || args.flags.iter().any(|flag| is_file(&flag.name)) {
        return Effects::Anything;
    }
    let first = args.operands.iter().find(|word| !word.text.is_empty());
    let scripts = match (&scripts[..], first) {
        ([], Some(script)) => vec![literal(script)],
        ([], None) => Vec::new(),
        _ => scripts,
    };
    // What a shell puts into one is not known.
    let only_edits = scripts
        .iter()
        .all(|script| script.is_some_and(streams::sed_only_edits));
    match (only_edits, args.has(Means::Marked)) {
        (true, true) => named(call.arguments),
        (is_harmless, _) => or_anything(is_harmless),
    }
}

pub(super) fn awk_only_reads(words: &[Word]) -> bool {
    const FLAGS: &str = "-F= -v= --field-separator= --assign= -e= --source= -[bcCrtSP] --posix --re-interval --csv -k --version";
    let args = Args::parse(words, FLAGS, Reach::All);
    let is_known = args.flags.iter().all(|flag| flag.means == Means::Plain);
    let is_program = |name: &str| matches!(name, "-e" | "--source");
    let named: Vec<_> = args
        .flags
        .iter()
        .filter(|flag| is_program(&flag.name))
        .collect();
    let only_prints = match (&named[..], args.operands.first()) {
        ([], None) => true,
        ([], Some(program)) => literal(program).is_some_and(streams::awk_only_prints),
        (named, _) => named
            .iter()
            .all(|flag| flag.value.is_some_and(streams::awk_only_prints)),
    };
    is_known && only_prints
}

/// What a shell runs: a text behind its flags, or a document.
pub(super) fn shell(call: &Call<'_>) -> Effects {
    let mut words = call.arguments.iter();
    let mut has_text = false;
    while let Some(word) = words.next() {
        let text = &word.text[..];
        if !text.starts_with(['-', '+']) || word.kind == WordKind::Expanded {
            // A file that nobody has read, or the text.
            return match literal(word).filter(|_| has_text) {
                Some(script) => within(script, call.depth + 1),
                None => Effects::Anything,
            };
        }
        match text.strip_prefix("--") {
            Some("login" | "noprofile" | "norc" | "posix" | "verbose" | "noediting") => continue,
            Some(_) => return Effects::Anything,
            None => {}
        }
        let letters = &text[1..];
        if !letters
            .chars()
            .all(|c| "abcefhiklmnopstuvxBCEHPT".contains(c))
        {
            return Effects::Anything;
        }
        // It only looks whether it could run.
        if letters.contains('n') && text.starts_with('-') {
            return NOTHING;
        }
        has_text |= letters.contains('c') && text.starts_with('-');
        if letters.contains('o') {
            words.next();
        }
    }
    match call.document.filter(|_| !has_text) {
        Some(document) => within(document, call.depth + 1),
        None => Effects::Anything,
    }
}

pub(super) fn power_shell(call: &Call<'_>) -> Effects {
    let mut words = call.arguments;
    while let Some((flag, rest)) = words.split_first() {
        words = match &flag.text.to_ascii_lowercase()[..] {
            "-noprofile" | "-nop" | "-nologo" | "-noninteractive" | "-noni" => rest,
            "-executionpolicy" | "-ep" | "-ex" => rest.get(1..).unwrap_or_default(),
            "-command" | "-c" => {
                return match rest {
                    [script] => literal(script)
                        .map_or(Effects::Anything, |script| within(script, call.depth + 1)),
                    [] => Effects::Anything,
                    words => run(call, words),
                };
            }
            _ => return Effects::Anything,
        };
    }
    Effects::Anything
}

/// What a command of PowerShell that only shows something may change: another one may stand in it.
pub(super) fn cmdlet(call: &Call<'_>) -> Effects {
    let name = call.program.to_ascii_lowercase();
    if !matches!(&name[..], "foreach-object" | "where-object") {
        return NOTHING;
    }
    let start = call
        .arguments
        .iter()
        .position(|word| word.text.contains('{'));
    let Some(start) = start else {
        return NOTHING;
    };
    let inner = &call.arguments[start + 1..];
    let end = inner
        .iter()
        .position(|word| word.text == "}")
        .unwrap_or(inner.len());
    match &inner[..end] {
        _ if call.arguments[start].text != "{" => Effects::Anything,
        [] => NOTHING,
        // A property of what it is given.
        [first, rest @ ..]
            if first
                .gaps
                .iter()
                .any(|gap| gap.at == 0 && gap.what == Missing::Variable("_".to_owned())) =>
        {
            or_anything(rest.is_empty() || name == "where-object")
        }
        words => run(call, words),
    }
}

pub(super) fn interpreter(call: &Call<'_>) -> Effects {
    match call.arguments {
        [flag, module @ ..] if flag.text == "-m" && call.program.starts_with("python") => {
            run(call, module)
        }
        arguments => or_anything(inline::only_reads(call.program, arguments, call.document)),
    }
}

/// What other words may change as a command.
fn run(call: &Call<'_>, words: &[Word]) -> Effects {
    let command = Simple {
        words: words.to_vec(),
        document: call.document.map(str::to_owned),
        ..Simple::default()
    };
    of_command(&command, call.depth + 1)
}

/// The files that a patch names.
pub(super) fn patched(patch: &str) -> Vec<String> {
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

pub(super) fn tar_only_lists(words: &[Word]) -> bool {
    const FLAGS: &str = "--list --file= --verbose --gzip --bzip2 --xz --zstd --directory= --wildcards --exclude= \
        --strip-components= --use-compress-program= --numeric-owner --full-time --auto-compress";
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let letters = first.text.trim_start_matches('-');
    let lists = letters == "list"
        || letters.contains('t') && letters.chars().all(|c| "tvfzjJaZOkpPq".contains(c));
    let known = Args::parse(rest, FLAGS, Reach::All);
    let is_long = |name: &str| name.starts_with("--");
    lists
        && first.kind == WordKind::Literal
        && known
            .flags
            .iter()
            .all(|flag| !is_long(&flag.name) || flag.means == Means::Plain)
}

pub(super) fn wget_only_shows(words: &[Word]) -> bool {
    const FLAGS: &str = "-O= --output-document= --spider -[qSvncd46] -T= -t= -U= --timeout= --tries= --header= --user-agent= \
        --quiet --no-verbose --server-response --no-check-certificate --post-data= --user= --password= --max-redirect= \
        --method= --body-data= --content-on-error --show-progress --wait= --retry-connrefused";
    let args = Args::parse(words, FLAGS, Reach::All);
    let shows = args.flags.iter().any(|flag| match &flag.name[..] {
        "-O" | "--output-document" => flag
            .value
            .is_some_and(|to| to == "-" || to.starts_with("/dev/")),
        name => name == "--spider",
    });
    shows && args.flags.iter().all(|flag| flag.means == Means::Plain)
}

fn literal(word: &Word) -> Option<&str> {
    (word.kind == WordKind::Literal).then_some(&word.text[..])
}
