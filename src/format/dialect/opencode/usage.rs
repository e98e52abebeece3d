//! The tokens that a provider counted for an answer. When it continues, the agent compares those of the last answer with the
//! window.

use crate::format::usage::Share;
use crate::scan::Value;
use crate::transcript::{Conversation, Replace, Role, Transcript};

/// The tokens of the request, from the `info` of its answer.
pub(super) fn recorded(info: Value<'_>) -> Option<u64> {
    let [input, cache] = info.field("tokens").fields(["input", "cache"]);
    let [read, write] = cache.fields(["read", "write"]);
    let parts = [input, read, write].into_iter();
    parts.filter_map(Value::number).reduce(u64::saturating_add)
}

/// Reduces the figures of the last answer by the share that was removed.
pub(super) fn corrected(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    share: Share,
) -> Vec<Replace> {
    let links = transcript.links();
    let info = |line: u32| Value::of(transcript.line(line)).field("info");
    let is_last = |line: &&u32| {
        let link = &links[**line as usize];
        let is_answer = link.role == Some(Role::Assistant) && !link.is_summary;
        is_answer && info(**line).field("finish").is_there()
    };
    let Some(line) = conversation.path.iter().rev().find(is_last).copied() else {
        return Vec::new();
    };
    let of = info(line);
    let tokens = of.field("tokens");
    let [total, input, cache] = tokens.fields(["total", "input", "cache"]);
    let [read, write] = cache.fields(["read", "write"]);
    let Some(counted) = recorded(of) else {
        return Vec::new();
    };
    let saved = share.saved(counted);
    let mut left = saved;
    let mut replace = Vec::new();
    for figure in [read, write, input] {
        if let Some((span, figure)) = figure.figure() {
            let off = figure.min(left);
            left -= off;
            if off > 0 {
                replace.push(Replace::number(line, span, figure - off));
            }
        }
    }
    if let Some((span, figure)) = total.figure()
        && saved > left
    {
        let lowered = figure.saturating_sub(saved - left);
        replace.push(Replace::number(line, span, lowered));
    }
    replace
}
