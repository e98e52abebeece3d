//! Finds what the user typed in the text of a user message (or whoever gives the agent its tasks): agents add context and notes of
//! their own.
//!
//! PURE. Knows the tags and phrases that agents use for this.

/// The part of a message's text that the user typed: without the reminders and the context that the agent put before it, if
/// anything is left. Text that merely begins like one of these counts as the user's: losing the user's words is worse than keeping
/// a note too many.
pub fn typed_in(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(after) = after_added(rest) {
        rest = after;
    }
    let is_agents = rest.trim().is_empty() && !text.trim().is_empty()
        || WHOLE.contains(&rest.trim())
        || is_around_a_picture(rest);
    (!is_agents).then_some(rest)
}

/// The rest of a text that begins with a part the agent added.
fn after_added(text: &str) -> Option<&str> {
    let begin = text.trim_start();
    if begin.starts_with(OF_THE_LEAD) {
        return None;
    }
    if let Some(after) = TAGS.iter().find_map(|tag| after_element(begin, tag)) {
        return Some(after.trim_start());
    }
    match file(text) {
        Some((_, after)) => Some(after),
        None => after_note(begin),
    }
}

/// A file that the user mentioned and whose content the agent put before the user's words, as pi does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mentioned<'t> {
    /// Its path.
    pub path: &'t str,
    /// Its text; `None` if it is not a text file.
    pub text: Option<&'t str>,
}

/// The mentioned files that precede the user's words in a text.
pub fn mentioned_in(text: &str) -> Vec<Mentioned<'_>> {
    let mut files = Vec::new();
    let mut rest = text;
    while let Some((mentioned, after)) = file(rest) {
        files.push(mentioned);
        rest = after;
    }
    files
}

/// The file at the start of a text, and the rest of the text.
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

/// The tags of what agents add to user messages: reminders, context from an editor, messages from hooks and other agents.
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

/// How messages from a team's lead begin. Only teammates receive them, and they have no other user: like the prompt of a subagent,
/// such a message is the task. Messages between teammates, or to the lead, are not.
const OF_THE_LEAD: &str = "<teammate-message teammate_id=\"team-lead\"";

/// The rest of a text that begins with an element of this tag, with or without attributes. The element must be closed: someone who
/// merely mentions a tag does not close it.
fn after_element<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let rest = text.strip_prefix('<')?.strip_prefix(tag)?;
    let (_, after) = rest
        .starts_with(['>', ' '])
        .then(|| rest.split_once(&format!("</{tag}>")))??;
    Some(after)
}

/// Whole texts that Claude Code writes in the user's name.
const WHOLE: [&str; 3] = [
    "Tool loaded.",
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
];

/// The beginnings of notes that Claude Code or Codex writes in the user's name.
const ANOTHER: &str = "Another Claude session sent a message";
const GO_ON: &str = "Please continue the conversation from where we left it off without asking the user any further questions.";
const HOOKS: &str = "Stop hook feedback:\n";
const PROCESSES: &str =
    "Warning: The maximum number of unified exec processes you can keep open is ";

/// The rest of a text that begins with a note, if the note is complete and on lines of its own.
fn after_note(text: &str) -> Option<&str> {
    let after = after_message(text)
        .or_else(|| after_go_on(text))
        .or_else(|| after_hooks(text))
        .or_else(|| after_processes(text))?;
    let rest = after.trim_start();
    (rest.is_empty() || after[..after.len() - rest.len()].contains('\n')).then_some(rest)
}

/// The rest after a message from another session: an element, which may be followed by Claude Code's remark on it to its model.
fn after_message(text: &str) -> Option<&str> {
    const WHILE: &str = " while you were working";
    const SAYS_OF_IT: [&str; 2] = [
        "This came from another Claude session",
        "That \"other Claude session\" is an agent",
    ];
    let rest = text.strip_prefix(ANOTHER)?;
    let rest = rest.strip_prefix(WHILE).unwrap_or(rest);
    let rest = rest.strip_prefix(":\n")?;
    let tag = rest.strip_prefix('<')?.split(['>', ' ', '\n']).next()?;
    let mut after = after_element(rest, tag)?;
    while let begin = after.trim_start()
        && SAYS_OF_IT.iter().any(|says| begin.starts_with(says))
    {
        after = begin.find("\n\n").map_or("", |end| &begin[end..]);
    }
    Some(after)
}

fn after_go_on(text: &str) -> Option<&str> {
    const WITH: &str = " Continue with the last task that you were asked to work on.";
    let rest = text.strip_prefix(GO_ON)?;
    Some(rest.strip_prefix(WITH).unwrap_or(rest))
}

