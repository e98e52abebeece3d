//! Texts with substitutions: rendered into an output and recognised there by a later run.
//!
//! A match concerns only the form: the caller checks whether a captured name is a file of the store.

use serde::{Deserialize, Serialize};

/// A substitution that a template may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// `{name}`: the path of a file in the store; one line, not empty.
    Name,
    /// `{tool}`: a tool's name in the transcript, "unknown" without a call; one line, not empty.
    Tool,
    /// `{preview}`: the start of a demoted result.
    Preview,
    /// `{summary}`: the summary's text.
    Summary,
}

impl Slot {
    pub(super) const ALL: [Slot; 4] = [Slot::Name, Slot::Tool, Slot::Preview, Slot::Summary];

    /// The substitution as a template writes it, braces included.
    pub fn written(self) -> &'static str {
        match self {
            Slot::Name => "{name}",
            Slot::Tool => "{tool}",
            Slot::Preview => "{preview}",
            Slot::Summary => "{summary}",
        }
    }

    /// The maximum number of bytes that a value at the start of `text` can take. Names end with their line, so that the template's
    /// own text after them is always found.
    fn reach(self, text: &str) -> usize {
        match self {
            Slot::Name | Slot::Tool => text.find('\n').unwrap_or(text.len()),
            Slot::Preview | Slot::Summary => text.len(),
        }
    }

    /// The minimum number of bytes that a value takes.
    fn least(self) -> usize {
        match self {
            Slot::Name | Slot::Tool => 1,
            Slot::Preview | Slot::Summary => 0,
        }
    }
}

/// The values of a template's substitutions, to be rendered or as recognised; "" for those that it lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Substitutions<'a> {
    /// For `{name}`.
    pub name: &'a str,
    /// For `{tool}`.
    pub tool: &'a str,
    /// For `{preview}`.
    pub preview: &'a str,
    /// For `{summary}`.
    pub summary: &'a str,
}

impl<'a> Substitutions<'a> {
    fn get(&self, slot: Slot) -> &'a str {
        match slot {
            Slot::Name => self.name,
            Slot::Tool => self.tool,
            Slot::Preview => self.preview,
            Slot::Summary => self.summary,
        }
    }
}

/// A policy's text with its substitutions, parsed once. Braces around anything else are ordinary text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Slot(Slot),
}

impl Template {
    /// The template as the policy writes it.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether there is no template: "" means none.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Whether the template contains a substitution.
    pub fn holds(&self, slot: Slot) -> bool {
        self.parts.contains(&Part::Slot(slot))
    }

    /// The text before the first substitution: what every output of this template begins with.
    pub fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            Some(Part::Slot(_)) | None => "",
        }
    }

    /// Whether an output can be distinguished from other texts and its values extracted: the template has some non-blank text, and
    /// no two substitutions are adjacent.
    pub fn is_recognisable(&self) -> bool {
        let has_text = self.parts.iter().any(|part| match part {
            Part::Text(text) => !text.trim().is_empty(),
            Part::Slot(_) => false,
        });
        has_text
            && !self
                .parts
                .windows(2)
                .any(|pair| matches!(pair, [Part::Slot(_), Part::Slot(_)]))
    }

    /// The text with its substitutions made.
    pub fn render(&self, values: &Substitutions<'_>) -> String {
        let mut out = String::new();
        for part in &self.parts {
            out.push_str(match part {
                Part::Text(text) => text,
                Part::Slot(slot) => values.get(*slot),
            });
        }
        out
    }

    /// Whether this template rendered `text`, and with which values.
    ///
    /// The match covers the whole of `text`: rendering these values gives `text` again. An empty template recognises nothing.
    pub fn matches<'t>(&self, text: &'t str) -> Option<Substitutions<'t>> {
        // A cheap test first: most texts were not rendered by this template, and most of those end differently.
        let ends_alike = match self.parts.last() {
            Some(Part::Text(tail)) => text.ends_with(tail.as_str()),
            Some(Part::Slot(_)) => true,
            None => false,
        };
        if !ends_alike {
            return None;
        }
        let found = take_apart(&self.parts, text, [None; Slot::ALL.len()])?;
        let value = |slot: Slot| found[slot as usize].unwrap_or_default();
        Some(Substitutions {
            name: value(Slot::Name),
            tool: value(Slot::Tool),
            preview: value(Slot::Preview),
            summary: value(Slot::Summary),
        })
    }
}

