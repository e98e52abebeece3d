//! What a key or a flag needs to have an effect under a policy: a layer, summaries, a model. Data only.
//!
//! Covers only needs that do not depend on the transcript. Others, such as a trigger that is not reached, are reported with the
//! result.

use super::{Layer, Method, Policy, Source, SummaryWhen, TargetKind, TooLarge, TriggerOn};

/// What something needs to have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A layer.
    Layer(Layer),
    /// The layer "summarize", not switched off.
    Summaries,
    /// Summaries, and the layer that restores files after them.
    Restored,
    /// Summaries that ctxpack does not write itself.
    Model,
    /// Summaries that a server writes.
    Server,
    /// A value of another key.
    Key(Other),
}

/// A value of another key that a key needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// A trigger that is consulted.
    Trigger,
    /// This kind of threshold.
    On(TriggerOn),
    /// A limit that depends on the model's window.
    OnContext,
    /// A target that is not a share.
    NoShare,
    /// A threshold or a cap on it that depends on the longest answer.
    OnAnswer,
    /// A summary size that no target decides.
    SizeByTokens,
    /// A summary size that is a share of what is replaced.
    SizeByShare,
    /// Results with a limit of their own for being too large.
    SizeJudged,
    /// Tokens counted by a vocabulary.
    Encoding,
    /// Tokens counted by characters.
    Chars,
}

/// What keys need, by the beginning of their names; the first match applies. Keys without an entry act on their own, or in more
/// than one layer. Other keys of `target` have no entry, since a result states whether its target was reached.
const NEEDS: [(&str, Need); 51] = [
    ("superseded.", Need::Layer(Layer::Superseded)),
    ("demote.", Need::Layer(Layer::Demote)),
    ("clear.", Need::Layer(Layer::Clear)),
    ("offload.", Need::Layer(Layer::Offload)),
    ("restore.", Need::Restored),
    ("trigger.on", Need::Key(Other::Trigger)),
    ("trigger.tokens", Need::Key(Other::On(TriggerOn::Tokens))),
    ("trigger.share", Need::Key(Other::On(TriggerOn::Share))),
    ("trigger.cap_share", Need::Key(Other::Trigger)),
    ("trigger.min_savings", Need::Key(Other::Trigger)),
    ("trigger.manual_tool", Need::Layer(Layer::Summarize)),
    ("trigger.force_on_finish", Need::Layer(Layer::Summarize)),
    ("window.output_cap", Need::Key(Other::On(TriggerOn::Window))),
    ("window.buffer", Need::Key(Other::On(TriggerOn::Window))),
    ("window.max_output", Need::Key(Other::OnAnswer)),
    ("window.context", Need::Key(Other::OnContext)),
    ("window.", Need::Layer(Layer::Summarize)),
    ("target.tokens", Need::Key(Other::NoShare)),
    ("tokens.encoding", Need::Key(Other::Encoding)),
    ("tokens.unit", Need::Key(Other::Chars)),
    ("tokens.chars_per_token", Need::Key(Other::Chars)),
    ("tokens.rounding", Need::Key(Other::Chars)),
    ("summary.when", Need::Layer(Layer::Summarize)),
    ("summary.base_url", Need::Server),
    ("summary.model", Need::Server),
    ("summary.extra", Need::Server),
    ("summary.prompt", Need::Model),
    ("summary.system", Need::Model),
    ("summary.reads", Need::Model),
    // It also limits the input of the built-in summary.
    ("summary.input_chars", Need::Summaries),
    ("summary.input", Need::Model),
    ("summary.output_factor", Need::Model),
    ("summary.tries", Need::Model),
    ("summary.wait", Need::Model),
    ("summary.drop_rounds", Need::Model),
    ("summary.too_long", Need::Model),
    ("summary.window", Need::Model),
    ("summary.cut_off", Need::Model),
    ("summary.breaker", Need::Model),
    ("summary.max_invented", Need::Model),
    ("summary.must_keep", Need::Model),
    ("summary.narrative_share", Need::Model),
    // It selects the writer, which has no effect without summaries.
    ("summary.source", Need::Summaries),
    ("summary.instructions", Need::Summaries),
    ("summary.tokens", Need::Key(Other::SizeByTokens)),
    ("summary.share", Need::Key(Other::SizeByShare)),
    ("summary.min_tokens", Need::Key(Other::SizeByShare)),
    ("summary.max_tokens", Need::Key(Other::SizeByShare)),
    ("summary.too_large_share", Need::Key(Other::SizeJudged)),
    ("summary.too_large_tokens", Need::Key(Other::SizeJudged)),
    ("summary.", Need::Summaries),
];

impl Need {
    /// What a key needs, if anything.
    pub(super) fn of(key: &str) -> Option<Need> {
        let (_, need) = NEEDS.iter().find(|(name, _)| key.starts_with(name))?;
        Some(*need)
    }

