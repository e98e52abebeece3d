//! What commands may change in a project's files: nothing, the files that they name, or anything.
//!
//! PURE. A program counts as harmless only if it is known to be: any other program, and any unknown flag that matters, may have
//! written anything. Builds and tests are assumed to leave sources alone.

use super::args::{Args, FlagList, FlagMeaning, FlagScope};
use super::call::{Call, Effects, NOTHING, Run, named, or_anything};
use super::programs::rule;
use super::rule::{Others, Rule, Special, is_one_of};
use super::wrappers::{Unwrapped, assigned, strip};
use super::{ExpansionSite, Missing, SimpleCommand, Word, WordKind, commands, special, words};

/// The maximum depth of commands passed to commands.
const DEEPEST: usize = 6;

/// What a shell script may have changed.
pub(in crate::facts) fn effects(text: &str) -> Effects {
    within(text, 0)
}

/// Whether a command may create a file or a folder at one of its arguments. A command that changes no existing file counts only if
/// it is known to create files.
pub(in crate::facts) fn may_make(command: &SimpleCommand) -> bool {
    let makes = |words: &[Word]| {
        let program = words.first().map_or("", |word| &word.text[..]);
        let rule = rule(program.rsplit('/').next().unwrap_or_default());
        matches!(rule, Some(Rule::Makes(_)))
    };
    of_command(command, 0) != NOTHING
        || match strip(&command.words) {
            Unwrapped::Command(words) | Unwrapped::Elsewhere(words) | Unwrapped::Unsure(words) => {
                makes(words)
            }
            Unwrapped::Nothing => false,
        }
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

fn of_command(command: &SimpleCommand, depth: usize) -> Effects {
    let document = command.document.as_deref();
    let words = match strip(&command.words) {
        Unwrapped::Command(words) | Unwrapped::Elsewhere(words) => words,
        Unwrapped::Unsure(_) => return Effects::Anything,
        // Possibly a shell that reads a here-document.
        Unwrapped::Nothing if document.is_some() && !command.words.is_empty() => {
            return Effects::Anything;
        }
        Unwrapped::Nothing => return NOTHING,
    };
    let before = &command.words[..command.words.len() - words.len()];
    match words.split_first() {
        _ if depth >= DEEPEST || before.iter().any(has_results_written) => Effects::Anything,
        None => NOTHING,
        Some((program, _)) if program.kind == WordKind::Expanded => Effects::Anything,
        Some((program, arguments)) => of_program(&Call {
            program: program.text.rsplit('/').next().unwrap_or_default(),
            arguments,
            document,
            depth,
        })
        // An executable produced by a build; not a script.
        .or_else(|| (is_built(&program.text) && !program.text.ends_with("sh")).then_some(NOTHING))
        .unwrap_or(Effects::Anything),
    }
}

/// What a program may change; `None` if unknown.
fn of_program(call: &Call<'_>) -> Option<Effects> {
    let first = call.arguments.first().map(|word| &word.text[..]);
    match rule(call.program) {
        // Asking any program for help or its version changes nothing.
        Some(_) if matches!(first, Some("--help" | "--version")) => Some(NOTHING),
        Some(rule) => Some(call.judged(rule, call.arguments)),
        None if words::is_harmless_cmdlet(call.program) => Some(call.run(special::cmdlet(call))),
        None => words::asks(first).then_some(NOTHING),
    }
}

/// Whether no flag says anything of what is written.
fn are_plain(args: &Args<'_>) -> bool {
    let mut flags = args.flags.iter();
    flags.all(|flag| flag.means == FlagMeaning::Plain)
}

/// What a program does that writes the one operand behind the first `most`.
fn of_operands(flags: FlagList, most: usize, words: &[Word]) -> Effects {
    let args = Args::parse(words, flags, FlagScope::All);
    match args.operands.get(most..) {
        _ if args.has(FlagMeaning::Unknown) => Effects::Anything,
        None | Some([]) => NOTHING,
        Some([written]) if written.kind == WordKind::Literal => {
            Effects::Paths(vec![written.text.clone()])
        }
        Some(_) => Effects::Anything,
    }
}

/// Whether a word names a task of builds, or is none: an assignment or a number.
fn is_harmless_task(word: &Word, names: &str) -> bool {
    let text = &word.text[..];
    let last = text.rsplit(':').next().unwrap_or_default();
    word.kind == WordKind::Literal
        && (words::is_of_builds(text) || is_one_of(text, names) || is_one_of(last, names))
        || assigned(text).is_some()
        || !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// What a script of a package does, by its name.
fn of_script(words: &[Word]) -> Effects {
    let Some((name, behind)) = words.split_first() else {
        return NOTHING;
    };
    let behind = without_ends(behind);
    let args = Args::parse(&behind, words::FIXES, FlagScope::All);
    let fixes = args.has(FlagMeaning::Marked) || args.has(FlagMeaning::Possibly);
    let is_literal = name.kind == WordKind::Literal;
    or_anything(is_literal && words::is_of_builds(&name.text) && !fixes)
}

impl Call<'_> {
    /// Applies a rule to some of the arguments.
    fn judged(&self, rule: &'static Rule, words: &[Word]) -> Effects {
        match rule {
            Rule::Reads => NOTHING,
            Rule::Unknown => Effects::Anything,
            Rule::Names => named(self.arguments),
            Rule::Formats => formatted(words),
            Rule::Flags {
                flags,
                others,
                with,
                without,
            } => {
                // The words after `--` belong to another program, which may have the same flags.
                let words: Vec<Word> = without_ends(words);
                let args = Args::parse(&words, flags, FlagScope::All);
                if *others == Others::Unknown && args.has(FlagMeaning::Unknown) {
                    return Effects::Anything;
                }
                let is_given = args.flags.iter().any(|flag| match flag.means {
                    FlagMeaning::Marked => !is_a_stream(flag.value),
                    FlagMeaning::Possibly => !matches!(with, Rule::Reads),
                    FlagMeaning::Plain | FlagMeaning::Unknown => false,
                });
                match is_given {
                    true => self.judged(with, &words),
                    false => self.judged(without, &words),
                }
            }
            Rule::Sub { flags, rules } => self.of_sub(flags, rules, words),
            Rule::Operands { flags, most } => of_operands(flags, *most, words),
            Rule::Finds { flags } => {
                let args = Args::parse(words, flags, FlagScope::All);
                let only_reads = args.commands.iter().all(|run| self.only_reads(run));
                or_anything(are_plain(&args) && only_reads)
            }
            Rule::Runs { flags } => {
                let args = Args::parse(words, flags, FlagScope::Leading);
                or_anything(are_plain(&args) && self.only_reads(args.rest))
            }
            Rule::Tasks { flags, names } => {
                let args = Args::parse(words, flags, FlagScope::All);
                let is_harmless = |word: &&Word| is_harmless_task(word, names);
                or_anything(args.operands.iter().all(is_harmless))
            }
            Rule::Script => of_script(words),
            Rule::Makes(rule) => self.judged(rule, words),
            Rule::Behind(rule) => self.judged(rule, words.get(1..).unwrap_or_default()),
            Rule::Asks(verbs) => {
                let plain = words.iter().filter(|word| !word.text.starts_with('-'));
                let mut first = plain.take(5).map(|word| &word.text[..]);
                let fetches = first.clone().any(|word| is_one_of(word, words::FETCHES));
                or_anything(!fetches && first.any(|word| is_one_of(word, verbs)))
            }
            Rule::Says { texts, otherwise } => {
                let says = |text: &str| {
                    let text = text.to_ascii_lowercase();
                    texts.iter().any(|part| text.contains(part))
                };
                match words.iter().any(|word| says(&word.text)) || self.document.is_some_and(says) {
                    true => Effects::Anything,
                    false => self.judged(otherwise, words),
                }
            }
            Rule::Special(kind) => self.special(*kind, words),
        }
    }

    /// What the rule of a subcommand says.
    fn of_sub(
        &self,
        flags: FlagList,
        rules: &'static [(&'static str, Rule)],
        words: &[Word],
    ) -> Effects {
        let args = Args::parse(words, flags, FlagScope::Leading);
        if !are_plain(&args) {
            return Effects::Anything;
        }
        let by = |name: &str| rules.iter().find(|(names, _)| *names == name);
        let Some((sub, behind)) = args.rest.split_first() else {
            return by("").map_or(NOTHING, |(_, rule)| self.judged(rule, &[]));
        };
        let found = rules.iter().find(|(names, _)| is_one_of(&sub.text, names));
        match (found, by("*")) {
            _ if sub.kind == WordKind::Expanded => Effects::Anything,
            (Some((_, rule)), _) => self.judged(rule, behind),
            (None, Some((_, rule))) => self.judged(rule, args.rest),
            (None, None) => Effects::Anything,
        }
    }

    fn special(&self, kind: Special, words: &[Word]) -> Effects {
        match kind {
            Special::Sed => special::sed(self),
            Special::Awk => or_anything(special::awk_only_reads(words)),
            Special::Shell => self.run(special::shell(self)),
            Special::PowerShell => self.run(special::power_shell(self)),
            Special::Interpreter => self.run(special::interpreter(self)),
            Special::Patch => self.document.map_or(Effects::Anything, |patch| {
                Effects::Paths(special::patched(patch))
            }),
            Special::Source => or_anything(
                words
                    .iter()
                    .any(|word| word.text.starts_with("venv") || word.text.ends_with("activate")),
            ),
            Special::Dd => {
                let of = words.iter().find_map(|word| word.text.strip_prefix("of="));
                let paths = of.map(str::to_owned).into_iter().collect();
                match words.iter().any(|word| word.kind == WordKind::Expanded) {
                    true => Effects::Anything,
                    false => Effects::Paths(paths),
                }
            }
            Special::Tar => or_anything(special::tar_only_lists(words)),
            Special::Wget => or_anything(special::wget_only_shows(words)),
            Special::Checkout => match words {
                [flag, _] | [flag] if is_one_of(&flag.text, "-b -B -c -C --create") => NOTHING,
                words => self.named_behind_end(words),
            },
            Special::Restore => {
                let args = Args::parse(
                    words,
                    "-[SWqpm23] -s= --source= --staged --worktree",
                    FlagScope::All,
                );
                let has = |names: &str| args.flags.iter().any(|f| is_one_of(&f.name, names));
                match has("-S --staged") && !has("-W --worktree") && !args.has(FlagMeaning::Unknown)
                {
                    true => NOTHING,
                    false => self.named_behind_end(words),
                }
            }
            Special::Reset => {
                let args = Args::parse(
                    words,
                    "!--hard !--merge !--keep --soft --mixed --quiet -[qNp]",
                    FlagScope::All,
                );
                or_anything(
                    args.flags
                        .iter()
                        .all(|flag| flag.means == FlagMeaning::Plain),
                )
            }
        }
    }

    /// What the commands run by a program may change.
    fn run(&self, run: Run<'_>) -> Effects {
        match run {
            Run::Itself(effects) => effects,
            Run::Text(text) => within(text, self.depth + 1),
            Run::Words(words) => {
                let command = SimpleCommand {
                    words: words.to_vec(),
                    document: self.document.map(str::to_owned),
                    ..SimpleCommand::default()
                };
                of_command(&command, self.depth + 1)
            }
        }
    }

    /// The files after `--`; anything without it.
    fn named_behind_end(&self, words: &[Word]) -> Effects {
        match words.iter().any(|word| word.text == "--") {
            true => named(self.arguments),
            false => Effects::Anything,
        }
    }

    /// Whether a command changes nothing when run with unknown file names.
    fn only_reads(&self, words: &[Word]) -> bool {
        let mut words = words.to_vec();
        if !words.is_empty() {
            let gap = ExpansionSite {
                at: 0,
                what: Missing::Anything,
            };
            let given = Word {
                text: String::new(),
                kind: WordKind::Expanded,
                gaps: vec![gap],
            };
            words.push(given);
        }
        let command = SimpleCommand {
            words,
            ..SimpleCommand::default()
        };
        of_command(&command, self.depth + 1) == NOTHING
    }
}