/// The rest after the lines from hooks: `- [the command]: what it says`. A message may continue on further lines, but whose those
/// are is uncertain.
fn after_hooks(text: &str) -> Option<&str> {
    const CONDITION: &str = "Prompt hook condition was not met: ";
    let all = text.strip_prefix(HOOKS)?;
    let is_hooks = |line: &str| {
        let of_command = line.strip_prefix("- [").or_else(|| line.strip_prefix('['));
        of_command.is_some_and(|rest| rest.contains("]: ")) || line.starts_with(CONDITION)
    };
    let lines = all.split_inclusive('\n').take_while(|line| is_hooks(line));
    let end: usize = lines.map(str::len).sum();
    // Keep the line break that ends the last hook line.
    let end = all[..end].trim_end().len();
    (end > 0).then(|| &all[end..])
}

fn after_processes(text: &str) -> Option<&str> {
    const OPEN: &str = " and you currently have ";
    const CLOSE: &str = " processes open. Reuse older processes or close them to prevent automatic pruning of old processes";
    let digits = |text: &'_ str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix(PROCESSES)?;
    let rest = rest[digits(rest)..].strip_prefix(OPEN)?;
    let rest = rest[digits(rest)..].strip_prefix(CLOSE)?;
    Some(rest.strip_prefix('.').unwrap_or(rest))
}

/// Whether a text is what Codex writes before or after the user's picture.
fn is_around_a_picture(text: &str) -> bool {
    let text = text.trim();
    let inside = |text: &str| {
        Some(
            text.strip_prefix("<image name=[")?
                .strip_suffix('>')?
                .to_owned(),
        )
    };
    // Anything after the end of such a tag is the user's words.
    inside(text).is_some_and(|inside| !inside.contains(['\n', '<', '>'])) || text == "</image>"
}

/// Whether a text may begin with something an agent adds: most do not, and need no further look. `raw` is its JSON.
pub(super) fn may_be_added(raw: &[u8]) -> bool {
    let raw = raw.trim_ascii_start();
    // An escape may be any character.
    matches!(raw.first(), Some(b'<' | b'[' | b'\\'))
        || [ANOTHER, GO_ON, HOOKS, PROCESSES, WHOLE[0]]
            .iter()
            .any(|note| {
                // Only up to where the JSON may have an escape.
                let start = note.trim_end().as_bytes();
                raw.starts_with(start)
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_begins_like_an_agents_is_the_users() {
        const PROCESSES_OPEN: &str = "Warning: The maximum number of unified exec processes you can keep open is 60 and you currently have 61 processes open. Reuse older processes or close them to prevent automatic pruning of old processes";
        for text in [
            "<user-prompt-submit-hook> is never called, why?",
            "<teammate-message teammate_id=\"x\"> shows up twice, fix that",
            "Stop hook feedback:\nwhat is that?",
            "Stop hook feedback: what is that?",
            "Another Claude session sent a message:\nit says no, what now?",
            "Another Claude session sent a message:\n<teammate-message> without an end",
            "Warning: The maximum number of unified exec processes you can keep open is 60 … how do I raise it?",
            "Please continue the conversation from where we left it off without asking the user any further questions. Is that yours?",
            "[Request interrupted by user] was odd [once more]",
            "<image name=[x]> is odd, see <b>",
        ] {
            assert_eq!(typed_in(text), Some(text), "{text}");
        }
        for (text, typed) in [
            (
                "Stop hook feedback:\n- [x.sh]: tests fail\n\nThis comes each time. Remove that hook.",
                Some("This comes each time. Remove that hook."),
            ),
            (
                "Stop hook feedback:\n- [x]: a\n- [y]: b\nwhy?",
                Some("why?"),
            ),
            ("Stop hook feedback:\n- [x]: a\n- [y]: b\n", None),
            (
                "Another Claude session sent a message:\n<teammate-message a=\"b\">\nx\n</teammate-message>\n\nThis came from another Claude session.\nIt is not your user.\n\ndo what it says, but not in prod",
                Some("do what it says, but not in prod"),
            ),
            (
                "Another Claude session sent a message while you were working:\n<agent-message>x</agent-message>",
                None,
            ),
            (PROCESSES_OPEN, None),
            (
                &format!("{PROCESSES_OPEN}\n\nhow do I raise it?"),
                Some("how do I raise it?"),
            ),
            (
                "Please continue the conversation from where we left it off without asking the user any further questions. Continue with the last task that you were asked to work on.",
                None,
            ),
        ] {
            assert!(may_be_added(
                &serde_json::to_string(text).unwrap().as_bytes()[1..]
            ));
            assert_eq!(typed_in(text), typed, "{text}");
        }
    }

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
            ("<system-reminder>x", Some("<system-reminder>x")),
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
                "<teammate-message teammate_id=\"team-lead\">\nhi\n</teammate-message>",
                Some("<teammate-message teammate_id=\"team-lead\">\nhi\n</teammate-message>"),
            ),
            (
                "<teammate-message teammate_id=\"x\">done</teammate-message>\n\n<teammate-message teammate_id=\"team-lead\" summary=\"s\">go on</teammate-message>",
                Some(
                    "<teammate-message teammate_id=\"team-lead\" summary=\"s\">go on</teammate-message>",
                ),
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
