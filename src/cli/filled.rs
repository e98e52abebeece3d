//! A topic for a terminal: paragraphs filled to its width, and tables that do not fit as lists.
//!
//! PURE. Understands the Markdown of the topics, not Markdown. Words, code blocks and links stay as they are.

use std::fmt::Write as _;

/// The indentation of code blocks, and of what belongs to the first cell of a row.
const INDENT: &str = "    ";

/// `markdown`, in lines of at most `width` columns where words and code allow it.
pub(super) fn filled(markdown: &str, width: usize) -> String {
    let mut out = String::new();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
            code.for_each(|line| push(&mut out, &format!("{INDENT}{line}")));
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            rows.extend(std::iter::from_fn(|| {
                lines.next_if(|line| line.starts_with('|'))
            }));
            table(&mut out, &rows, width);
        } else if line.is_empty() || line.starts_with('#') {
            let text = line.trim_start_matches('#').trim_start();
            fill(&mut out, text, ("", ""), width);
        } else {
            let mut text = line.to_owned();
            while let Some(next) = lines.next_if(|next| continues(next)) {
                text = format!("{text} {}", next.trim_start());
            }
            let hanging = match text.starts_with("- ") || text.starts_with("* ") {
                true => "  ",
                false => "",
            };
            fill(&mut out, &text, ("", hanging), width);
        }
    }
    out
}

/// Whether a line belongs to the paragraph or list item above it.
fn continues(line: &str) -> bool {
    let starts = ["#", "|", "```", "- ", "* "];
    !line.is_empty() && !starts.iter().any(|start| line.starts_with(start))
}

/// A table as it is where it fits, otherwise a list: each row's first cell, with the others under it by their headings.
fn table(out: &mut String, rows: &[&str], width: usize) {
    if rows.iter().all(|row| row.chars().count() <= width) {
        rows.iter().for_each(|row| push(out, row));
        return;
    }
    let mut rows = rows.iter().map(|row| cells(row));
    let headings = rows.next().unwrap_or_default();
    // The second row is the line below the headings.
    for row in rows.skip(1) {
        let mut of_row = row.iter().zip(&headings);
        if let Some((first, _)) = of_row.next() {
            fill(out, first, ("", INDENT), width);
        }
        let others = row.len() - 1;
        for (cell, heading) in of_row.filter(|(cell, _)| !cell.is_empty()) {
            // With two columns, the heading of the second one says nothing that is not clear.
            let text = match others {
                1 => cell.clone(),
                _ => format!("{heading}: {cell}"),
            };
            fill(out, &text, (INDENT, INDENT), width);
        }
    }
}

/// The cells of a row; `\|` is a bar within one.
fn cells(row: &str) -> Vec<String> {
    let bar = "\u{0}";
    let row = row.replace("\\|", bar);
    let row = row.trim().trim_start_matches('|').trim_end_matches('|');
    let cells = row.split('|').map(|cell| cell.trim().replace(bar, "|"));
    cells.collect()
}

/// Words, as many on a line as fit; the first line and the others have their own indentation.
fn fill(out: &mut String, text: &str, (first, others): (&str, &str), width: usize) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let gap = usize::from(!is_empty);
        if !is_empty && line.chars().count() + gap + word.chars().count() > width {
            push(out, &line);
            line = others.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    push(out, &line);
}

fn push(out: &mut String, line: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::topics::Topic;

    #[test]
    fn paragraphs_lists_tables_and_code_fit() {
        let markdown = "\
# A title

One two three
four five.

- an item that is
  long enough
- another

| key | meaning |
| --- | --- |
| `a` | what `x \\| y` is, at length |
| b | |

```sh
a line of code that is not broken
```
";
        let expected = "\
A title

One two three four
five.

- an item that is
  long enough
- another

`a`
    what `x | y` is,
    at length
b

    a line of code that is not broken
";
        assert_eq!(filled(markdown, 20), expected);
        let narrow = "| a | b | c |\n| - | - | - |\n| 1 | two words | 3 |\n";
        assert_eq!(filled(narrow, 80), narrow);
        assert_eq!(filled(narrow, 14), "1\n    b: two\n    words\n    c: 3\n");
    }

    #[test]
    fn no_topic_loses_a_word_or_is_too_wide() {
        for topic in Topic::ALL {
            let text = topic.text().unwrap();
            for width in [40, 80] {
                let filled = filled(&text, width);
                let is_mark =
                    |word: &&str| word.chars().all(|c| matches!(c, '|' | '-' | '#' | ':'));
                let words = |text: &str| -> BTreeSet<String> {
                    let text = text.replace("\\|", "|");
                    let words = text.split_whitespace().filter(|word| !is_mark(word));
                    words
                        .map(|word| word.trim_matches('|').to_owned())
                        .collect()
                };
                // The headings of two columns are left out.
                let lines: Vec<&str> = text.lines().collect();
                let is_heading = |at: &usize| {
                    lines
                        .get(at + 1)
                        .is_some_and(|next| next.starts_with("| ---"))
                };
                let kept = (0..lines.len()).filter(|at| !is_heading(at));
                let kept: Vec<&str> = kept.map(|at| lines[at]).collect();
                let (shown, written) = (words(&filled), words(&kept.join("\n")));
                let lost = written.difference(&shown);
                let lost: Vec<&String> = lost.filter(|word| !word.starts_with("```")).collect();
                assert!(lost.is_empty(), "{topic:?}: {lost:?}");
                for line in filled.lines() {
                    let is_long = line.chars().count() > width;
                    let is_whole = line.split_whitespace().count() <= 1 || line.starts_with(INDENT);
                    assert!(!is_long || is_whole, "{topic:?} at {width}: {line}");
                }
            }
        }
    }
}
