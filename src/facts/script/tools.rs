//! Tools for version control, builds, tests and formatting, one row each.
//!
//! PURE. Plain data, like the rows of the other programs.

use super::rule::{
    Program, Rule, Special, formats_if, formats_unless, open, program, strict, unless,
};

/// Flags that make test runners write their expected results.
const EXPECTED: &str = "!--update* !--snapshot-update !--force-regen !--regen* !--accept* !--bless !--overwrite* !--record* \
    !--inline-snapshot* !--test-update-snapshots !--init !--fix* !--write !--generate*";

/// The same, for runners with `-u`.
const SNAPSHOTS: &str =
    "!-u !--update* !--init !--accept* !--record* !--overwrite* -[tcr]= -[ibow]";

const SHOWS: Rule = open("!--output=");

pub(super) const TOOLS: &[Program] = &[
    program(
        "git",
        Rule::Sub {
            flags: "-C= -c= --git-dir= --work-tree= --namespace= --exec-path? --no-pager -P -p --paginate --bare \
                --no-replace-objects --literal-pathspecs --no-optional-locks --version --help -v -h --html-path",
            rules: &[
                (
                    "add annotate blame branch cat-file check-ignore commit config count-objects describe fetch \
                     for-each-ref fsck grep hash-object help init ls-files ls-remote ls-tree merge-base name-rev notes \
                     push reflog remote rev-list rev-parse shortlog show-ref status symbolic-ref tag update-index \
                     update-ref var version",
                    Rule::Reads,
                ),
                ("diff diff-tree log show whatchanged", SHOWS),
                (
                    "worktree",
                    Rule::Sub {
                        flags: "",
                        rules: &[
                            ("list add lock unlock prune", Rule::Reads),
                            ("remove move", Rule::Names),
                        ],
                    },
                ),
                (
                    "stash",
                    Rule::Sub {
                        flags: "",
                        rules: &[("", Rule::Unknown), ("list", Rule::Reads), ("show", SHOWS)],
                    },
                ),
                ("mv", Rule::Names),
                (
                    "rm",
                    Rule::Flags {
                        flags: "!--cached",
                        others: super::rule::Others::Pass,
                        with: &Rule::Reads,
                        without: &Rule::Names,
                    },
                ),
                ("apply", unless("!--check !--stat !--numstat !--summary")),
                ("checkout switch", Rule::Special(Special::Checkout)),
                ("restore", Rule::Special(Special::Restore)),
                ("reset", Rule::Special(Special::Reset)),
            ],
        },
    ),
    program(
        "cargo",
        Rule::Sub {
            flags: "+* --manifest-path= -C= -Z= --config= --color= -q --quiet -v -vv --verbose --locked --offline \
                --frozen --version -V --list --help -h",
            rules: &[
                (
                    "b build c check clippy t test bench r run d doc rustc rustdoc nextest llvm-cov",
                    open(
                        "!--fix !--allow-dirty !--allow-staged !--bless !--update* !--accept !--overwrite*",
                    ),
                ),
                (
                    "clean deny help install locate-project metadata package pkgid publish search tree verify-project \
                     version",
                    Rule::Reads,
                ),
                (
                    "audit",
                    Rule::Sub {
                        flags: "-q --quiet --json -D= --deny= --ignore= -f= --file= --color=",
                        rules: &[],
                    },
                ),
                ("fmt", unless("!--check")),
            ],
        },
    ),
    program(
        "go",
        Rule::Sub {
            flags: "-C=",
            rules: &[
                (
                    "test",
                    open("!-update* !--update* !-golden* -o= -run= -bench="),
                ),
                (
                    "build clean doc env help install list run version vet",
                    Rule::Reads,
                ),
                (
                    "tool",
                    Rule::Sub {
                        flags: "",
                        rules: &[("cover covdata nm objdump pprof trace", open("!-o="))],
                    },
                ),
                (
                    "mod",
                    Rule::Sub {
                        flags: "",
                        rules: &[("download graph verify why", Rule::Reads)],
                    },
                ),
            ],
        },
    ),
    program(
        "npm",
        Rule::Sub {
            flags: "--prefix= -C= -w= --workspace= --workspaces -ws --silent -s --loglevel= --if-present --no-audit \
                -q --quiet --version -v",
            rules: SCRIPTS,
        },
    ),
    program(
        "pnpm",
        Rule::Sub {
            flags: "-F= --filter= -C= --dir= -r --recursive -w --workspace-root --silent -s --parallel --stream \
                --if-present --reporter= --version -v",
            rules: SCRIPTS,
        },
    ),
    program(
        "yarn",
        Rule::Sub {
            flags: "--cwd= --silent -s --version -v",
            rules: &[
                ("", Rule::Unknown),
                (
                    "workspace",
                    Rule::Behind(&Rule::Sub {
                        flags: "",
                        rules: SCRIPTS,
                    }),
                ),
                ("version", Rule::Unknown),
                (
                    "*",
                    Rule::Sub {
                        flags: "",
                        rules: SCRIPTS,
                    },
                ),
            ],
        },
    ),
    program(
        "bun",
        Rule::Sub {
            flags: "--cwd= --silent --bun -b --filter= -F= --hot --watch --version -v --revision",
            rules: SCRIPTS,
        },
    ),
    program(
        "deno",
        Rule::Sub {
            flags: "-q --quiet --version -V",
            rules: &[
                ("test bench check", open(EXPECTED)),
                ("lint", formats_if("!--fix")),
                ("fmt", formats_unless("!--check")),
                ("info doc types", Rule::Reads),
                ("task", Rule::Script),
            ],
        },
    ),
    program("pytest py.test", open(EXPECTED)),
    program("jest vitest", open(SNAPSHOTS)),
    program("pyright", open("!--createstub=")),
    program("flake8", open("!--output-file= !--tee")),
    program(
        "playwright",
        Rule::Sub {
            flags: "",
            rules: &[
                ("test", open("!-u !--update* -[cgjx]=")),
                ("install install-deps show-report show-trace", Rule::Reads),
            ],
        },
    ),
    program(
        "coverage",
        Rule::Sub {
            flags: "",
            rules: &[("report html xml json lcov combine erase", Rule::Reads)],
        },
    ),
    program(
        "make gmake",
        Rule::Tasks {
            flags: "-C= -f= -I= -o= -W= -j? --directory= --file=",
            names: "",
        },
    ),
    program(
        "just task rake",
        Rule::Tasks {
            flags: "-f= -d= -t= --justfile= --taskfile= --dir=",
            names: "",
        },
    ),
    program(
        "gradle gradlew",
        Rule::Tasks {
            flags: "-p= -b= -c= -I= -x= --project-dir= --tests= --exclude-task= -P? -D?",
            names: "assemble* boot* bundle* classes compile* connected* dependencies detekt help installDebug jacoco* jar \
                ktlintCheck projects properties spotlessCheck tasks war",
        },
    ),
    program(
        "mvn mvnw",
        Rule::Tasks {
            flags: "-f= -pl= -P= -T= -s= -l= -D= -rf= --file= --projects= --threads= --settings=",
            names: "compile dependency:* exec:java failsafe:* help:* install jacoco:* package spring-boot:run surefire:* validate \
                verify versions:display*",
        },
    ),
    program(
        "cmake",
        Rule::Makes(&open(
            "!-E !-P !--install -D= -B= -S= -G= -U= -C= -W? -A= -T= --build= --preset= --target= --config=",
        )),
    ),
    program(
        "swift",
        Rule::Sub {
            flags: "--version",
            rules: &[("build run test", Rule::Reads)],
        },
    ),
    program(
        "mix",
        Rule::Sub {
            flags: "--version",
            rules: &[(
                "compile credo dialyzer docs test deps deps.get deps.compile deps.tree ecto.create ecto.migrate \
                 ecto.rollback ecto.drop ecto.setup ecto.reset hex.info hex.outdated hex.audit phx.routes phx.server",
                Rule::Reads,
            )],
        },
    ),
    program(
        "mise asdf",
        Rule::Sub {
            flags: "-q -v -y --version",
            rules: &[
                ("run", Rule::Script),
                ("trust install ls list current which", Rule::Reads),
            ],
        },
    ),
    program(
        "black",
        formats_unless(
            "!--check !--diff !-c= !--code= -l= -t= -[CSqv] --line-length= --target-version=",
        ),
    ),
    program(
        "isort",
        formats_unless(
            "!-c !--check !--check-only !--diff !--df !-d !--stdout -l= --line-length= --profile=",
        ),
    ),
    // It also formats the modules of a file.
    program(
        "rustfmt",
        unless("!--check --edition= --config= --config-path= -l"),
    ),
    program("prettier oxfmt", formats_if("!-w !--write")),
    program("gofmt goimports gofumpt", formats_if("!-w -r= -local=")),
    program("clang-format", formats_if("!-i -style= --style=")),
    program(
        "eslint stylelint",
        formats_if("!--fix !-o= !--output-file= -c= -f= --config= --format="),
    ),
    program("oxlint", formats_if("!--fix*")),
    program(
        "rubocop",
        formats_if("!-[aAxo] !--autocorrect* !--auto-correct* !--auto-gen-config !--fix* !--out="),
    ),
    program("pylint", open("!--output= !--generate*")),
    program(
        "ruff",
        Rule::Sub {
            flags: "--config= -q -v -s --isolated --quiet --silent --verbose --version",
            rules: &[
                ("check", RUFF),
                ("format", formats_unless("!--check !--diff")),
                ("rule config linter version clean analyze", Rule::Reads),
                ("*", RUFF),
            ],
        },
    ),
    program(
        "biome",
        Rule::Sub {
            flags: "--config-path= --colors= --version",
            rules: &[
                (
                    "check lint format ci",
                    formats_if("!--write !--fix !--apply* !--unsafe !--suppress"),
                ),
                ("version rage explain", Rule::Reads),
            ],
        },
    ),
    program(
        "golangci-lint",
        Rule::Sub {
            flags: "-v --verbose --version",
            rules: &[
                ("run", formats_if("!--fix")),
                ("linters version cache help config", Rule::Reads),
            ],
        },
    ),
];

const RUFF: Rule =
    formats_if("!--fix !--fix-only !--add-noqa !--unsafe-fixes !-o= !--output-file=");

/// The rules for package managers with scripts.
const SCRIPTS: &[(&str, Rule)] = &[
    (
        "ls list view info outdated why whoami explain ping search root bin pack help",
        open("!--pack-destination="),
    ),
    (
        "audit",
        Rule::Sub {
            flags: "--json --production --prod --dev -P -D --omit= --audit-level= --level= --groups= --severity= \
                --registry=",
            rules: &[("signatures", Rule::Reads)],
        },
    ),
    (
        "version",
        Rule::Sub {
            flags: "--json",
            rules: &[],
        },
    ),
    (
        "config",
        Rule::Sub {
            flags: "",
            rules: &[("get list ls", strict("--json -l -g --global --location="))],
        },
    ),
    (
        "run run-script",
        Rule::Sub {
            flags: "--silent -s --if-present -w= --workspace= --workspaces -ws --prefix= --bun -b --filter= -r --recursive \
                --parallel --stream",
            rules: &[("*", Rule::Script)],
        },
    ),
    ("*", Rule::Script),
];
