//! Recognises files that usually contain secrets by their names alone: `secret_files.txt` has the list.
//!
//! Pure. Treats a path as text and never accesses the disk, so that it also works for paths in a transcript.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

const LIST: &str = include_str!("secret_files.txt");

/// Suffixes of copies of a file.
const COPIES: [&str; 11] = [
    "~", ".bak", ".backup", ".old", ".orig", ".save", ".tmp", ".swp", ".copy", ".1", ".2",
];

/// The maximum length of a file name in any file system, in bytes.
const LONGEST: usize = 1024;

/// Whether a file with this path usually contains secrets: by its own name, or by the name of a folder in the path.
///
/// File systems may ignore case and invisible characters, so names are compared by their ASCII characters, ignoring case.
pub fn is_secret_file(path: &str) -> bool {
    let names: Vec<String> = path.split(['/', '\\']).map(folded).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some((name, folders)) = names.split_last() else {
        return false;
    };
    if name.len() > LONGEST {
        return false;
    }
    let mut original = *name;
    while let Some(shorter) = COPIES.iter().find_map(|copy| original.strip_suffix(copy)) {
        original = shorter;
    }
    let rules = rules();
    [*name, original].into_iter().any(|name| {
        let is_source = extension(name).is_some_and(|of| rules.source.contains(of));
        let counts = |pattern: &&Pattern| !(pattern.but_source && is_source);
        let ends = |known: &[&str], pattern: &Pattern| known.ends_with(&pattern.folders);
        let in_folder = (1..=folders.len()).any(|end| {
            let patterns = rules.folders.get(folders[end - 1]).into_iter().flatten();
            patterns.filter(counts).any(|p| ends(&folders[..end], p))
        });
        let exact = rules.names.get(name).into_iter().flatten();
        let letters = signs(name);
        let may_fit = |pattern: &&Pattern| pattern.signs & !letters == 0;
        let wild = rules.wild.iter().filter(may_fit);
        let wild = wild.filter(|p| fits(p.name, name));
        in_folder || exact.chain(wild).filter(counts).any(|p| ends(folders, p))
    })
}

/// The part of a name from its last dot on, unless that is the whole name.
fn extension(name: &str) -> Option<&str> {
    let dot = name.rfind('.').filter(|dot| *dot > 0)?;
    Some(&name[dot..])
}

fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let upper = name.chars().flat_map(char::to_uppercase);
    let ascii = upper.filter(char::is_ascii);
    ascii.map(|c| c.to_ascii_lowercase()).collect()
}

/// The list, indexed for lookups.
struct Rules {
    /// Patterns with only folders, by the last folder.
    folders: BTreeMap<&'static str, Vec<Pattern>>,
    /// Patterns without wildcards, by the file's whole name.
    names: BTreeMap<&'static str, Vec<Pattern>>,
    /// Names with `*` or `+`.
    wild: Vec<Pattern>,
    /// Extensions, with their dots.
    source: BTreeSet<&'static str>,
}

/// A line of the list.
struct Pattern {
    /// Whether it does not apply to files with an extension of source code.
    but_source: bool,
    /// The names of nested folders with which the path of the file's folder must end.
    folders: Vec<&'static str>,
    /// The file's own name; "" if only folders count.
    name: &'static str,
    /// The characters of the name that a file's name must have.
    signs: u64,
}

impl Rules {
    fn read(list: &'static str) -> Self {
        let mut rules = Rules {
            folders: BTreeMap::new(),
            names: BTreeMap::new(),
            wild: Vec::new(),
            source: BTreeSet::new(),
        };
        for line in super::lines(list) {
            if line.contains(' ') {
                rules.source.extend(line.split(' '));
                continue;
            }
            let bare = line.trim_start_matches('~');
            let (folders, name) = bare.rsplit_once('/').unwrap_or(("", bare));
            let folders = folders.split('/').filter(|folder| !folder.is_empty());
            let pattern = Pattern {
                but_source: bare != line,
                folders: folders.collect(),
                name,
                signs: signs(name),
            };
            match pattern.folders.last() {
                Some(last) if name.is_empty() => {
                    rules.folders.entry(last).or_default().push(pattern)
                }
                _ if name.contains(['*', '+']) => rules.wild.push(pattern),
                _ => rules.names.entry(name).or_default().push(pattern),
            }
        }
        rules
    }
}

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| Rules::read(LIST))
}

/// The characters of a text but wildcards, as a set of bits that some of them share.
fn signs(text: &str) -> u64 {
    let others = text.bytes().filter(|b| !matches!(b, b'*' | b'+'));
    others.fold(0, |all, b| all | 1 << (b & 63))
}

/// Whether a name matches a pattern with `*` and `+`.
fn fits(pattern: &str, name: &str) -> bool {
    let Some(at) = pattern.find(['*', '+']) else {
        return pattern == name;
    };
    let (head, rest) = pattern.split_at(at);
    let Some(name) = name.strip_prefix(head) else {
        return false;
    };
    let after = &rest[1..];
    let mut ends = (0..=name.len()).filter(|end| name.is_char_boundary(*end));
    match rest.as_bytes()[0] {
        b'+' => ends
            .skip(1)
            .take_while(|end| !name[..*end].contains('.'))
            .any(|end| fits(after, &name[end..])),
        _ if !after.contains(['*', '+']) => name.ends_with(after),
        _ => ends.any(|end| fits(after, &name[end..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(list: &'static str) -> Vec<&'static str> {
        let paths: Vec<&str> = list.lines().filter(|line| !line.is_empty()).collect();
        assert!(paths.len() >= 200, "{}", paths.len());
        paths
    }

    #[test]
    fn files_that_hold_secrets_are_known_by_their_names() {
        let mut paths = listed(include_str!("tests/secret_paths.txt"));
        // Names that file systems may treat as equal, since they fold or ignore such characters.
        paths.extend([".e\u{200c}nv", ".\u{17f}\u{17f}h/config", "ID_R\u{17f}A"]);
        let missed: Vec<&str> = paths
            .into_iter()
            .filter(|path| !is_secret_file(path))
            .collect();
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn files_that_only_sound_like_it_are_not_taken_for_them() {
        let paths = listed(include_str!("tests/other_paths.txt"));
        let hit: Vec<&str> = paths
            .into_iter()
            .filter(|path| is_secret_file(path))
            .collect();
        assert!(hit.is_empty(), "{hit:?}");
        for path in ["", "/", "a//b", "...", "~", ".bak"] {
            assert!(!is_secret_file(path), "{path:?}");
        }
    }

    #[test]
    fn a_pattern_may_have_any_number_of_characters_and_such_without_a_dot() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a", true),
            ("*a", "ba", true),
            ("*a*", "bab", true),
            ("*a*c", "xaybc", true),
            ("*a*c", "xaycb", false),
            ("id_+", "id_", false),
            ("id_+", "id_rsa", true),
            ("id_+", "id_rsa.rs", false),
            ("wg+.conf", "wg0.conf", true),
            ("wg+.conf", "wg.0.conf", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
