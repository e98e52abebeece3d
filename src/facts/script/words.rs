//! What single words reveal about a command: names of builds and tests, queries, PowerShell commands.
//!
//! PURE. Plain lists. Looks at no flags.

use super::args::FlagList;

/// Words for fetching files, in tools for services.
pub(super) const FETCHES: &str = "cp mv sync rsync pull download export get-object* invoke init clone checkout restore copy scp \
    create-hook fetch eject link";

/// Flags that make scripts change sources.
pub(super) const FIXES: FlagList =
    "!--fix* !--write !-w !-u !--update* !--apply* !--accept* !--overwrite* !--init";

/// Whether a target or a script has the name of a build, a check, or a test.
pub(super) fn is_of_builds(name: &str) -> bool {
    const PARTS: [&str; 20] = [
        "build", "test", "check", "lint", "type", "tsc", "dev", "start", "serve", "preview",
        "bench", "spec", "all", "run", "e2e", "coverage", "ci", "vet", "docs", "clean",
    ];
    /// Parts of words for tasks that change sources.
    const NOT: [&str; 13] = [
        "format", "write", "update", "generat", "migrat", "install", "codemod", "snapshot",
        "record", "bless", "accept", "bump", "scaffold",
    ];
    /// The same, only at the beginning or the end of a word.
    const ENDS: [&str; 4] = ["fix", "fmt", "gen", "sync"];
    let name = name.to_ascii_lowercase();
    let words = || name.split([':', '-', '_', '.', '/']);
    let changes = |word: &str| {
        NOT.iter().any(|part| word.contains(part))
            || ENDS
                .iter()
                .any(|part| word.starts_with(part) || word.ends_with(part))
    };
    words().any(|word| PARTS.iter().any(|part| word.starts_with(part))) && !words().any(changes)
}

/// Whether a PowerShell command only shows something.
pub(super) fn is_harmless_cmdlet(name: &str) -> bool {
    const VERBS: &[&str] = &[
        "compare",
        "convertfrom",
        "convertto",
        "foreach",
        "format",
        "get",
        "group",
        "join",
        "measure",
        "resolve",
        "select",
        "sort",
        "split",
        "test",
        "where",
    ];
    const OTHERS: &[&str] = &[
        "invoke-pester",
        "out-null",
        "out-string",
        "start-sleep",
        "write-host",
        "write-output",
        "set-location",
    ];
    let name = name.to_ascii_lowercase();
    let verb = name.split_once('-').map(|(verb, _)| verb);
    verb.is_some_and(|verb| VERBS.contains(&verb)) || OTHERS.contains(&&name[..])
}

/// Whether the first word after a program only queries it.
pub(super) fn asks(word: Option<&str>) -> bool {
    const ASKING: &[&str] = &[
        "--help",
        "--version",
        "-V",
        "-h",
        "describe",
        "help",
        "info",
        "list",
        "logs",
        "ls",
        "ready",
        "search",
        "show",
        "status",
        "version",
        "view",
        "whoami",
    ];
    word.is_some_and(|word| ASKING.contains(&word))
}
