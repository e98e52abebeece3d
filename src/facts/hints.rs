//! The hints that tools write around a partly shown file: which lines are shown, and how to read on.
//!
//! PURE. A hint is not part of the file. Text in any other than the known forms is kept.

use super::lines::Lines;

/// Whether a text is what Gemini CLI, Qwen Code and pi write in place of content that is not text or was not sent.
pub(super) fn stands_for_binary(text: &str) -> bool {
    const BEGINNINGS: [&str; 3] = [
        "Binary content provided (",
        "[Unsupported ",
        "Read image file [",
    ];
    let text = text.trim();
    !text.contains('\n') && BEGINNINGS.iter().any(|begin| text.starts_with(begin))
}

/// What a result shows of a file, without the hints around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bare<'t> {
    /// The text of the file, perhaps with line numbers.
    pub(super) text: &'t str,
    /// The first line, if a hint says it.
    pub(super) first: Option<u64>,
    /// The last line, if a hint says that there are more.
    pub(super) last: Option<u64>,
    /// Whether the tool says that it also cut lines.
    pub(super) lines: Cut,
}

/// Whether lines were cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Yes,
    No,
}

/// How agents mark a line that they have cut.
pub(super) const CUT_LINE: &str = "... [truncated]";
/// Cline's mark for the same.
pub(super) const CUT_BY_CLINE: &str = " [line truncated]";

/// The phrase in Claude Code's hint.
pub(super) const PARTIAL: &str = "PARTIAL view";

/// Every hint contains one of these phrases; none of their characters is escaped in JSON.
const PHRASES: [&str; 5] = [
    " to continue",
    "--- FILE CONTENT (truncated) ---",
    PARTIAL,
    " total lines.",
    " truncated to ",
];

/// Whether the raw text of a result may contain a hint.
pub(super) fn may_have_one(raw: &[u8]) -> bool {
    let is_there = |phrase: &&str| memchr::memmem::find(raw, phrase.as_bytes()).is_some();
    PHRASES.iter().any(is_there)
}

impl<'t> Bare<'t> {
    /// The text of a result without the hints around it.
    pub(super) fn of(said: &'t str) -> Bare<'t> {
        before(said).or_else(|| behind(said)).unwrap_or(Bare {
            text: said,
            first: None,
            last: None,
            lines: Cut::No,
        })
    }

    /// The lines that are shown when `asked` was requested.
    pub(super) fn within(&self, asked: Lines) -> Lines {
        match (self.first, self.last) {
            // The hint says that the file ends there.
            (Some(first), last) => Lines { first, last },
            (None, last) => Lines {
                first: asked.first,
                last: last.or(asked.last),
            },
        }
    }
}

/// The text after a hint.
fn before(said: &str) -> Option<Bare<'_>> {
    let (hint, text) = split_gemini(said)
        .or_else(|| split_qwen(said))
        .or_else(|| split_claude_code(said))?;
    // The word may begin a sentence or not.
    let (_, range) = hint.split_once("howing lines ")?;
    let (first, rest) = range.split_once('-')?;
    let (last, all) = rest.split_once(" of ")?;
    let all = all.strip_prefix("at least ").unwrap_or(all);
    let all = all.split(|c: char| !c.is_ascii_digit()).next()?;
    let [first, last, all] = [first, last, all].map(|number| number.parse::<u64>().ok());
    let (first, last, all) = (first?, last?, all?);
    let has_cut_line = || text.lines().any(|line| line.ends_with(CUT_LINE));
    Some(Bare {
        text,
        first: Some(first),
        last: (last < all).then_some(last),
        lines: match has_cut_line() {
            true => Cut::Yes,
            false => Cut::No,
        },
    })
}

/// The hint of Gemini CLI, and the text.
fn split_gemini(said: &str) -> Option<(&str, &str)> {
    let hint = said.trim_start_matches('\n');
    if hint.starts_with("IMPORTANT: The file content has been truncated.\n") {
        return hint.split_once("\n--- FILE CONTENT (truncated) ---\n");
    }
    // An older one, on a line of its own.
    let old = hint.strip_prefix("[File content truncated: ")?;
    old.split_once("]\n")
}

/// The hint of Qwen Code, and the text.
fn split_qwen(said: &str) -> Option<(&str, &str)> {
    let is_one = said.starts_with("Showing lines ");
    let (hint, text) = is_one.then(|| said.split_once(" total lines.\n\n---\n\n"))??;
    (!hint.contains('\n')).then_some((hint, text))
}

