//! Files that one command finds and passes to another.
//!
//! PURE. Reads only the starting points and names of a search: all other conditions merely narrow the result.

use super::place::{By, MOST, Pattern};
use super::{Argument, PathSpec, ShellWalk, Sure, What, sequence};
use crate::facts::script::{Separator, SimpleCommand};

/// The names that the next command reads from the pipe that these commands may end with.
pub(super) fn names(before: &[SimpleCommand], walk: &ShellWalk<'_>) -> Vec<Pattern> {
    let pipe = before.iter().rev();
    let pipe = pipe.take_while(|command| command.joint == Separator::Pipe);
    // This is repeated for each command of a long pipe.
    let source = pipe
        .last()
        .and_then(|first| sequence::without_what_runs_it(&first.words))
        .filter(|words| words.len() <= MOST);
    let words = |words: &[crate::facts::script::Word]| {
        let words = words.iter().filter(|word| !word.text.starts_with('-'));
        let patterns = words.flat_map(|word| Pattern::of(word, By::Shell, &walk.values));
        patterns.collect::<Vec<_>>()
    };
    let names = match source {
        Some([program, rest @ ..]) => match &program.text[..] {
            "find" => {
                let arguments: Vec<Argument<'_>> = rest.iter().map(Argument::Word).collect();
                found(&arguments, walk)
            }
            "echo" => words(rest),
            "printf" => words(rest.get(1..).unwrap_or_default()),
            "ls" if rest.iter().any(|word| !word.gaps.is_empty()) => words(rest),
            _ => vec![Pattern::any()],
        },
        Some([]) | None => vec![Pattern::any()],
    };
    match names.len() {
        0..=MOST => names,
        _ => vec![Pattern::any()],
    }
}

/// Removes `xargs` and its flags from the words of a command.
pub(super) fn skip_flags(words: &mut Vec<Argument<'_>>) {
    /// Flags that take the next word.
    const TAKING: [&str; 9] = ["-n", "-I", "-P", "-L", "-d", "-a", "-E", "-s", "-J"];
    let mut at = 1;
    while let Some(flag) = words.get(at).filter(|word| word.text().starts_with('-')) {
        at += 1 + usize::from(TAKING.contains(&flag.text()));
    }
    words.drain(..at.min(words.len()));
}

/// The paths that a search with these arguments may find.
fn found(arguments: &[Argument<'_>], walk: &ShellWalk<'_>) -> Vec<Pattern> {
    let is_start = |word: &&Argument<'_>| !word.text().starts_with(['-', '(', '!']);
    let starts = arguments.iter().take_while(is_start);
    let mut starts: Vec<Pattern> = starts
        .flat_map(|start| start.patterns(By::Shell, &walk.values))
        .collect();
    if starts.is_empty() {
        starts.push(Pattern::path("."));
    }
    let mut names = Vec::new();
    for (number, word) in arguments.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| arguments[before].text());
        let is_negated = matches!(before, Some("!" | "-not"));
        if matches!(word.text(), "-name" | "-iname")
            && !is_negated
            && let Some(name) = arguments.get(number + 1)
        {
            names.push(Pattern::written(name.text(), By::Shell));
        }
    }
    let has_other = arguments
        .iter()
        .any(|word| matches!(word.text(), "-o" | "-or" | ","));
    let tests = arguments.iter().filter(|word| word.text().starts_with('-'));
    let are_names = tests.clone().all(|test| {
        matches!(
            test.text(),
            "-name" | "-iname" | "-o" | "-or" | "-type" | "-delete" | "-print" | "-print0"
        )
    });
    // With alternatives, a match of any other condition is enough.
    let is_open = names.is_empty() || has_other && !are_names;
    if is_open || names.len().saturating_mul(starts.len()) > MOST {
        names = vec![Pattern::any()];
    }
    let below = |start: &Pattern| {
        let names = names.clone().into_iter();
        let start = start.clone();
        names.flat_map(move |name| {
            let deep = name.below(&Pattern::any()).below(&start);
            [name.below(&start), deep]
        })
    };
    starts.iter().flat_map(below).collect()
}

impl ShellWalk<'_> {
    /// Follows a search that deletes what it finds, directly or by a command.
    pub(super) fn find(&mut self, program: &str, arguments: &[Argument<'_>]) {
        const RUNS: [&str; 8] = [
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-x",
            "-X",
            "--exec",
            "--exec-batch",
        ];
        let run = arguments
            .iter()
            .position(|word| RUNS.contains(&word.text()));
        let mut run = run.map(|at| arguments[at + 1..].iter().map(Argument::text));
        let first = run.as_mut().and_then(Iterator::next).unwrap_or_default();
        let first = first.rsplit('/').next().unwrap_or_default();
        let is_delete = arguments.iter().any(|word| word.text() == "-delete")
            || matches!(first, "rm" | "unlink" | "trash")
            || matches!(first, "sh" | "bash")
                && run
                    .clone()
                    .is_some_and(|mut run| run.any(|word| word.contains("rm ")));
        if !is_delete && first != "mv" {
            return;
        }
        let names = match program {
            "find" => found(arguments, self),
            _ => vec![Pattern::any()],
        };
        for (place, _) in self.places(&[Argument::Given(names)], By::Shell) {
            let what = match (is_delete, place) {
                (true, place) => What::Delete(place),
                (false, place @ (PathSpec::At(_) | PathSpec::Like { .. })) => What::Move {
                    from: place,
                    to: None,
                },
            };
            self.push(what, Sure::No);
        }
    }
}
