//! What of a text in a user's message the user typed: agents add context to it, and notes of their own.
//!
//! PURE. Knows the words that agents have for that.

/// What a user typed of a text in a message: without the reminders and the context that the agent put before it, if anything is
/// left.
pub fn typed_in(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        if let Some(tag) = TAGS.iter().find(|tag| begins_with(rest.trim_start(), tag)) {
            let end = format!("</{tag}>");
            rest = rest
                .split_once(&end)
                .map_or("", |(_, after)| after.trim_start());
        } else if let Some((_, after)) = file(rest) {
            rest = after;
        } else {
            break;
        }
    }
    let is_agents = rest.trim().is_empty() && !text.trim().is_empty()
        || is_broken_off(rest)
        || is_note(rest)
        || is_around_a_picture(rest);
    (!is_agents).then_some(rest)
}

/// A file that the user mentioned and the agent put before the user's words, as pi does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mentioned<'t> {
    /// Its path.
    pub path: &'t str,
    /// Its text; `None` where it is no text.
    pub text: Option<&'t str>,
}

/// The files before the user's words in a text.
pub fn mentioned_in(text: &str) -> Vec<Mentioned<'_>> {
    let mut files = Vec::new();
    let mut rest = text;
    while let Some((mentioned, after)) = file(rest) {
        files.push(mentioned);
        rest = after;
    }
    files
}

/// The file that a text begins with, and what follows it.
fn file(text: &str) -> Option<(Mentioned<'_>, &str)> {
    let (path, rest) = text.strip_prefix("<file name=\"")?.split_once("\">")?;
    if path.contains('\n') {
        return None;
    }
    let (text, after) = match rest.strip_prefix('\n') {
        Some(rest) => {
            let (text, after) = rest.split_once("\n</file>\n")?;
            (Some(text), after)
        }
        // A note about a picture, or nothing.
        None => (None, rest.split_once("</file>\n")?.1),
    };
    Some((Mentioned { path, text }, after))
}

/// The tags of what agents put into messages of the user: reminders, context from an editor, what hooks and other agents say.
const TAGS: [&str; 9] = [
    "system-reminder",
    "ide_opened_file",
    "ide_selection",
    "current_datetime",
    "system_reminder",
    "user-prompt-submit-hook",
    "cross-session-message",
    "teammate-message",
    "user_action",
];

/// Whether a text begins with such a tag, perhaps with attributes.
fn begins_with(text: &str, tag: &str) -> bool {
    let rest = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_prefix(tag));
    rest.is_some_and(|rest| rest.starts_with(['>', ' ']))
}

/// How whole messages begin that Claude Code or Codex writes in the user's name.
const NOTES: [&str; 5] = [
    "Another Claude session sent a message:\n",
    "Please continue the conversation from where we left it off without asking the user any further questions.",
    "Stop hook feedback:\n",
    "Tool loaded.",
    "Warning: The maximum number of unified exec processes you can keep open is ",
];

fn is_note(text: &str) -> bool {
    let text = text.trim();
    let note = NOTES.iter().find(|note| text.starts_with(*note));
    note.is_some_and(|note| *note != "Tool loaded." || text == *note)
}

/// Whether a text is the note that the user interrupted something.
fn is_broken_off(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("[Request interrupted by user") && text.ends_with(']') && !text.contains('\n')
}

/// Whether a text is what Codex writes before or after a picture of the user's.
fn is_around_a_picture(text: &str) -> bool {
    let text = text.trim();
    let begins = text.starts_with("<image name=[") && text.ends_with('>') && !text.contains('\n');
    begins || text == "</image>"
}

/// Whether a text may begin with what an agent adds: most do not, and need not be read. `raw` is its JSON.
pub(super) fn may_be_added(raw: &[u8]) -> bool {
    let raw = raw.trim_ascii_start();
    // An escape may be any character.
    matches!(raw.first(), Some(b'<' | b'[' | b'\\'))
        || NOTES.iter().any(|note| {
            // Up to what may be written as an escape.
            let start = note.trim_end().as_bytes();
            raw.starts_with(start)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_put_before_words_is_no_part_of_them() {
        for (text, typed) in [
            ("do it", Some("do it")),
            (" do it ", Some(" do it ")),
            ("", Some("")),
            ("<b>do it</b>", Some("<b>do it</b>")),
            ("<system-reminder>x</system-reminder>\ndo it", Some("do it")),
            (
                "\n<ide_selection>x</ide_selection> <system-reminder>y</system-reminder>do it",
                Some("do it"),
            ),
            ("<system-reminder>x</system-reminder>\n", None),
            ("<system-reminder>x", None),
            (
                "do <system-reminder>x</system-reminder>it",
                Some("do <system-reminder>x</system-reminder>it"),
            ),
            ("[Request interrupted by user for tool use]", None),
            (
                "<teammate-message teammate_id=\"x\">hi</teammate-message>",
                None,
            ),
            (
                "<user-prompt-submit-hook>hi</user-prompt-submit-hook>\ngo",
                Some("go"),
            ),
            (
                "<user_actions>go</user_actions>",
                Some("<user_actions>go</user_actions>"),
            ),
            ("Stop hook feedback:\n- [x]: tests fail", None),
            ("Tool loaded.", None),
            ("Tool loaded. Now go on", Some("Tool loaded. Now go on")),
            (
                "<file name=\"/w/a.py\">\nx\n<b>\n</file>\n<file name=\"/w/b.png\"></file>\ndo it",
                Some("do it"),
            ),
            ("<file name=\"/w/a.py\">\nx\n</file>\n", None),
            ("<file name=\"a\"> is odd", Some("<file name=\"a\"> is odd")),
            ("<image name=[Image #1] path=\"/w/a b.png\">", None),
            ("</image>", None),
            ("<image name=[x]> is odd", Some("<image name=[x]> is odd")),
            (
                "<system-reminder>x</system-reminder>[Request interrupted by user]",
                None,
            ),
        ] {
            assert_eq!(typed_in(text), typed, "{text}");
        }
    }
}