/// The hint of Claude Code, and the text, which has line numbers.
fn split_claude_code(said: &str) -> Option<(&str, &str)> {
    let hint = said.strip_prefix("<system-reminder>[Truncated: PARTIAL view")?;
    let (hint, text) = hint.split_once("</system-reminder>")?;
    (!hint.contains('\n')).then(|| (hint, text.trim_start_matches('\n')))
}

/// The text before a hint.
fn behind(said: &str) -> Option<Bare<'_>> {
    let said = said.strip_suffix([']', ')'])?;
    let (text, hint) = said.rsplit_once("\n\n")?;
    let inside = match hint {
        list if list.starts_with('[') => &list[1..],
        list => list.strip_prefix("... (")?,
    };
    // pi has several forms of it, Copilot CLI has one.
    let next = match inside.strip_prefix("Output truncated. Use view_range=[") {
        Some(next) => next.split_once(", ...] to continue reading")?.0,
        None => {
            let (_, next) = inside.split_once("Use offset=")?;
            let (next, end) = next.split_once(" to continue")?;
            matches!(end, "" | "." | " reading").then_some(next)?
        }
    };
    Some(Bare {
        text,
        first: None,
        last: Some(next.parse::<u64>().ok()?.checked_sub(1)?),
        lines: match inside.contains(" truncated to ") {
            true => Cut::Yes,
            false => Cut::No,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(said: &str) -> (&str, Option<u64>, Option<u64>, Cut) {
        let bare = Bare::of(said);
        (bare.text, bare.first, bare.last, bare.lines)
    }

    #[test]
    fn what_is_behind_a_text_is_no_part_of_it() {
        for hint in [
            "[5 more lines in file. Use offset=3 to continue]",
            "[5 more lines in file. Use offset=3 to continue.]",
            "[Showing lines 1-2 of 9. Use offset=3 to continue.]",
            "[Showing lines 1-2 of 2377 (50.0KB limit). Use offset=3 to continue]",
            "... (7 more lines not shown. Use offset=3 to continue reading)",
            "[Output truncated. Use view_range=[3, ...] to continue reading. In your next response, you may batch this.]",
        ] {
            let said = format!("a\n\nb\n\n{hint}");
            assert_eq!(parts(&said), ("a\n\nb", None, Some(2), Cut::No), "{hint}");
            assert!(may_have_one(said.as_bytes()));
        }
        let cut = "a\n\n... (Some lines were truncated to 2000 characters for display. 7 more lines not shown. Use offset=3 to continue reading)";
        assert_eq!(parts(cut), ("a", None, Some(2), Cut::Yes));
    }

    #[test]
    fn what_is_before_a_text_is_no_part_of_it() {
        let gemini = "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines 3-4 of 9 total lines.\nAction: To read more, use 'start_line'.\n\n--- FILE CONTENT (truncated) ---\nc\nd";
        assert_eq!(parts(gemini), ("c\nd", Some(3), Some(4), Cut::No));
        let long_line = gemini.replace("c\n", "c... [truncated]\n");
        assert_eq!(parts(&long_line).3, Cut::Yes);
        let to_the_end = gemini.replace("3-4 of 9", "3-9 of 9");
        assert_eq!(parts(&to_the_end), ("c\nd", Some(3), None, Cut::No));
        let old = "[File content truncated: showing lines 1-2 of 5 total lines. Use offset/limit parameters to view more.]\na\nb";
        assert_eq!(parts(old), ("a\nb", Some(1), Some(2), Cut::No));
        let qwen = "Showing lines 1-2 of 5 total lines.\n\n---\n\na\nb";
        assert_eq!(parts(qwen), ("a\nb", Some(1), Some(2), Cut::No));
        let claude = "<system-reminder>[Truncated: PARTIAL view — showing lines 1-2 of 5 total (25105 tokens). Call Read with offset=3.]</system-reminder>\n\n1\ta\n2\tb";
        assert_eq!(parts(claude), ("1\ta\n2\tb", Some(1), Some(2), Cut::No));
        for said in [gemini, old, qwen, claude] {
            assert!(may_have_one(said.as_bytes()));
        }
    }

    #[test]
    fn what_only_looks_like_one_stays() {
        for said in [
            "",
            "a",
            "a\n\n[x to continue.]",
            "a\n\n[Use offset=x to continue]",
            "a\n[1 more lines in file. Use offset=2 to continue]",
            "Showing lines 1-2 of 3 total lines.\n\nx",
            "IMPORTANT: The file content has been truncated.\nx",
            "<system-reminder>[Truncated: PARTIAL view\n</system-reminder>",
        ] {
            assert_eq!(parts(said), (said, None, None, Cut::No), "{said}");
        }
    }
}
