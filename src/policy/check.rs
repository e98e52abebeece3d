//! Keys that must agree with each other. What one key takes by itself is checked where it is read.
//!
//! Never mends a policy: it says which two keys are at odds.

use crate::error::{Error, ErrorKind, Result};

use super::{Layer, Policy, TriggerOn};

/// Whether the keys of `policy` agree.
pub(super) fn check(policy: &Policy) -> Result<()> {
    let texts = [
        (
            Layer::Superseded,
            "superseded.placeholder",
            &policy.superseded.placeholder,
        ),
        (Layer::Demote, "demote.text", &policy.demote.text),
        (Layer::Clear, "clear.placeholder", &policy.clear.placeholder),
        (Layer::Offload, "offload.text", &policy.offload.text),
        (Layer::Summarize, "summary.text", &policy.summary.text),
    ];
    for (layer, key, text) in texts {
        if policy.has(layer) && text.is_empty() {
            let layer = layer.name();
            return Err(Error::new(
                ErrorKind::Config,
                format!("{key} is empty while the layer \"{layer}\" is on"),
            )
            .hint(format!("set {key}, or take \"{layer}\" out of layers")));
        }
    }

    let summary = &policy.summary;
    if summary.min_tokens > summary.max_tokens {
        return Err(Error::new(
            ErrorKind::Config,
            format!(
                "summary.min_tokens, {}, is more than summary.max_tokens, {}",
                summary.min_tokens, summary.max_tokens
            ),
        )
        .hint("set both"));
    }

    let window = &policy.window;
    let kept_free = window.output_reserve() + window.buffer;
    if policy.has(Layer::Summarize)
        && policy.trigger.on == TriggerOn::Window
        && kept_free >= window.context
    {
        return Err(Error::new(
            ErrorKind::Config,
            format!(
                "window.context, {}, leaves nothing beside the {kept_free} of max_output and buffer",
                window.context
            ),
        )
        .hint("raise window.context, or lower window.max_output or window.buffer"));
    }
    Ok(())
}
