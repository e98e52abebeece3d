//! The questions of a call that asks the user, and their short forms for display with the answers.

use std::borrow::Cow;

use super::super::decisions::sentences;
use super::super::input::Input;
use crate::ids::IdMap;

/// The maximum length of a question shown with its answer, in bytes.
pub(super) const LONGEST_QUESTION: usize = 160;

/// Stands where a question was cut.
const CUT: &str = "…";

/// The questions of a call.
pub(super) struct Questions {
    /// Their short forms, each just long enough to identify the question.
    short: Vec<String>,
    /// The full texts of the shortened questions, with their indices.
    long: Vec<(String, usize)>,
    by_text: IdMap<String, usize>,
    /// Keyed by further names under which an answer may refer to them.
    by_name: IdMap<String, usize>,
}

impl Questions {
    pub(super) fn of(input: &Input<'_>) -> Self {
        const TEXTS: [&str; 5] = ["question", "prompt", "text", "message", "response"];
        let mut all = Questions {
            short: Vec::new(),
            long: Vec::new(),
            by_text: IdMap::default(),
            by_name: IdMap::default(),
        };
        let mut read = |number: usize, of: &Input<'_>| {
            let Some(text) = of.text(&TEXTS) else {
                return;
            };
            let text = text.trim().to_owned();
            let at = all.short.len();
            let short = short(&text).into_owned();
            if short.len() < text.len() {
                all.long.push((text.clone(), at));
            }
            all.short.push(short);
            let keys = ["id", "header", "title"];
            let names = keys.iter().filter_map(|key| of.text(&[key]));
            let names = names.map(Cow::into_owned);
            for name in names.chain([number.to_string(), text.clone()]) {
                all.by_name.entry(name).or_insert(at);
            }
            all.by_text.entry(text).or_insert(at);
        };
        match input.objects("questions") {
            Some(several) => (0..).zip(&several).for_each(|(n, of)| read(n, of)),
            None => read(0, input),
        }
        all
    }

    pub(super) fn first(&self) -> Option<&str> {
        self.short.first().map(String::as_str)
    }

    pub(super) fn named(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(|at| &self.short[*at][..])
    }

    pub(super) fn with_text(&self, text: &str) -> Option<&str> {
        self.by_text.get(text).map(|at| &self.short[*at][..])
    }

    /// Pairs of questions and answers as an agent writes them, with each question shortened.
    pub(super) fn shortened_in(&self, pairs: &str) -> String {
        /// More than an agent asks at once: each is searched for in the whole text.
        const MOST: usize = 64;
        let mut out = pairs.to_owned();
        for (text, at) in self.long.iter().take(MOST) {
            let short = &self.short[*at];
            out = out.replacen(&format!("\"{text}\"="), &format!("\"{short}\"="), 1);
        }
        out
    }
}

/// The last sentence of a question, which does the asking; only its beginning if it is long.
pub(super) fn short(question: &str) -> Cow<'_, str> {
    if question.len() <= LONGEST_QUESTION && !question.contains('\n') {
        return Cow::Borrowed(question);
    }
    let asks = sentences(question).last().unwrap_or(question);
    if asks.len() <= LONGEST_QUESTION {
        return Cow::Owned(format!("{CUT} {asks}"));
    }
    let boundaries = asks.char_indices().map(|(at, _)| at);
    let end = boundaries.take_while(|at| *at <= LONGEST_QUESTION).last();
    let end = end.unwrap_or_default();
    let end = asks[..end].rfind(' ').unwrap_or(end);
    Cow::Owned(format!("{} {CUT}", &asks[..end]))
}
