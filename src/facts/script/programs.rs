//! Programs that are known to leave the sources of a project alone, and those that are known to change the files that they name.
//!
//! PURE. Plain lists, and what subcommands and flags make of a program. Names no program that it is not sure of.

/// Programs that write no file but where their output goes.
pub(super) const HARMLESS: &[&str] = &[
    "[",
    "[[",
    "ag",
    "alias",
    "apt",
    "apt-cache",
    "apt-get",
    "aws",
    "az",
    "base64",
    "basename",
    "bat",
    "bd",
    "break",
    "brew",
    "cal",
    "cat",
    "cd",
    "chmod",
    "cksum",
    "clang",
    "clear",
    "cloc",
    "cmake",
    "cmp",
    "code",
    "column",
    "comm",
    "continue",
    "ctest",
    "curl",
    "cut",
    "date",
    "df",
    "diff",
    "dig",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "export",
    "expr",
    "false",
    "fd",
    "ffprobe",
    "fgrep",
    "file",
    "flake8",
    "fly",
    "fold",
    "for",
    "free",
    "g++",
    "gcc",
    "gcloud",
    "gem",
    "getconf",
    "glab",
    "go",
    "gradle",
    "gradlew",
    "grep",
    "groups",
    "head",
    "helm",
    "heroku",
    "hexdump",
    "history",
    "host",
    "hostname",
    "htop",
    "id",
    "identify",
    "ip",
    "javac",
    "jest",
    "jobs",
    "journalctl",
    "jq",
    "kill",
    "killall",
    "kubectl",
    "launchctl",
    "ld",
    "less",
    "locale",
    "ls",
    "lsblk",
    "lsof",
    "man",
    "md5sum",
    "mkdir",
    "more",
    "mvn",
    "mvnw",
    "mypy",
    "mysql",
    "nc",
    "netstat",
    "ninja",
    "nl",
    "nm",
    "notify-send",
    "nproc",
    "nvm",
    "objdump",
    "od",
    "open",
    "openssl",
    "pgrep",
    "ping",
    "pip",
    "pip3",
    "pipx",
    "pkill",
    "playwright",
    "popd",
    "printenv",
    "printf",
    "ps",
    "psql",
    "pushd",
    "pwd",
    "pyright",
    "pytest",
    "read",
    "readlink",
    "realpath",
    "redis-cli",
    "return",
    "rg",
    "rustc",
    "rustup",
    "say",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "shasum",
    "shellcheck",
    "shift",
    "sleep",
    "sqlite3",
    "ss",
    "ssh-add",
    "stat",
    "strings",
    "stripe",
    "sw_vers",
    "swift",
    "systemctl",
    "tac",
    "tail",
    "test",
    "tokei",
    "top",
    "touch",
    "tox",
    "tput",
    "tr",
    "tree",
    "true",
    "tsc",
    "tsgo",
    "type",
    "ulimit",
    "umask",
    "uname",
    "uniq",
    "unset",
    "uptime",
    "vercel",
    "vitest",
    "vue-tsc",
    "wait",
    "wc",
    "whereis",
    "which",
    "who",
    "whoami",
    "xcodebuild",
    "xdg-open",
    "xxd",
    "yq",
    "zcat",
    "zipinfo",
];

/// Programs that change the files that they name.
pub(super) const CHANGING: &[&str] = &[
    "cp", "install", "ln", "mv", "rm", "rmdir", "rsync", "shred", "sponge", "tee", "trash",
    "truncate", "unlink",
];

/// Words of a harmless program's arguments with which it changes files that nobody named.
pub(super) const CHANGES: &[(&str, &[&str])] = &[
    (
        "curl",
        &["-o", "-O", "--output", "--remote-name", "-OL", "-LO", "-Lo"],
    ),
    ("jest", &["-u", "--updateSnapshot"]),
    ("swift", &["format"]),
    ("vitest", &["-u", "--update"]),
    ("yq", &["-i", "--inplace"]),
    ("go", &["fmt", "fix", "generate", "get", "mod", "work"]),
    ("gradle", &["spotlessApply", "ktlintFormat", "wrapper"]),
    ("gradlew", &["spotlessApply", "ktlintFormat", "wrapper"]),
    ("mvn", &["spotless:apply", "formatter:format"]),
];

pub(super) fn is_harmless_git(words: &[&str]) -> bool {
    const ALWAYS: &[&str] = &[
        "add",
        "blame",
        "branch",
        "cat-file",
        "check-ignore",
        "commit",
        "config",
        "count-objects",
        "describe",
        "diff",
        "diff-tree",
        "fetch",
        "for-each-ref",
        "fsck",
        "grep",
        "hash-object",
        "help",
        "init",
        "log",
        "ls-files",
        "ls-remote",
        "ls-tree",
        "merge-base",
        "name-rev",
        "notes",
        "push",
        "reflog",
        "remote",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "show-ref",
        "status",
        "symbolic-ref",
        "tag",
        "update-index",
        "update-ref",
        "var",
        "version",
        "--version",
        "whatchanged",
        "worktree",
    ];
    match words {
        ["stash", "list" | "show", ..] | ["checkout", "-b" | "-B"] | ["switch", "-c" | "-C"] => {
            true
        }
        ["checkout", "-b", _] | ["switch", "-c", _] => true,
        ["restore", rest @ ..] | ["reset", rest @ ..] => {
            let is_hard = rest
                .iter()
                .any(|word| matches!(*word, "--hard" | "--merge" | "--keep" | "--worktree" | "-W"));
            !is_hard && (words[0] == "reset" || rest.contains(&"--staged") || rest.contains(&"-S"))
        }
        ["rm", rest @ ..] => rest.contains(&"--cached"),
        ["apply", rest @ ..] => rest.contains(&"--check") || rest.contains(&"--stat"),
        [first, ..] => ALWAYS.contains(first),
        [] => true,
    }
}

