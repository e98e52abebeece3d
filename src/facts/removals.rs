//! Files that a shell command deletes or moves, as far as its words say it.
//!
//! PURE. Only plain commands count: `rm`, `unlink`, `git rm`, `mv`, `git mv`, `cp`, `Remove-Item`, alone or in a row. What a
//! shell would expand, or what stands in a document that is given to a command, is not understood.

use super::shell::words;

/// Files that a command deletes, moves or replaces, by their paths as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Removals {
    /// Files and folders that are deleted.
    pub(super) gone: Vec<String>,
    /// Files and folders that are moved, with where they are moved to.
    pub(super) moved: Vec<(String, String)>,
    /// Files that contain something else, if they are no folders.
    pub(super) replaced: Vec<String>,
    /// Whether all commands in the row have ended well if its last one has.
    pub(super) row: Row,
}

/// How commands are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    /// There is only one.
    One,
    /// Each runs if the one before it has ended well.
    And,
    /// In another way.
    Other,
}

/// What a command removes. `None`, which is nearly always so, if nothing.
pub(super) fn removals(command: &str) -> Option<Removals> {
    const WORDS: [&str; 5] = ["rm ", "mv ", "cp ", "unlink ", "Remove-Item "];
    if !WORDS.iter().any(|word| command.contains(word)) || command.contains("<<") {
        return None;
    }
    let (commands, row) = row(command)?;
    let mut folder = String::new();
    let (mut gone, mut moved, mut replaced) = (Vec::new(), Vec::new(), Vec::new());
    for command in commands {
        let Some(words) = words(command) else {
            continue;
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let ["cd", path] = words[..] {
            folder = below(&folder, path);
        }
        let Some((verb, paths)) = removed(&words) else {
            continue;
        };
        let paths = paths.iter().map(|path| below(&folder, path));
        let mut paths: Vec<String> = paths.collect();
        match verb {
            "mv" | "cp" => {
                let Some(to) = paths.pop().filter(|_| !paths.is_empty()) else {
                    continue;
                };
                let is_folder = paths.len() > 1 || to.ends_with('/');
                match verb {
                    "mv" => moved.extend(paths.into_iter().map(|from| {
                        let name = from.trim_end_matches('/').rsplit('/').next();
                        let to = match (is_folder, name) {
                            (true, Some(name)) => format!("{}/{name}", to.trim_end_matches('/')),
                            (true, None) | (false, _) => to.clone(),
                        };
                        (from, to)
                    })),
                    _ => replaced.push(to),
                }
            }
            _ => gone.extend(paths),
        }
    }
    let is_any = !gone.is_empty() || !moved.is_empty() || !replaced.is_empty();
    is_any.then_some(Removals {
        gone,
        moved,
        replaced,
        row,
    })
}

/// What one command does, if it removes anything, and the paths that it names.
fn removed<'w>(words: &[&'w str]) -> Option<(&'w str, Vec<&'w str>)> {
    /// Flags with which a command removes nothing, or whose next word is no path.
    const OTHERS: [&str; 6] = ["--cached", "-n", "--dry-run", "-WhatIf", "-t", "-Include"];
    let (verb, rest) = match words {
        ["git", verb @ ("rm" | "mv"), rest @ ..] => (*verb, rest),
        [
            verb @ ("rm" | "mv" | "cp" | "unlink" | "Remove-Item"),
            rest @ ..,
        ] => (*verb, rest),
        _ => return None,
    };
    if rest.iter().any(|word| OTHERS.contains(word)) {
        return None;
    }
    let paths = rest.iter().copied().filter(|word| !word.starts_with('-'));
    Some((verb, paths.collect()))
}

/// A path below a folder.
fn below(folder: &str, path: &str) -> String {
    match folder.is_empty() || path.starts_with(['/', '~']) {
        true => path.to_owned(),
        false => format!("{folder}/{path}"),
    }
}

/// The commands of a row, and how they are joined; `None` if a quote is open.
fn row(command: &str) -> Option<(Vec<&str>, Row)> {
    let bytes = command.trim().as_bytes();
    let command = command.trim();
    let (mut commands, mut row) = (Vec::new(), Row::One);
    let (mut start, mut at) = (0, 0);
    let mut quote = None;
    while at < bytes.len() {
        let here = bytes[at];
        match quote {
            Some(open) if open == here => quote = None,
            Some(b'"') if here == b'\\' => at += 1,
            Some(_) => {}
            None => match here {
                b'\'' | b'"' => quote = Some(here),
                b'\\' => at += 1,
                b'&' | b'|' | b';' | b'\n' => {
                    commands.push(&command[start..at]);
                    let is_and = bytes[at..].starts_with(b"&&") && row != Row::Other;
                    row = if is_and { Row::And } else { Row::Other };
                    let is_double = here != b';' && bytes.get(at + 1) == Some(&here);
                    at += usize::from(is_double);
                    start = at + 1;
                }
                _ => {}
            },
        }
        at += 1;
    }
    commands.push(command.get(start..)?);
    quote.is_none().then_some((commands, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Option<(Vec<String>, Vec<String>, Row)> {
        removals(command).map(|removals| {
            let moved = removals.moved.into_iter();
            let moved = moved.map(|(from, to)| format!("{from} > {to}"));
            let gone = removals.gone.into_iter().chain(moved).collect();
            (gone, removals.replaced, removals.row)
        })
    }

    #[test]
    fn plain_commands_remove_files() {
        for (command, gone, replaced, row) in [
            ("rm a", vec!["a"], vec![], Row::One),
            ("rm -rf 'a b' \"c\"", vec!["a b", "c"], vec![], Row::One),
            (
                "cd /w && rm a && git rm -q b",
                vec!["/w/a", "/w/b"],
                vec![],
                Row::And,
            ),
            ("make; unlink a", vec!["a"], vec![], Row::Other),
            ("rm a || true", vec!["a"], vec![], Row::Other),
            ("rm a\nls", vec!["a"], vec![], Row::Other),
            ("mv a b", vec!["a > b"], vec![], Row::One),
            ("git mv x/a b/", vec!["x/a > b/a"], vec![], Row::One),
            ("mv a x/b c", vec!["a > c/a", "x/b > c/b"], vec![], Row::One),
            ("cp a b", vec![], vec!["b"], Row::One),
            ("Remove-Item -Force a", vec!["a"], vec![], Row::One),
        ] {
            let [gone, replaced] =
                [gone, replaced].map(|paths| paths.into_iter().map(str::to_owned).collect());
            assert_eq!(of(command), Some((gone, replaced, row)), "{command}");
        }
    }

    #[test]
    fn other_commands_are_not_understood() {
        for command in [
            "",
            "ls",
            "rm",
            "echo rm a",
            "echo 'x; rm a'",
            "rm $F",
            "rm *.o",
            "cat > s.sh <<'E'\nrm a\nE",
            "git rm --cached a",
            "docker rm a",
            "grep 'rm",
            "echo a\\; rm b",
        ] {
            assert_eq!(of(command), None, "{command}");
        }
    }
}
