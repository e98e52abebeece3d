//! Selects the most informative lines of an output or a file.

use crate::text::split_lines;

/// The value of a line that tells of a commit, besides its names: the command alone does not say which commit it made.
pub(super) const COMMITTED: f64 = 4.0;

/// The number of lines examined at the start and at the end of an output.
const LOOKED_AT: usize = 200;

/// The lines of an output, and separately its last two non-blank lines, since results are at the end.
pub(super) fn key_lines(text: &str) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
    let lines: Vec<&str> = split_lines(text).filter(|l| !l.trim().is_empty()).collect();
    let mut others = lines;
    let last = others.split_off(others.len().saturating_sub(2));
    let after = others.split_off(others.len().min(LOOKED_AT));
    let skipped = after.len().saturating_sub(LOOKED_AT);
    let lines = others.into_iter().chain(after.into_iter().skip(skipped));
    (
        lines.map(without_number),
        last.into_iter().map(without_number),
    )
}

/// The lines of a file without the line numbers of a tool.
pub(super) fn without_numbers(text: &str) -> impl Iterator<Item = &str> {
    // OpenCode names the file in tags.
    let tags = text
        .split_inclusive('\n')
        .take_while(|line| line.starts_with('<'));
    let (before, lines) = text.split_at(tags.map(str::len).sum());
    // Copilot CLI numbers lines like a list, OpenCode with colons or bars; a list in a file has its own numbers.
    let first = ['.', ':', '|'].into_iter().find_map(|sign| {
        let (number, _) = numbered(lines.split('\n').next()?, sign)?;
        Some((number, sign))
    });
    let numbers = first.map_or(0, |(number, _)| number)..;
    let lines = lines.split('\n').zip(numbers).map(move |(line, next)| {
        let own = first.and_then(|(_, sign)| numbered(line, sign));
        let own = own.filter(|(number, _)| *number == next);
        own.map_or_else(|| without_number(line), |(_, text)| text)
    });
    before.lines().map(without_number).chain(lines)
}

/// The number that a line begins with, before a sign and a blank, and the rest of it.
fn numbered(line: &str, sign: char) -> Option<(u64, &str)> {
    let (number, rest) = line.split_once(sign)?;
    // A number wider than any line count would overflow the counter.
    let number: u32 = number.parse().ok()?;
    Some((u64::from(number), rest.strip_prefix(' ')?))
}

/// A line of a file without the line number of a tool.
pub(super) fn without_number(line: &str) -> &str {
    let rest = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(['→', '\t']) {
        Some(text) if rest.len() < line.trim_start().len() => text,
        _ => line,
    }
}

/// Whether a line of a file shows its structure: a definition or a heading.
pub(super) fn is_outline(line: &str) -> bool {
    let line = line.trim();
    if let Some(title) = line.strip_prefix('#') {
        return title.trim_start_matches('#').starts_with(' ');
    }
    let is_before = |word: &[u8]| {
        matches!(
            word,
            b"pub"
                | b"pub(crate)"
                | b"pub(super)"
                | b"export"
                | b"default"
                | b"async"
                | b"static"
                | b"public"
                | b"private"
                | b"protected"
                | b"abstract"
                | b"final"
                | b"unsafe"
                | b"const"
                // The split leaves text in brackets before a definition: `pub(crate)`.
                | b"crate)"
                | b"super)"
        )
    };
    let defines = |word: &[u8]| {
        matches!(
            word,
            b"fn"
                | b"def"
                | b"defp"
                | b"defmodule"
                | b"class"
                | b"struct"
                | b"enum"
                | b"trait"
                | b"impl"
                | b"interface"
                | b"type"
                | b"func"
                | b"function"
                | b"module"
                | b"mod"
                | b"namespace"
                | b"record"
                | b"macro_rules!"
        )
    };
    /// The longest of these words.
    const LONGEST: usize = "macro_rules!".len();
    let ends_word = |b: &u8| matches!(b, b' ' | b'<' | b'(');
    let mut rest = line.as_bytes();
    loop {
        let blanks = rest.iter().take_while(|b| ends_word(b)).count();
        rest = &rest[blanks..];
        let end = rest.iter().take(LONGEST + 1).position(ends_word);
        let (word, others) = rest.split_at(end.unwrap_or(rest.len()));
        if !is_before(word) {
            return defines(word);
        }
        rest = others;
    }
}

