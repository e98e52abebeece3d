//! Removes sentences from a text.
//!
//! PURE. Removes the mark of a list item that becomes empty. Changes nothing else, and never rewrites a sentence.

/// The text without the bad sentences, and the number of these.
pub(super) fn without(text: &str, is_bad: impl Fn(&str) -> bool) -> (String, u64) {
    let mut out = String::new();
    let mut dropped = 0;
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !is_bad(line) {
            out.push_str(line);
            continue;
        }
        // A line of code has no sentences; a fence stays, so that the block still ends.
        let sentences = match (is_fence, in_code) {
            (true, _) => vec!["```\n"],
            (false, true) => Vec::new(),
            (false, false) => {
                let (mark, body) = marked(line);
                let (kept, gone) = kept(body, &is_bad);
                dropped += gone;
                if !kept.is_empty() {
                    out.push_str(mark);
                    out.push_str(kept.concat().trim_end());
                    out.push('\n');
                }
                continue;
            }
        };
        dropped += 1;
        out.extend(sentences);
    }
    (out.trim_end().to_owned(), dropped)
}

/// The sentences that stay, and the number of those that do not.
fn kept(body: &str, is_bad: impl Fn(&str) -> bool) -> (Vec<&str>, u64) {
    let all = sentences(body);
    let before = all.len();
    let kept: Vec<&str> = all.into_iter().filter(|one| !is_bad(one)).collect();
    let gone = before - kept.len();
    (kept, gone as u64)
}

/// A line's indentation and list mark, and the rest.
fn marked(line: &str) -> (&str, &str) {
    let body = line.trim_start();
    let mark = body.split_inclusive(' ').next().unwrap_or_default();
    let is_number = |mark: &str| {
        let digits = mark.trim_end_matches(['.', ')']);
        digits.len() < mark.len() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let is_mark = matches!(mark.trim_end(), "-" | "*" | "+" | "•") || is_number(mark.trim_end());
    let indent = line.len() - body.len();
    line.split_at(indent + if is_mark { mark.len() } else { 0 })
}

/// The sentences of a line, each with the space after it. No sentence ends inside quoted code or brackets.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut start, mut depth, mut in_code) = (0, 0_u32, false);
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => in_code = !in_code,
            '(' | '[' | '{' if !in_code => depth += 1,
            ')' | ']' | '}' if !in_code => depth = depth.saturating_sub(1),
            _ => {}
        }
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => next.is_some_and(char::is_whitespace) && !is_short(&line[start..at]),
            _ => false,
        };
        if !ends || in_code || depth > 0 {
            continue;
        }
        while chars.next_if(|(_, next)| next.is_whitespace()).is_some() {}
        let end = chars.peek().map_or(line.len(), |(next, _)| *next);
        all.push(&line[start..end]);
        start = end;
    }
    if start < line.len() {
        all.push(&line[start..]);
    }
    all
}

/// Whether a full stop after this text ends an abbreviation rather than a sentence.
fn is_short(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or_default();
    matches!(
        word,
        "e.g" | "i.e" | "cf" | "vs" | "approx" | "incl" | "No" | "no"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_where_sentences_end() {
        assert_eq!(
            sentences("One (a. b) here. Two, e.g. `c. d`! 三。四 v1.2 five"),
            [
                "One (a. b) here. ",
                "Two, e.g. `c. d`! ",
                "三。",
                "四 v1.2 five"
            ]
        );
        assert_eq!(sentences(""), Vec::<&str>::new());
        // A bracket that never closes keeps the rest together.
        assert_eq!(sentences("a (b. c. d"), ["a (b. c. d"]);
    }

    #[test]
    fn code_leaves_by_lines_and_its_fences_stay() {
        let text = "a\n```rust\nbad();\ngood();\n```\n  2. bad.\n3) bad. good.\n";
        let (text, dropped) = without(text, |one| one.contains("bad"));
        assert_eq!(text, "a\n```rust\ngood();\n```\n3) good.");
        assert_eq!(dropped, 3);
        let (text, _) = without("``` bad\nx\n```\n", |one| one.contains("bad"));
        assert_eq!(text, "```\nx\n```");
    }
}
