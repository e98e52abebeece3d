//! Flags that cannot have an effect: refused before the first input, so that no user relies on them.
//!
//! Considers only the command line and the policy. What depends on the inputs is told at the end of the run.

use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Effective, Layer, Need, Policy, SummaryWhen};

/// Flags that were given, with what they need.
#[derive(Debug)]
pub(super) struct Needing {
    pub(super) flags: Vec<&'static str>,
    pub(super) need: Need,
}

/// The names of those flags that were given.
pub(super) fn given<const N: usize>(
    flags: [(&'static str, Option<()>); N],
) -> impl Iterator<Item = &'static str> {
    let given = flags.into_iter();
    given.filter_map(|(name, given)| given.map(|()| name))
}

/// Refuses flags that cannot have an effect under a policy.
pub(super) fn check(effective: &Effective, all: &[Needing]) -> Result<()> {
    let policy = &effective.policy;
    for Needing { flags, need } in all {
        if flags.is_empty() {
            continue;
        }
        if let Some(why) = need.missing(policy) {
            let error = refused(flags, &why);
            let lacks_summaries = Need::Summaries.missing(policy).as_ref() == Some(&why);
            return Err(match variable_against_summaries(effective) {
                Some(name) if lacks_summaries => error.hint(format!(
                    "{name} in the environment switches them off: unset it, or leave the flag out"
                )),
                Some(_) | None => error.hint(hint(*need, policy)),
            });
        }
    }
    Ok(())
}

/// The variable that switches summaries off, if one does.
fn variable_against_summaries(effective: &Effective) -> Option<&str> {
    let is_off = effective.policy.summary.when == SummaryWhen::Never
        && effective.policy.has(Layer::Summarize);
    let origin = effective.origin_of("summary.when").filter(|_| is_off);
    origin.and_then(|origin| origin.strip_prefix("env "))
}

/// The error for flags that cannot have an effect.
pub(super) fn refused(flags: &[&str], why: &str) -> Error {
    let (names, verb) = match flags {
        [one] => ((*one).to_owned(), "has"),
        [most @ .., last] => (format!("{} and {last}", most.join(", ")), "have"),
        [] => (String::new(), "has"),
    };
    Error::new(ErrorKind::Usage, format!("{names} {verb} no effect: {why}"))
}

fn hint(need: Need, policy: &Policy) -> &'static str {
    const POLICY: &str = "leave it out, or choose another policy: `ctxpack help policies`";
    let has_summaries = Need::Summaries.missing(policy).is_none();
    match need {
        Need::Server | Need::Model if has_summaries => {
            "add --summarizer anthropic or --summarizer openai, or leave it out"
        }
        Need::Server | Need::Model | Need::Summaries | Need::Restored
            if policy.has(Layer::Summarize) && !has_summaries =>
        {
            "leave it out, or let summaries be written: --summarize auto"
        }
        Need::Layer(_)
        | Need::Server
        | Need::Model
        | Need::Summaries
        | Need::Restored
        | Need::Key(_) => POLICY,
    }
}