/// The files that a formatter names, if it names nothing else.
fn formatted(words: &[Word]) -> Effects {
    /// Flags whose value is not a file to format.
    const FLAGS: &str = "--config= -c= --config-path= --ext= --format= -f= --line-length= -l= --select= --ignore= --rule= \
        --parser= --ignore-path= --cache-location= -r= --fix-type= --max-warnings= --plugin= --fixable= --extend-select= \
        -t= --target-version= --profile= --output-file= -o= --exclude= --style=";
    let args = Args::parse(words, FLAGS, FlagScope::All);
    let is_file = |word: &&Word| {
        let text = &word.text[..];
        word.kind == WordKind::Literal
            && text.len() > 1
            && text.contains(['/', '.'])
            && !text.contains(['*', '?', '[', '{'])
    };
    match args.operands.iter().all(is_file) && !args.operands.is_empty() {
        true => Effects::Paths(args.operands.iter().map(|word| word.text.clone()).collect()),
        false => Effects::Anything,
    }
}

fn without_ends(words: &[Word]) -> Vec<Word> {
    let words = words.iter().filter(|word| word.text != "--");
    words.cloned().collect()
}

/// Whether the value of an output flag is a stream rather than a file.
fn is_a_stream(value: Option<&str>) -> bool {
    value.is_some_and(|value| value == "-" || value.starts_with("/dev/"))
}

/// Whether a variable makes tests write their expected results.
fn has_results_written(word: &Word) -> bool {
    const NAMES: [&str; 6] = [
        "UPDATE",
        "BLESS",
        "REGEN",
        "SNAPSHOT",
        "GOLDEN",
        "OVERWRITE",
    ];
    assigned(&word.text).is_some_and(|(name, value)| {
        let name = name.to_ascii_uppercase();
        !matches!(value, "" | "0" | "no" | "false") && NAMES.iter().any(|part| name.contains(part))
    })
}

/// Whether a program is one below the folder of a build.
fn is_built(program: &str) -> bool {
    program.contains("target/debug/") || program.contains("target/release/")
}