/// Matches `parts` with the whole of `text`, trying the shortest values first and backtracking.
///
/// `found` holds the values so far, indexed by substitution.
fn take_apart<'t>(
    parts: &[Part],
    text: &'t str,
    found: [Option<&'t str>; Slot::ALL.len()],
) -> Option<[Option<&'t str>; Slot::ALL.len()]> {
    match parts {
        [] => text.is_empty().then_some(found),
        [Part::Text(own), rest @ ..] => take_apart(rest, text.strip_prefix(own.as_str())?, found),
        [Part::Slot(slot), rest @ ..] => {
            // A substitution that occurs twice has one value.
            if let Some(known) = found[*slot as usize] {
                return take_apart(rest, text.strip_prefix(known)?, found);
            }
            // The template's last text is at the very end, however often it occurs before.
            let shortest = match rest {
                [] => text.len(),
                [Part::Text(tail)] => text.len().checked_sub(tail.len())?,
                [Part::Text(_) | Part::Slot(_), ..] => 0,
            };
            let ends = shortest.max(slot.least())..=slot.reach(text);
            let ending_at = |end: usize| {
                let mut found = found;
                found[*slot as usize] = Some(&text[..end]);
                take_apart(rest, &text[end..], found)
            };
            match rest {
                // Only positions where that text begins: a result can have megabytes.
                [Part::Text(own), _, ..] if !ends.is_empty() => {
                    let first = *ends.start();
                    let last = (*ends.end()).saturating_add(own.len()).min(text.len());
                    let within = text.as_bytes().get(first..last)?;
                    let finder = memchr::memmem::Finder::new(own);
                    let mut from = 0;
                    // These may overlap.
                    let mut starts = std::iter::from_fn(|| {
                        let start = from + finder.find(within.get(from..)?)?;
                        from = start + 1;
                        Some(start)
                    });
                    starts.find_map(|start| ending_at(first + start))
                }
                _ => ends
                    .filter(|&end| text.is_char_boundary(end))
                    .find_map(ending_at),
            }
        }
    }
}

