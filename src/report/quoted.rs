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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_markdown_is_escaped_and_long_text_is_cut() {
        assert_eq!(quoted("a|b `c` @d", 80), "<code>a\\|b \\`c\\` @d</code>");
        assert_eq!(quoted("<script>", 80), "<code>\\<script\\></code>");
        assert_eq!(quoted("abcdef\n", 5), "<code>ab…f </code>");
    }
}
