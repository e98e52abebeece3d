//! The pages of `--help` and `man`, as they were read when they were last changed, and completions that shells can load.
//!
//! `UPDATE_PAGES=1 cargo test --test main cli::pages` writes the pages anew; read the difference before you commit it.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use super::harness::Place;

/// The commands that have commands of their own.
const GROUPS: [&str; 4] = ["policy", "config", "report", "schema"];

/// The names in the list of commands of a page.
fn commands(page: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.map_while(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let names = names.filter(|name| *name != "help").map(str::to_owned);
    names.collect()
}

/// The help of every command, by its name.
fn help(place: &Place) -> BTreeMap<String, String> {
    let page = |words: &str| place.run(&format!("{words} --help")).exits(0).text();
    let mut pages = BTreeMap::from([("ctxpack".to_owned(), page(""))]);
    for name in commands(&pages["ctxpack"]) {
        let text = page(&name);
        if GROUPS.contains(&name.as_str()) {
            for verb in commands(&text) {
                pages.insert(format!("{name}-{verb}"), page(&format!("{name} {verb}")));
            }
        }
        pages.insert(name, text);
    }
    pages
}

#[test]
fn every_command_has_examples() {
    let place = Place::new();
    // Its page ends in the topics, and in where to begin.
    let own = |name: &str| name == "ctxpack";
    for (name, page) in help(&place).iter().filter(|(name, _)| !own(name)) {
        assert!(page.contains("\nExamples:\n  ctxpack "), "{name}: {page}");
    }
}

#[test]
fn help_has_colours_only_if_they_are_wanted() {
    let place = Place::new();
    let escapes = |words: &str| place.run(words).text().contains('\u{1b}');
    assert!(escapes("compact --help --color always"));
    for words in [
        "compact --help --color never",
        "compact --help --color=never",
        "compact --help",
    ] {
        assert!(!escapes(words), "{words}");
    }
}

#[test]
fn every_page_of_help_is_as_it_was_read() {
    let place = Place::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/pages");
    let pages = help(&place);
    assert!(pages.len() > 12, "{:?}", pages.keys());
    are_as_they_were_read(&pages, "txt", &folder);
}

/// Compares pages with the files of that extension in a folder, or writes these anew.
fn are_as_they_were_read(pages: &BTreeMap<String, String>, extension: &str, folder: &Path) {
    let is_one = |path: &Path| path.extension().is_some_and(|own| own == extension);
    let files = || {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| is_one(path)).collect::<Vec<_>>()
    };
    if env::var_os("UPDATE_PAGES").is_some() {
        files()
            .iter()
            .for_each(|file| fs::remove_file(file).unwrap());
        for (name, text) in pages {
            fs::write(folder.join(name).with_extension(extension), text).unwrap();
        }
    }
    let known = files().into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    let known: BTreeMap<String, String> = known.collect();
    assert_eq!(
        known.keys().collect::<Vec<_>>(),
        pages.keys().collect::<Vec<_>>()
    );
    for (name, text) in pages {
        assert_eq!(&known[name], text, "{name}; UPDATE_PAGES=1 writes it anew");
    }
}

#[test]
fn long_help_says_more_and_has_examples() {
    let place = Place::new();
    for name in [
        "compact", "stats", "check", "eval", "replay", "verify", "undo", "gc",
    ] {
        let long = place.run(&format!("{name} --help")).exits(0).text();
        let short = place.run(&format!("{name} -h")).exits(0).text();
        assert!(long.contains("\nExamples:\n  ctxpack "), "{name}: {long}");
        let paragraphs = |text: &str| text.split("Usage:").next().unwrap().split("\n\n").count();
        assert!(paragraphs(&long) > paragraphs(&short), "{name}: {long}");
        // Flags that every command takes come last.
        let after = long.split("\nGlobal options:\n").nth(1).unwrap();
        let after = after.split("\nExamples:\n").next().unwrap();
        assert!(
            after.contains("--error-format") && !after.contains("--format "),
            "{name}"
        );
    }
}

/// Every command has a man page that names its flags.
#[test]
fn man_pages_are_made_of_the_same() {
    let place = Place::new();
    place.run("man pages").exits(0);
    for (name, text) in help(&place) {
        let page = match name.as_str() {
            "ctxpack" => "pages/ctxpack.1".to_owned(),
            name => format!("pages/ctxpack-{name}.1"),
        };
        let page = place.text(&page).replace("\\-", "-");
        let flags = text
            .split_whitespace()
            .filter(|word| word.starts_with("--"));
        for flag in flags.map(|flag| flag.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())) {
            let flag = flag.split(['=', '[', '.']).next().unwrap();
            assert!(page.contains(flag), "{name}: {flag} is not in {page}");
        }
    }
}

#[test]
fn every_man_page_is_as_it_was_read() {
    let place = Place::new();
    place.run("man pages").exits(0);
    let pages = fs::read_dir(place.path("pages")).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        (name, text.replace(env!("CARGO_PKG_VERSION"), "{VERSION}"))
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/pages/man");
    are_as_they_were_read(&pages.collect(), "1", &folder);
}

/// A path in the place of a command is most likely a transcript.
#[test]
fn a_path_without_a_command_is_told_of_compact() {
    let place = Place::new();
    place
        .run("in.jsonl")
        .exits(2)
        .says(&["hint: to compact a transcript: ctxpack compact in.jsonl"]);
    place.run("compakt").exits(2).says(&["'compact'"]);
}

/// Loads the completions in a shell, where it is installed; CI installs all of them.
fn loads(shell: &str, script: &str) {
    let place = Place::new();
    let text = place.run(&format!("completions {shell}")).exits(0).out;
    place.write("completions", text);
    let ran = place.command_of(shell, &["-c", script]).output();
    match ran {
        Ok(ran) => assert!(ran.status.success(), "{shell}: {ran:?}"),
        Err(error) => assert!(env::var_os("CI").is_none(), "{shell}: {error}"),
    }
}

#[test]
fn shells_load_their_completions() {
    loads(
        "bash",
        "source ./completions && complete -p ctxpack && COMP_WORDS=(ctxpack comp) COMP_CWORD=1 && _ctxpack ctxpack comp ctxpack \
         && [[ ${COMPREPLY[*]} == *compact* ]]",
    );
    loads(
        "zsh",
        "autoload -Uz compinit && compinit -u -d ./dump && source ./completions && [[ -n ${_comps[ctxpack]} ]]",
    );
    loads(
        "fish",
        "source ./completions; and complete -C 'ctxpack comp' | string match -q 'compact*'",
    );
}