    /// Why a policy does not meet the need, if it does not.
    pub fn missing(self, policy: &Policy) -> Option<String> {
        match self {
            Need::Layer(layer) => {
                let name = layer.name();
                (!policy.has(layer)).then(|| format!("the policy's layers do not include {name:?}"))
            }
            Need::Summaries => Need::Layer(Layer::Summarize)
                .missing(policy)
                .or_else(|| is_off(policy).then(|| "summary.when is \"never\"".to_owned())),
            Need::Restored => Need::Layer(Layer::Restore)
                .missing(policy)
                .or_else(|| Need::Summaries.missing(policy)),
            Need::Model => Need::Summaries.missing(policy).or_else(|| {
                let is_own = policy.summary.source == Source::Extractive;
                is_own.then(|| own(policy))
            }),
            Need::Server => {
                Need::Summaries
                    .missing(policy)
                    .or_else(|| match policy.summary.source {
                        Source::Anthropic | Source::Openai => None,
                        Source::Extractive | Source::Scripted => Some(own(policy)),
                    })
            }
            Need::Key(other) => other.missing(policy),
        }
    }
}

impl Other {
    /// The other key and its value, if that is not the one needed.
    fn missing(self, policy: &Policy) -> Option<String> {
        let (trigger, summary) = (&policy.trigger, &policy.summary);
        let summarises = || Need::Layer(Layer::Summarize).missing(policy);
        let is_asked = || {
            summarises().or_else(|| {
                let is_always = summary.when == SummaryWhen::Always;
                is_always.then(|| "summary.when is \"always\"".to_owned())
            })
        };
        let on = || format!("trigger.on is {:?}", trigger.on.name());
        match self {
            Other::Trigger => is_asked(),
            Other::On(needed) => is_asked().or_else(|| (trigger.on != needed).then(on)),
            Other::OnAnswer => is_asked().or_else(|| {
                let is_capped = trigger.on == TriggerOn::Window || trigger.cap_share > 0.0;
                (!is_capped).then(|| format!("{}, and trigger.cap_share is 0", on()))
            }),
            Other::OnContext => summarises().or_else(|| {
                let is_judged = summary.too_large == TooLarge::LastTurns
                    && summary.too_large_tokens == 0
                    && summary.too_large_share > 0.0;
                let is_of_window = trigger.on != TriggerOn::Tokens || trigger.cap_share > 0.0;
                // A model is shown as much of the conversation as fits its window.
                let is_shown = matches!(summary.source, Source::Anthropic | Source::Openai)
                    && summary.window == 0;
                (!is_judged && !is_of_window && !is_shown).then(on)
            }),
            Other::NoShare => policy
                .target
                .is_share()
                .then(|| "target.percent is set".to_owned()),
            Other::SizeByTokens => Need::Summaries.missing(policy).or_else(|| {
                // A summary written on request may be of a conversation within its target.
                let is_due_above_it = summary.when == SummaryWhen::Auto;
                let is_fitted = summary.too_large == TooLarge::Shrink;
                // If an aim is missed, the summary can be as small as this.
                let has_target =
                    policy.target.kind == TargetKind::Cap && policy.target.asked(0).is_some();
                (has_target && is_fitted && is_due_above_it)
                    .then(|| "the summary takes the room that the target leaves".to_owned())
            }),
            Other::SizeByShare => Need::Summaries.missing(policy).or_else(|| {
                // If an aim is missed, the summary keeps the size that the share yields.
                let has_aim =
                    policy.target.kind == TargetKind::Aim && policy.target.asked(0).is_some();
                let tokens = summary.tokens;
                (tokens > 0 && !has_aim).then(|| format!("summary.tokens is {tokens}"))
            }),
            Other::SizeJudged => Need::Summaries.missing(policy).or_else(|| {
                let is_judged = summary.too_large == TooLarge::LastTurns;
                (!is_judged).then(|| format!("summary.too_large is {:?}", summary.too_large.name()))
            }),
            Other::Encoding => counts_by(policy, Method::Bpe),
            Other::Chars => counts_by(policy, Method::Chars),
        }
    }
}

/// The method by which the policy counts tokens, if it is not the one needed.
fn counts_by(policy: &Policy, needed: Method) -> Option<String> {
    let method = policy.tokens.method;
    (method != needed).then(|| format!("tokens.method is {:?}", method.name()))
}

fn is_off(policy: &Policy) -> bool {
    policy.summary.when == SummaryWhen::Never
}

fn own(policy: &Policy) -> String {
    format!("summary.source is {:?}", policy.summary.source.name())
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::*;

    #[test]
    fn every_entry_is_about_a_key() {
        for (name, _) in NEEDS {
            assert!(keys::all().any(|key| key.name.starts_with(name)), "{name}");
        }
    }
}
