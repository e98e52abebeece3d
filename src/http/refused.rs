//! What a server rejects about the form of a request, and the form that it accepts instead: the name of a limit, the place of the
//! system prompt, a parameter, the room for an answer.
//!
//! PURE. A part of a request counts as rejected only if an error says so and names it. What was learned about a model applies for
//! the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::endpoint::Endpoint;
use super::provider::Provider;
use super::too_long::numbers;
use crate::policy::Parameters;

/// Room for reasoning, in tokens, if a model has none left for its answer.
const REASONING: u64 = 16_000;
/// The maximum number of names in a message to look up.
const MOST_NAMES: usize = 64;

/// What a server rejects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rejection {
    /// A part of the request: one of these names, the most likely first.
    Names(Vec<String>),
    /// More than this many tokens in the model's answer.
    Answer(u64),
    /// The prompt and the room for the answer together, because they exceed the model's maximum.
    Room { prompt: u64, most: u64 },
}

/// How requests deviate from the usual form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RequestVariant {
    limit: Limit,
    /// Where the system prompt goes.
    pub(super) system: SystemWords,
    /// Parameters of the policy that are not sent.
    pub(super) left_out: BTreeSet<String>,
    /// The maximum number of tokens in an answer.
    pub(super) most: Option<u64>,
    /// Tokens for reasoning, in addition to those of the answer.
    pub(super) reasoning: u64,
}

/// The parameter that limits the size of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Limit {
    /// The one that is tried first.
    #[default]
    First,
    /// The other one.
    Second,
    /// None: both were rejected.
    Unlimited,
}

/// Where the system prompt goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SystemWords {
    /// In its own place.
    #[default]
    Apart,
    /// Before the user's.
    BeforeUser,
}

/// Names of a limit on the answer.
pub(super) const OLD_LIMIT: &str = "max_tokens";
pub(super) const NEW_LIMIT: &str = "max_completion_tokens";

impl RequestVariant {
    /// The parameter that limits the answer.
    pub(super) fn limit(&self, endpoint: &Endpoint) -> Option<&'static str> {
        // OpenAI's newer models reject the old name, and other servers may not know the new one.
        let is_new = match (endpoint.provider, self.limit) {
            (Provider::Anthropic, _) => false,
            (Provider::Openai, Limit::First) => endpoint.is_own,
            (Provider::Openai, Limit::Second) => !endpoint.is_own,
            (Provider::Openai, Limit::Unlimited) => return None,
        };
        Some(if is_new { NEW_LIMIT } else { OLD_LIMIT })
    }

    /// The form without what was rejected; `None` if no way around it is known.
    fn without(
        &self,
        refused: &Rejection,
        endpoint: &Endpoint,
        extra: &Parameters,
    ) -> Option<RequestVariant> {
        let mut form = self.clone();
        match refused {
            Rejection::Answer(most) => {
                form.most = Some(self.most.map_or(*most, |known| known.min(*most)));
            }
            Rejection::Names(names) => {
                let sent = |name: &&String| {
                    let is_extra = extra.contains_key(*name) && !self.left_out.contains(*name);
                    is_extra || self.limit(endpoint) == Some(name.as_str()) || *name == SYSTEM
                };
                let name = names.iter().find(sent)?;
                if extra.contains_key(name) {
                    form.left_out.insert(name.clone());
                } else if name == SYSTEM {
                    form.system = SystemWords::BeforeUser;
                } else if endpoint.provider == Provider::Openai {
                    form.limit = match self.limit {
                        Limit::First => Limit::Second,
                        Limit::Second | Limit::Unlimited => Limit::Unlimited,
                    };
                }
            }
            Rejection::Room { .. } => {}
        }
        (form != *self).then_some(form)
    }
}

/// The forms that models accept, by model name.
#[derive(Debug, Default)]
pub(super) struct VariantCache(Mutex<BTreeMap<String, RequestVariant>>);

impl VariantCache {
    /// The form for a model, as far as known now.
    pub(super) fn of(&self, model: &str) -> RequestVariant {
        let forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forms.get(model).cloned().unwrap_or_default()
    }

    /// Learns what was rejected in the form that was `sent`. Returns whether there is another form to try.
    pub(super) fn learn(
        &self,
        model: &str,
        sent: &RequestVariant,
        refused: &Rejection,
        endpoint: &Endpoint,
        extra: &Parameters,
    ) -> Learned {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = forms.entry(model.to_owned()).or_default();
        // Another request may have learned the same meanwhile.
        if known != sent {
            return Learned::Something;
        }
        match sent.without(refused, endpoint, extra) {
            Some(form) => {
                *known = form;
                Learned::Something
            }
            None => Learned::Nothing,
        }
    }

    /// Learns what earlier runs found to be rejected, if nothing is known about the model yet.
    pub(super) fn teach(
        &self,
        model: &str,
        refused: &[Rejection],
        endpoint: &Endpoint,
        extra: &Parameters,
    ) {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.is_empty() || forms.contains_key(model) {
            return;
        }
        let mut form = RequestVariant::default();
        for refused in refused {
            form = form.without(refused, endpoint, extra).unwrap_or(form);
        }
        forms.insert(model.to_owned(), form);
    }

