//! What a server refuses about the form of a request, and the form that it takes instead: the name of a limit, where the system's
//! words stand, a parameter, the room for an answer.
//!
//! PURE. A part of a request is only taken for refused where an error says so and names it; what was learned of a model holds for
//! the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::endpoint::Endpoint;
use super::provider::Provider;
use super::too_long::numbers;
use crate::policy::Parameters;

/// Room for reasoning, in tokens, where a model has none left for its answer.
const REASONING: u64 = 16_000;
/// The most names of a message that are looked up.
const MOST_NAMES: usize = 64;

/// What a server refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rejection {
    /// A part of the request: one of these names, the most likely first.
    Names(Vec<String>),
    /// More tokens than these in an answer of the model.
    Answer(u64),
    /// The prompt and the room for the answer, which together are larger than the most that the model holds.
    Room { prompt: u64, most: u64 },
}

/// The form of requests that is sent, as far as it is not the usual one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RequestVariant {
    limit: Limit,
    /// Where the system prompt goes.
    pub(super) system: SystemWords,
    /// Parameters of the policy that are not sent.
    pub(super) left_out: BTreeSet<String>,
    /// The most tokens of an answer.
    pub(super) most: Option<u64>,
    /// Tokens for reasoning, beside those of the answer.
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
    /// None is known.
    Unlimited,
}

/// Where the system prompt goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SystemWords {
    /// In their own place.
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
        // OpenAI's newer models refuse the old name, and other servers may not know the new one.
        let is_new = match (endpoint.provider, self.limit) {
            (Provider::Anthropic, _) => false,
            (Provider::Openai, Limit::First) => endpoint.is_own,
            (Provider::Openai, Limit::Second) => !endpoint.is_own,
            (Provider::Openai, Limit::Unlimited) => return None,
        };
        Some(if is_new { NEW_LIMIT } else { OLD_LIMIT })
    }

    /// The form without what was refused; `None` if it is not known how to do without it.
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

/// The forms that models take, by the model's name.
#[derive(Debug, Default)]
pub(super) struct VariantCache(Mutex<BTreeMap<String, RequestVariant>>);

impl VariantCache {
    /// The form for a model, as far as it is known now.
    pub(super) fn of(&self, model: &str) -> RequestVariant {
        let forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forms.get(model).cloned().unwrap_or_default()
    }

    /// Learns what was refused of the form that was `sent`. Whether there is another one to try.
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

    /// Learns what earlier runs have found to be refused, where nothing is known of the model yet.
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

    /// The model had no room for its answer after its reasoning.
    pub(super) fn reasons(&self, model: &str) {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forms.entry(model.to_owned()).or_default().reasoning = REASONING;
    }
}

/// Whether a refusal says how to ask otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Learned {
    /// Yes: there is a form that was not sent yet.
    Something,
    /// No.
    Nothing,
}

/// The name for the system's words among [`Rejection::Names`].
const SYSTEM: &str = "system";

/// Words that refuse a part of a request, in lower case.
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

/// Codes that do.
const CODES: [&str; 4] = [
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
    "extra_forbidden",
];

/// Words of templates and servers that know no message of a system.
const NO_SYSTEM: [&str; 6] = [
    "does not support 'system'",
    "system role not supported",
    "system role is not supported",
    "user and assistant roles are supported",
    "roles must alternate",
    "developer instruction is not enabled",
];

/// Where the most tokens of an answer stand in an error.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The last number before the words.
    Before,
    /// The first after them.
    First,
    /// The second, the end of a range.
    Second,
    /// The same, where the end is not in it.
    SecondExclusive,
}

/// Words around it, in lower case, in messages that name the limit.
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

/// What an error refuses of the form of its request, if that is what it says; `names` are its type and codes.
pub(super) fn refused(
    status: u16,
    (error, names): (&Value, &[&str]),
    said: &str,
) -> Option<Rejection> {
    let lower = said.to_lowercase();
    let is_about_roles = NO_SYSTEM.iter().any(|words| lower.contains(words));
    match status {
        400 | 422 => {}
        // A template that cannot be filled is an error of the server, for some.
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
        // `messages[0].role`, `thinking.budget_tokens`: the first part of it is a parameter.
        let parameter = error["param"].as_str().unwrap_or_default();
        let found = [parameter, said]
            .into_iter()
            .flat_map(|text| text.split(|c| !is_word(c)));
        let found = found.filter(|word| !word.is_empty()).take(MOST_NAMES);
        (refuses || has_code).then(|| Rejection::Names(found.map(str::to_owned).collect()))
    })
}

/// The room for an answer that an error in lower case asks for.
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
