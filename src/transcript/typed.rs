//! What of a text in a user's message the user typed: agents add context to it, and notes of their own.
//!
//! PURE. Knows the words that agents have for that.

/// What a user typed of a text in a message: without the reminders and the context that the agent put before it, if anything is
/// left.
pub fn typed_in(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(tag) = TAGS.iter().find(|tag| rest.trim_start().starts_with(*tag)) {
        let end = format!("</{}", &tag[1..]);
        rest = rest
            .split_once(&end)
            .map_or("", |(_, after)| after.trim_start());
    }
    let is_agents = rest.trim().is_empty() && !text.trim().is_empty() || is_broken_off(rest);
    (!is_agents).then_some(rest)
}

/// How texts begin that agents put into messages of the user: reminders, and context from an editor.
const TAGS: [&str; 5] = [
    "<system-reminder>",
    "<ide_opened_file>",
    "<ide_selection>",
    "<current_datetime>",
    "<system_reminder>",
];

/// Whether a text is the note that the user interrupted something.
fn is_broken_off(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("[Request interrupted by user") && text.ends_with(']') && !text.contains('\n')
}

/// Whether a text may begin with what an agent adds: most do not, and need not be read. `raw` is its JSON.
pub(super) fn may_be_added(raw: &[u8]) -> bool {
    // An escape may be any character.
    matches!(raw.trim_ascii_start().first(), Some(b'<' | b'[' | b'\\'))
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
                "<system-reminder>x</system-reminder>[Request interrupted by user]",
                None,
            ),
        ] {
            assert_eq!(typed_in(text), typed, "{text}");
        }
    }
}