/// Whether a line of an output tells of a commit or a tag: what `git commit` prints (`[main 1a2b3c4] subject`), and what `git push`
/// prints of a new tag.
pub(super) fn is_commit(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with("* [new tag]") {
        return true;
    }
    let inside = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "));
    // The branch is before the hash, as in `main (root-commit) 1a2b3c4`.
    let hash = inside.and_then(|(inside, _)| inside.rsplit_once(' '));
    hash.is_some_and(|(_, hash)| is_hash(hash))
}

/// Whether a word is an abbreviated hash of git; figures alone are more likely the number of a process.
fn is_hash(word: &str) -> bool {
    let mut bytes = word.bytes();
    (7..=40).contains(&word.len())
        && bytes
            .clone()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && bytes.any(|b| b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_and_headings_are_the_outline_of_a_file() {
        let outline = [
            "pub(crate) fn f() {",
            "    async def g(self):",
            "export default class A {",
            "impl<T> B for C",
            "## Title",
        ];
        for line in outline {
            assert!(is_outline(line), "{line}");
        }
        for line in ["let x = fn_of(1);", "#[test]", "typed", "", "// fn f"] {
            assert!(!is_outline(line), "{line}");
        }
    }

    #[test]
    fn what_git_prints_tells_of_commits_and_tags() {
        for line in [
            "[main 1a2b3c4] Fix it",
            " [detached HEAD 1a2b3c4d] Fix it",
            "[feat/x (root-commit) 1a2b3c4] Fix it",
            " * [new tag]         v0.3.0 -> v0.3.0",
        ] {
            assert!(is_commit(line), "{line}");
        }
        for line in [
            "[main 1a2b3c4]",
            "[main] Fix it",
            "[main 1a2b3c] Fix it",
            "[main 1a2b3xyz] Fix it",
            "[worker 1234567] started",
            " * [new branch] x -> x",
        ] {
            assert!(!is_commit(line), "{line}");
        }
    }

    #[test]
    fn numbers_of_lines_are_no_part_of_them() {
        assert_eq!(without_number("   12→  fn f()"), "  fn f()");
        assert_eq!(without_number("3\tx"), "x");
        assert_eq!(without_number("12 passed"), "12 passed");
        assert_eq!(without_number("\tx"), "\tx");
        let of = |text| without_numbers(text).collect::<Vec<_>>();
        assert_eq!(of("7. a\n8.   b\n9. 3. c"), ["a", "  b", "3. c"]);
        assert_eq!(of("a. b\n1. c\n  2\td"), ["a. b", "1. c", "d"]);
        assert_eq!(
            of("<path>a</path>\n<content>\n9: 1: b\n10: \n11: d"),
            ["<path>a</path>", "<content>", "1: b", "", "d"]
        );
        assert_eq!(of("1: b\n3: c"), ["b", "3: c"]);
        assert_eq!(
            of("<file>\n00001| a\n00002| \n00003| b"),
            ["<file>", "a", "", "b"]
        );
        // A tag in the middle of a file is a line of it.
        assert_eq!(of("1. a\n2. <file>\n3. b"), ["a", "<file>", "b"]);
    }

    #[test]
    fn the_middle_of_a_long_output_is_left_out() {
        let text: String = (0..1000).map(|n| format!("line {n}\n\n")).collect();
        let (lines, last) = key_lines(&text);
        let lines: Vec<&str> = lines.collect();
        assert_eq!(
            (lines[199], lines[200], lines.len()),
            ("line 199", "line 798", 400)
        );
        assert_eq!(last.collect::<Vec<_>>(), ["line 998", "line 999"]);
    }
}
