//! Untrusted text in Markdown: it cannot leave its cell, format anything or mention anyone.

use super::cells::elide;
use crate::text::printable;

/// Untrusted text as code. Uses tags instead of backticks, because nothing can be escaped inside backticks; GitHub looks for
/// mentions and issue numbers in neither.
pub(crate) fn quoted(text: &str, max: usize) -> String {
    let shown = printable(text);
    let mut out = String::from("<code>");
    for c in elide(&shown, max).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '$'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out.push_str("</code>");
    out
}

/// The same for a heading or a note, which is mostly the program's own: letters, digits and a few marks mean nothing to Markdown
/// and stay plain text. Without a full stop, nothing becomes a link.
pub(crate) fn heading(text: &str, max: usize) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '/' | ',' | ':' | ';' | '%');
    match text.chars().all(is_plain) && text.chars().count() <= max {
        true => text.to_owned(),
        false => quoted(text, max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_markdown_is_escaped_and_long_text_is_cut() {
        assert_eq!(quoted("a|b `c` @d", 80), "<code>a\\|b \\`c\\` @d</code>");
        assert_eq!(quoted("<script>", 80), "<code>\\<script\\></code>");
        assert_eq!(quoted("abcdef\n", 5), "<code>ab…f </code>");
        assert_eq!(heading("chars / 4", 80), "chars / 4");
        for own in ["@org", "#1", "a_b_", "www.a.b", "<b>", "- a", "a\n"] {
            assert_eq!(heading(own, 80), quoted(own, 80));
        }
    }
}
