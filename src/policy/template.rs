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
mod tests;