pub(super) fn is_harmless_cargo<'w>(words: impl Iterator<Item = &'w str> + Clone) -> bool {
    const ALWAYS: &[&str] = &[
        "audit",
        "b",
        "bench",
        "build",
        "c",
        "check",
        "clean",
        "clippy",
        "d",
        "deny",
        "doc",
        "help",
        "install",
        "llvm-cov",
        "locate-project",
        "metadata",
        "nextest",
        "package",
        "pkgid",
        "publish",
        "r",
        "run",
        "rustc",
        "rustdoc",
        "search",
        "t",
        "test",
        "tree",
        "verify-project",
        "version",
        "-V",
        "--version",
    ];
    let mut subcommands = words
        .clone()
        .filter(|word| !word.starts_with('+') && !word.starts_with("--") || *word == "--version");
    let first = subcommands.next();
    let (mut checks, mut fixes) = (false, false);
    for word in words {
        checks |= word == "--check";
        fixes |= word == "--fix" || word == "--allow-dirty";
    }
    match first {
        Some("fmt") => checks,
        Some(word) => ALWAYS.contains(&word) && !fixes,
        None => true,
    }
}

/// Whether a command of containers runs nothing in one, where folders of the project may be.
pub(super) fn is_harmless_container<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    const ALWAYS: &[&str] = &[
        "build", "config", "down", "images", "info", "inspect", "kill", "login", "logs", "network",
        "ps", "pull", "push", "rm", "rmi", "stats", "stop", "top", "version", "volume", "wait",
    ];
    let mut words = words.filter(|word| !word.starts_with('-') && *word != "compose");
    words.next().is_none_or(|word| ALWAYS.contains(&word))
}

/// Whether a script of a package only builds or tests, by its name.
pub(super) fn is_harmless_script<'w>(words: impl Iterator<Item = &'w str> + Clone) -> bool {
    let mut names = words.clone().filter(|word| !word.starts_with('-'));
    let mut name = names.next();
    if let Some("run" | "run-script" | "task" | "workspace" | "--filter") = name {
        name = names.next();
    }
    let mut words = words;
    let fixes = words.any(|word| matches!(word, "--fix" | "--write" | "-w" | "-u" | "--update"));
    match name {
        Some(
            "ls" | "list" | "view" | "info" | "outdated" | "audit" | "why" | "version" | "whoami"
            | "config" | "pack" | "x",
        )
        | None => !fixes,
        Some(name) => is_of_builds(name) && !fixes,
    }
}

/// Whether a target or a script has the name of a build, a check, or a test.
pub(super) fn is_of_builds(name: &str) -> bool {
    const PARTS: &[&str] = &[
        "build", "test", "check", "lint", "type", "tsc", "dev", "start", "serve", "preview",
        "bench", "spec", "all", "run", "e2e", "coverage", "ci", "vet", "docs", "clean",
    ];
    const NOT: &[&str] = &[
        "fix", "format", "fmt", "write", "gen", "update", "migrat", "install", "codemod",
    ];
    let name = name.to_ascii_lowercase();
    let words = || name.split([':', '-', '_', '.', '/']);
    words().any(|word| PARTS.iter().any(|part| word.starts_with(part)))
        && !words().any(|word| NOT.iter().any(|part| word.starts_with(part)))
}

/// Whether a formatter or a linter only says what it would do.
pub(super) fn only_checks<'w>(
    program: &str,
    mut words: impl Iterator<Item = &'w str> + Clone,
) -> bool {
    let has = |flags: &[&str]| {
        words
            .clone()
            .any(|word| flags.iter().any(|flag| word.starts_with(flag)))
    };
    let changes = has(&[
        "--fix",
        "--write",
        "-w",
        "-i",
        "-a",
        "-A",
        "--apply",
        "--autocorrect",
        "format",
        "fmt",
        "--unsafe",
    ]);
    let checks = has(&["--check", "--diff", "--dry-run", "-l", "-d", "--version"]);
    match program {
        // These change files unless they are told not to.
        "black" | "isort" | "rustfmt" => checks,
        _ => !changes || checks && words.all(|word| !matches!(word, "-w" | "--write" | "--fix")),
    }
}

/// Whether a command of PowerShell only shows something.
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

/// Whether the first word behind a program asks it for something.
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
