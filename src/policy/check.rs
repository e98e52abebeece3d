//! Checks keys that must agree with each other. Whether a key accepts its value is checked when it is read.
//!
//! Never corrects a policy: the error names the two keys that contradict each other.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};

use super::{Layer, Policy, Tools, TriggerOn, keys};

/// Checks that the keys of `policy` agree.
pub(super) fn check(policy: &Policy) -> Result<()> {
    let json = policy.to_json()?;
    for key in keys::all() {
        let layer = key.needed_by.filter(|layer| policy.has(*layer));
        if let Some(layer) = layer
            && key.get(&json) == ""
        {
            let (name, layer) = (key.name, layer.name());
            return Err(Error::new(
                ErrorKind::Config,
                format!("{name} is empty while the layer \"{layer}\" is on"),
            )
            .hint(format!("set {name}, or take \"{layer}\" out of layers")));
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

    check_tools(&policy.tools)?;
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

/// Rejects a tool that is listed under two kinds: only one could apply.
fn check_tools(tools: &Tools) -> Result<()> {
    let kinds = [
        ("tools.shell", &tools.shell),
        ("tools.read", &tools.read),
        ("tools.write", &tools.write),
        ("tools.edit", &tools.edit),
        ("tools.search", &tools.search),
        ("tools.web", &tools.web),
    ];
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for (kind, names) in kinds {
        for name in names {
            if let Some(other) = known.insert(name, kind).filter(|other| *other != kind) {
                let message = format!("{name:?} is in {other} and in {kind}");
                return Err(Error::new(ErrorKind::Config, message).hint("a tool is of one kind"));
            }
        }
    }
    Ok(())
}