    /// Records that the model had no room for its answer after its reasoning.
    pub(super) fn reasons(&self, model: &str) {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forms.entry(model.to_owned()).or_default().reasoning = REASONING;
    }
}

/// Whether another form was learned from a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Learned {
    /// Yes: there is a form that was not sent yet.
    Something,
    /// No.
    Nothing,
}

/// The name for the system prompt in [`Rejection::Names`].
const SYSTEM: &str = "system";

/// Phrases that reject a part of a request, in lower case.
const REFUSES: [&str; 18] = [
    "unsupported parameter",
    "unsupported value",
    "unsupported argument",
    "not supported",
    "not support",
    "is unsupported",
    "unrecognized request argument",
    "unrecognized field",
    "unknown parameter",
    "unknown name",
    "unknown field",
    "unknown argument",
    "unexpected keyword",
    "extra inputs are not permitted",
    "extra fields not permitted",
    "deprecated",
    "not allowed",
    "invalid parameter",
];

/// Error codes that do the same.
const CODES: [&str; 4] = [
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
    "extra_forbidden",
];

/// Phrases of templates and servers that do not support system messages.
const NO_SYSTEM: [&str; 6] = [
    "does not support 'system'",
    "system role not supported",
    "system role is not supported",
    "user and assistant roles are supported",
    "roles must alternate",
    "developer instruction is not enabled",
];

/// Where an error states the maximum number of tokens in an answer, relative to a phrase.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The last number before the phrase.
    Before,
    /// The first number after it.
    First,
    /// The second number after it, the end of a range.
    Second,
    /// The same, for a range that excludes its end.
    SecondExclusive,
}

/// Phrases next to the number, in lower case, in messages that name the limit.
const ANSWERS: [(&str, At); 8] = [
    // Anthropic: `max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens`
    ("which is the maximum allowed", At::Before),
    // OpenAI, Azure
    ("supports at most", At::First),
    // Groq
    ("must be less than or equal to", At::First),
    // Bedrock
    ("exceeds the model limit of", At::First),
    // DeepSeek: `the valid range of max_tokens is [1, 8192]`
    ("range of max_tokens is", At::Second),
    // Qwen
    ("range of max_tokens should be", At::Second),
    ("range of max_completion_tokens should be", At::Second),
    // Gemini: `the supported range is from 1 (inclusive) to 65537 (exclusive)`
    ("supported range is from", At::SecondExclusive),
];

/// What an error rejects about the form of its request, if that is its meaning; `names` are its type and codes.
pub(super) fn refused(
    status: u16,
    (error, names): (&Value, &[&str]),
    said: &str,
) -> Option<Rejection> {
    let lower = said.to_lowercase();
    let is_about_roles = NO_SYSTEM.iter().any(|words| lower.contains(words));
    match status {
        400 | 422 => {}
        // Some servers report a template that cannot be rendered as a server error.
        500 if is_about_roles => {}
        _ => return None,
    }
    if is_about_roles {
        return Some(Rejection::Names(vec![SYSTEM.to_owned()]));
    }
    answer(&lower).or_else(|| {
        let refuses = REFUSES.iter().any(|words| lower.contains(words));
        let has_code = names.iter().any(|name| CODES.contains(name));
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        // In `messages[0].role` or `thinking.budget_tokens`, the first part is a parameter.
        let parameter = error["param"].as_str().unwrap_or_default();
        let found = [parameter, said]
            .into_iter()
            .flat_map(|text| text.split(|c| !is_word(c)));
        let found = found.filter(|word| !word.is_empty()).take(MOST_NAMES);
        (refuses || has_code).then(|| Rejection::Names(found.map(str::to_owned).collect()))
    })
}

/// The room for an answer that an error asks for; its text is in lower case.
fn answer(lower: &str) -> Option<Rejection> {
    let limits = [
        OLD_LIMIT,
        NEW_LIMIT,
        "maxoutputtokens",
        "max_output_tokens",
        "maximum tokens",
    ];
    if !limits.iter().any(|name| lower.contains(name)) {
        return None;
    }
    // vLLM: `'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 1000 input
    // tokens`
    if let Some((_, after)) = lower.split_once("is too large")
        && after.contains("maximum context length")
    {
        let found: Vec<u64> = numbers(after).take(3).collect();
        return match found[..] {
            [_, most, prompt] => Some(Rejection::Room { prompt, most }),
            _ => None,
        };
    }
    ANSWERS.iter().find_map(|(words, at)| {
        let (before, after) = lower.split_once(words)?;
        let most = match at {
            At::Before => numbers(before).last()?,
            At::First => numbers(after).next()?,
            At::Second => numbers(after).nth(1)?,
            At::SecondExclusive => numbers(after).nth(1)?.saturating_sub(1),
        };
        (most > 0).then_some(Rejection::Answer(most))
    })
}

#[cfg(test)]
#[path = "refused/tests.rs"]
mod tests;
