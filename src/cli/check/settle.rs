//! Handles a difference: shows it, rewrites the goldens, or asks the user.
//!
//! Goldens are replaced only if `--update` or the user says so. Without a terminal, `--review` writes `.new` files beside them.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use super::cases::{Case, Part};
use super::verdict::{Difference, Golden, Verdict};
use crate::batch::Stdin;
use crate::error::Result;
use crate::outcome::path_text;
use crate::store::atomic::{Existing, Mode, remove, write};
use crate::store::folder::Durability;
use crate::store::{Missing, OpenPath};
use crate::text::printable;

/// What to do about differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settling {
    Show,
    Update,
    /// After all cases were run.
    Review,
}

/// Writes the goldens that would make a case as expected. This settles what an earlier review has written next to them, so these
/// files are removed.
pub(super) fn update(case: &Case, difference: Difference) -> Result<Verdict> {
    for Golden { path, bytes } in &difference.goldens {
        write_plain(path, bytes)?;
    }
    if !difference.goldens.is_empty() {
        for part in [Part::Expected, Part::Stats, Part::Replay, Part::Counts] {
            let new = with_new(&case.file(part));
            if new.symlink_metadata().is_ok_and(|seen| seen.is_file()) {
                let spot = OpenPath::named(&new, Missing::Refuse)?;
                remove(&spot, &spot.read()?)?;
            }
        }
    }
    if difference.beyond.is_empty() {
        return Ok(Verdict::Updated);
    }
    // If the case still differs, says what was accepted.
    let mut lasting = difference.beyond;
    for Golden { path, .. } in &difference.goldens {
        lasting.push_str(&format!("  written: {}\n", printable(&path_text(path))));
    }
    Ok(Verdict::Differs(Difference::lasting(lasting)))
}

/// Asks about each case that differs, or writes the new goldens next to the old ones.
pub(super) fn review(cases: &mut [(Case, Verdict)], stop: &AtomicUsize) -> Result<()> {
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    let mut asked = match is_terminal {
        true => Some(BufReader::new(Stdin::open(stop)?)),
        false => None,
    };
    let mut is_over = false;
    for (case, verdict) in cases {
        let Verdict::Differs(difference) = verdict else {
            continue;
        };
        if difference.goldens.is_empty() || is_over {
            continue;
        }
        let Some(answers) = &mut asked else {
            let noted = beside(difference);
            match noted {
                Ok(said) => difference.how.push_str(&said),
                Err(error) => *verdict = Verdict::Failed(error),
            }
            continue;
        };
        match ask(case, difference, answers)? {
            Answer::Yes => {
                let goldens = std::mem::take(&mut difference.goldens);
                let accepted = Difference {
                    goldens,
                    how: String::new(),
                    changed: difference.changed.take(),
                    beyond: std::mem::take(&mut difference.beyond),
                };
                *verdict = update(case, accepted).unwrap_or_else(Verdict::Failed);
            }
            Answer::No => {}
            Answer::Quit => is_over = true,
        }
    }
    Ok(())
}

enum Answer {
    Yes,
    No,
    Quit,
}

fn ask(case: &Case, difference: &Difference, answers: &mut impl BufRead) -> Result<Answer> {
    let failed = |e| crate::error::Error::io(Path::new("-"), "ask", e);
    let mut err = io::stderr().lock();
    let name = path_text(case.path());
    write!(err, "differs {}\n{}", printable(&name), difference.how).map_err(failed)?;
    let names = difference.goldens.iter().map(|golden| &golden.path);
    let names: Vec<String> = names
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    loop {
        let names = names.join(", ");
        write!(
            err,
            "write {} (y: yes, n: no, q: no more)? ",
            printable(&names)
        )
        .map_err(failed)?;
        err.flush().map_err(failed)?;
        let mut answer = String::new();
        // The end of the input counts as a q.
        if answers.read_line(&mut answer).map_err(failed)? == 0 {
            return Ok(Answer::Quit);
        }
        match answer.trim() {
            "y" | "yes" => return Ok(Answer::Yes),
            "n" | "no" => return Ok(Answer::No),
            "q" | "quit" => return Ok(Answer::Quit),
            _ => {}
        }
    }
}

/// Writes the new goldens next to the old ones; returns lines that say so.
fn beside(difference: &Difference) -> Result<String> {
    let mut said = String::new();
    for Golden { path, bytes } in &difference.goldens {
        let new = with_new(path);
        write_plain(&new, bytes)?;
        said.push_str(&format!("  written: {}\n", printable(&path_text(&new))));
    }
    Ok(said)
}

/// `expected.jsonl` → `expected.jsonl.new`
fn with_new(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// Replaces a file of a case; a link is an error, since a case can have come with another person's repository.
fn write_plain(path: &Path, bytes: &[u8]) -> Result<()> {
    let spot = OpenPath::named(path, Missing::Refuse)?;
    let (existing, mode) = (Existing::Overwrite, Mode::Default);
    write(spot, bytes, existing, mode, Durability::Lazy).map(drop)
}
