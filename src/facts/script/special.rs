//! Programs whose arguments are programs themselves, or that name the files they write in special ways.
//!
//! PURE. States what they may change, never what they do. Anything unreadable may change anything.

use super::args::{Args, FlagMeaning, FlagScope};
use super::call::{Call, Effects, NOTHING, Run, named, or_anything};
use super::{Missing, Word, WordKind, inline, streams};

pub(super) fn sed(call: &Call<'_>) -> Effects {
    const FLAGS: &str = "!-i? !-I? !--in-place? -[nErsuza] -l= -e= -f= --expression= --file= --quiet --silent --regexp-extended \
        --null-data --separate --unbuffered --line-length= --posix --debug --sandbox --follow-symlinks";
    let args = Args::parse(call.arguments, FLAGS, FlagScope::All);
    let is_known = !args.has(FlagMeaning::Unknown) && !args.has(FlagMeaning::Possibly);
    let scripts: Vec<Option<&str>> = args
        .flags
        .iter()
        .filter(|flag| matches!(&flag.name[..], "-e" | "--expression"))
        .map(|flag| flag.value)
        .collect();
    // A script file with unknown content.
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
    // The value of a shell expansion is unknown.
    let only_edits = scripts
        .iter()
        .all(|script| script.is_some_and(streams::sed_only_edits));
    match (only_edits, args.has(FlagMeaning::Marked)) {
        (true, true) => named(call.arguments),
        (is_harmless, _) => or_anything(is_harmless),
    }
}

pub(super) fn awk_only_reads(words: &[Word]) -> bool {
    const FLAGS: &str = "-F= -v= --field-separator= --assign= -e= --source= -[bcCrtSP] --posix --re-interval --csv -k --version";
    let args = Args::parse(words, FLAGS, FlagScope::All);
    let is_known = args
        .flags
        .iter()
        .all(|flag| flag.means == FlagMeaning::Plain);
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

/// What a shell runs: a script after its flags, or a here-document.
pub(super) fn shell<'w>(call: &Call<'w>) -> Run<'w> {
    let anything = Run::Itself(Effects::Anything);
    let mut words = call.arguments.iter();
    let mut has_text = false;
    while let Some(word) = words.next() {
        let text = &word.text[..];
        if !text.starts_with(['-', '+']) || word.kind == WordKind::Expanded {
            // A script file with unknown content, or the script itself.
            let script = literal(word).filter(|_| has_text);
            return script.map_or(anything, Run::Text);
        }
        match text.strip_prefix("--") {
            Some("login" | "noprofile" | "norc" | "posix" | "verbose" | "noediting") => continue,
            Some(_) => return anything,
            None => {}
        }
        let letters = &text[1..];
        if !letters
            .chars()
            .all(|c| "abcefhiklmnopstuvxBCEHPT".contains(c))
        {
            return anything;
        }
        // It only checks the syntax.
        if letters.contains('n') && text.starts_with('-') {
            return Run::Itself(NOTHING);
        }
        has_text |= letters.contains('c') && text.starts_with('-');
        if letters.contains('o') {
            words.next();
        }
    }
    let document = call.document.filter(|_| !has_text);
    document.map_or(anything, Run::Text)
}

pub(super) fn power_shell<'w>(call: &Call<'w>) -> Run<'w> {
    let anything = Run::Itself(Effects::Anything);
    let mut words = call.arguments;
    while let Some((flag, rest)) = words.split_first() {
        words = match &flag.text.to_ascii_lowercase()[..] {
            "-noprofile" | "-nop" | "-nologo" | "-noninteractive" | "-noni" => rest,
            "-executionpolicy" | "-ep" | "-ex" => rest.get(1..).unwrap_or_default(),
            "-command" | "-c" => {
                return match rest {
                    [script] => literal(script).map_or(anything, Run::Text),
                    [] => anything,
                    words => Run::Words(words),
                };
            }
            _ => return anything,
        };
    }
    anything
}

/// What a read-only PowerShell command runs: it may contain another command.
pub(super) fn cmdlet<'w>(call: &Call<'w>) -> Run<'w> {
    let name = call.program.to_ascii_lowercase();
    let start = call
        .arguments
        .iter()
        .position(|word| word.text.contains('{'));
    let start = start.filter(|_| matches!(&name[..], "foreach-object" | "where-object"));
    let Some(start) = start else {
        return Run::Itself(NOTHING);
    };
    let inner = &call.arguments[start + 1..];
    let end = inner.iter().position(|word| word.text == "}");
    let is_property = |word: &Word| {
        let is_item = |gap: &super::ExpansionSite| {
            gap.at == 0 && gap.what == Missing::Variable("_".to_owned())
        };
        word.gaps.iter().any(is_item)
    };
    match &inner[..end.unwrap_or(inner.len())] {
        _ if call.arguments[start].text != "{" => Run::Itself(Effects::Anything),
        [] => Run::Itself(NOTHING),
        [first, rest @ ..] if is_property(first) => {
            Run::Itself(or_anything(rest.is_empty() || name == "where-object"))
        }
        words => Run::Words(words),
    }
}

pub(super) fn interpreter<'w>(call: &Call<'w>) -> Run<'w> {
    match call.arguments {
        [flag, module @ ..] if flag.text == "-m" && call.program.starts_with("python") => {
            Run::Words(module)
        }
        arguments => {
            let only_reads = inline::only_reads(call.program, arguments, call.document);
            Run::Itself(or_anything(only_reads))
        }
    }
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
    let known = Args::parse(rest, FLAGS, FlagScope::All);
    let is_long = |name: &str| name.starts_with("--");
    lists
        && first.kind == WordKind::Literal
        && known
            .flags
            .iter()
            .all(|flag| !is_long(&flag.name) || flag.means == FlagMeaning::Plain)
}

pub(super) fn wget_only_shows(words: &[Word]) -> bool {
    const FLAGS: &str = "-O= --output-document= --spider -[qSvncd46] -T= -t= -U= --timeout= --tries= --header= --user-agent= \
        --quiet --no-verbose --server-response --no-check-certificate --post-data= --user= --password= --max-redirect= \
        --method= --body-data= --content-on-error --show-progress --wait= --retry-connrefused";
    let args = Args::parse(words, FLAGS, FlagScope::All);
    let shows = args.flags.iter().any(|flag| match &flag.name[..] {
        "-O" | "--output-document" => flag
            .value
            .is_some_and(|to| to == "-" || to.starts_with("/dev/")),
        name => name == "--spider",
    });
    shows
        && args
            .flags
            .iter()
            .all(|flag| flag.means == FlagMeaning::Plain)
}

fn literal(word: &Word) -> Option<&str> {
    (word.kind == WordKind::Literal).then_some(&word.text[..])
}