impl From<String> for Template {
    fn from(source: String) -> Self {
        let mut parts = Vec::new();
        let mut rest = source.as_str();
        while let Some((at, slot)) = Slot::ALL
            .into_iter()
            .filter_map(|slot| Some((rest.find(slot.written())?, slot)))
            .min_by_key(|(at, _)| *at)
        {
            if at > 0 {
                parts.push(Part::Text(rest[..at].to_owned()));
            }
            parts.push(Part::Slot(slot));
            rest = &rest[at + slot.written().len()..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Template { source, parts }
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.source
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template(source: &str) -> Template {
        Template::from(source.to_owned())
    }

    fn values<'a>(
        name: &'a str,
        tool: &'a str,
        preview: &'a str,
        summary: &'a str,
    ) -> Substitutions<'a> {
        Substitutions {
            name,
            tool,
            preview,
            summary,
        }
    }

    #[test]
    fn a_long_text_is_taken_apart_in_no_time() {
        let two = template("[{preview}] and {summary} end");
        let text = format!("[{}", "é ".repeat(1_000_000));
        let start = std::time::Instant::now();
        assert_eq!(two.matches(&format!("{text} end")), None);
        let whole = format!("{text}] and b end");
        let found = two.matches(&whole);
        assert_eq!(found.map(|found| found.summary), Some("b"));
        let own = template("{preview}aa{summary}b");
        assert_eq!(own.matches("aaab"), Some(values("", "", "", "a")));
        assert!(start.elapsed().as_secs() < 60);
    }

    #[test]
    fn braces_around_anything_else_are_text() {
        let odd = template("{{tool}} {other} {name {summary}}");
        let all = values("n", "t", "p", "s");
        assert_eq!(odd.render(&all), "{t} {other} {name s}");
        assert_eq!(
            odd.matches("{t} {other} {name s}"),
            Some(values("", "t", "", "s"))
        );
        assert_eq!(odd.as_str(), "{{tool}} {other} {name {summary}}");
    }

    #[test]
    fn the_whole_text_must_be_covered() {
        let cleared = template("[Previous: used {tool}]");
        assert_eq!(
            cleared.matches("[Previous: used bash]"),
            Some(values("", "bash", "", ""))
        );
        for other in [
            "[Previous: used bash] and more",
            " [Previous: used bash]",
            "[Previous: used ]",
            "[Previous: used bash\nls]",
            "[Previous: used ",
            "",
        ] {
            assert_eq!(cleared.matches(other), None, "{other}");
        }
    }

    #[test]
    fn a_text_without_substitutions_matches_itself_and_an_empty_one_nothing() {
        let fixed = template("[Output compacted - re-read if needed]");
        assert_eq!(
            fixed.matches("[Output compacted - re-read if needed]"),
            Some(Substitutions::default())
        );
        assert_eq!(fixed.matches("[Output compacted - re-read if needed"), None);
        assert_eq!(template("").matches(""), None);
    }

    #[test]
    fn the_last_text_stands_at_the_end_even_where_a_value_repeats_it() {
        let demoted = template("Saved to: {name}\nPreview:\n{preview}...");
        let text = "Saved to: a\nPreview:\nwait.....\nPreview:\n...";
        assert_eq!(
            demoted.matches(text),
            Some(values("a", "", "wait.....\nPreview:\n", ""))
        );
    }

    #[test]
    fn a_substitution_made_twice_has_one_value() {
        let twice = template("{tool} ran; run {tool} again");
        assert_eq!(
            twice.matches("a ran; run a ran; run a again"),
            None,
            "the first could be \"a\" or \"a ran; run a\", the second only the rest"
        );
        assert_eq!(
            twice.matches("ls ran; run ls again"),
            Some(values("", "ls", "", ""))
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_recognisable() {
        let verdicts = [
            "",
            " ",
            "{tool}",
            "{name}{tool} x",
            "{tool}\n{name}",
            "x {tool} {name}",
        ]
        .map(|source| template(source).is_recognisable());
        assert_eq!(verdicts, [false, false, false, false, false, true]);
    }

    #[test]
    fn the_prefix_ends_at_the_first_substitution() {
        assert_eq!(
            template("[COMPACTED_CONTEXT]{summary}").prefix(),
            "[COMPACTED_CONTEXT]"
        );
        assert_eq!(template("{summary} x").prefix(), "");
        assert_eq!(template("fixed").prefix(), "fixed");
    }

    /// A template as a user might write it, from few characters, so that texts and values look alike.
    fn any_template() -> impl Strategy<Value = Template> {
        let slot = prop::sample::select(Slot::ALL.map(Slot::written).to_vec());
        let part = prop_oneof!["[ab.{}\n]{1,3}", slot.prop_map(str::to_owned)];
        prop::collection::vec(part, 1..6).prop_map(|parts| template(&parts.concat()))
    }

    proptest! {
        /// The shipped forms: names of one line come back whatever they hold.
        #[test]
        fn recognises_what_it_rendered(
            name in "[^\n]{1,20}", tool in "[^\n]{1,20}", preview in "(?s).{0,40}", summary in "(?s).{0,40}",
        ) {
            let all = values(&name, &tool, &preview, &summary);
            for (source, found) in [
                ("Output too large. Saved to: {name}\nPreview:\n{preview}...", values(&name, "", &preview, "")),
                ("[Output of {tool} cleared - run it again if needed]", values("", &tool, "", "")),
                ("Tool result is at: {name}", values(&name, "", "", "")),
                ("[Conversation compressed. Transcript: {name}]\n\n{summary}", values(&name, "", "", &summary)),
                ("[对话摘要]\n{summary}\n[摘要结束]", values("", "", "", &summary)),
            ] {
                let text = template(source).render(&all);
                prop_assert_eq!(template(source).matches(&text), Some(found));
            }
        }

        /// Any template recognises its own output; if it matches in two ways, both render it.
        #[test]
        fn a_match_renders_the_text_again(
            template in any_template(), name in "[ab.]{1,3}", tool in "[ab.]{1,3}", preview in "[ab.\n]{0,3}", summary in "[ab.\n]{0,3}",
        ) {
            let text = template.render(&values(&name, &tool, &preview, &summary));
            let found = template.matches(&text).map(|found| template.render(&found));
            prop_assert_eq!(found, Some(text));
        }

        /// Texts that it did not render are either rejected or matched completely.
        #[test]
        fn a_match_covers_any_text(template in any_template(), text in "[ab.\n]{0,8}") {
            if let Some(found) = template.matches(&text) {
                prop_assert_eq!(template.render(&found), text);
            }
        }
    }
}
