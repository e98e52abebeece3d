//! The control flow of a script: which commands must have succeeded if the script did.
//!
//! PURE.

use super::Sure;
use crate::facts::script::{Separator, SimpleCommand, Unwrapped, Word, strip};

/// For each command, whether it succeeded, given that the whole script did.
pub(super) fn certainty(commands: &[SimpleCommand]) -> Vec<Sure> {
    /// Words after which a command may not run or may not be the last one.
    const UNSURE: [&str; 19] = [
        "if", "elif", "else", "then", "fi", "while", "until", "do", "done", "for", "case",
        "select", "function", "!", "exit", "return", "exec", "trap", "break",
    ];
    let first = |command: &SimpleCommand| {
        command
            .words
            .first()
            .map_or("", |word| &word.text)
            .to_owned()
    };
    let is_unsure = |command: &SimpleCommand| {
        command.joint == Separator::Or || UNSURE.contains(&&first(command)[..])
    };
    if commands.iter().any(is_unsure) {
        return vec![Sure::No; commands.len()];
    }
    // From there on, the first failing command ends the script.
    let strict = commands.iter().position(|command| {
        let mut flags = command.words.iter().skip(1).map(|word| &word.text[..]);
        let is_it = |flag: &str| flag == "errexit" || is_short(flag) && flag.contains('e');
        first(command) == "set" && flags.any(is_it)
    });
    let is_loose = |command: &SimpleCommand| {
        first(command) == "set" && command.words.iter().any(|word| word.text.starts_with('+'))
    };
    let strict = strict.filter(|_| !commands.iter().any(is_loose));
    let mut sure = vec![Sure::No; commands.len()];
    // Whether what follows runs only if this command succeeded.
    let (mut is_and, mut is_last) = (true, true);
    for (number, command) in commands.iter().enumerate().rev() {
        let is_end = command.words.len() == 1 && first(command) == "}";
        let is_whole = command.closes > 0 || is_end;
        let is_own = match command.joint {
            Separator::End | Separator::And => true,
            Separator::Sequence => is_last || strict.is_some_and(|strict| strict < number),
            // Only the status of the last one in a pipe counts.
            Separator::Pipe if !is_whole => {
                is_last = false;
                continue;
            }
            Separator::Pipe | Separator::Or | Separator::Background => false,
        };
        is_and &= is_own;
        if is_end {
            continue;
        }
        is_last = false;
        if is_and {
            sure[number] = Sure::Yes;
        }
    }
    sure
}

fn is_short(flag: &str) -> bool {
    flag.starts_with('-') && !flag.starts_with("--")
}

/// Whether the word after a shell's flag is a script to run.
pub(super) fn runs_text(flag: &str) -> bool {
    is_short(flag) && flag.ends_with('c') && flag.len() <= 5
}

/// The words of a command without its wrappers; `None` if there are none, or if it runs elsewhere.
pub(super) fn without_what_runs_it(words: &[Word]) -> Option<&[Word]> {
    match strip(words) {
        Unwrapped::Command(words) | Unwrapped::Unsure(words) => {
            (!words.is_empty()).then_some(words)
        }
        Unwrapped::Elsewhere(_) | Unwrapped::Nothing => None,
    }
}
