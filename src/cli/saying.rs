//! What commands say of a policy and of inputs: the policy of a report, and faults on standard error.
//!
//! Decides nothing.

use serde_json::json;

use super::{Context, Fault, Voice};
use crate::batch::Found;
use crate::outcome::{NoticeLevel, Notices, Outcome, path_text};
use crate::policy::Effective;
use crate::report::{OverrideRef, PolicyRef};

/// The policy as a report names it.
pub(super) fn policy_ref(effective: &Effective) -> PolicyRef {
    let override_ref = |o: &crate::policy::Override| OverrideRef {
        key: o.key.clone(),
        value: o.value.clone(),
        origin: o.origin.clone(),
    };
    PolicyRef {
        name: effective.policy.name.clone(),
        hash: effective.hash.clone(),
        overrides: effective.overrides.iter().map(override_ref).collect(),
    }
}

/// Faults, each on a line; warnings too where the user wants them.
pub(super) fn say(context: &Context, found: &Found, outcomes: &[Outcome]) {
    for error in &found.missing {
        context.error(error);
    }
    let missing = |outcome: &Outcome| {
        let mut paths = found
            .missing
            .iter()
            .filter_map(|error| error.path.as_deref());
        paths.any(|path| path_text(path) == outcome.file.path)
    };
    for outcome in outcomes {
        if let Some(error) = outcome.file.error.as_ref().filter(|_| !missing(outcome)) {
            context.fault(&Fault {
                kind: json!(error.kind),
                file: Some(outcome.file.path.clone()),
                line: error.line,
                message: &error.message,
                hint: error.hint.as_deref(),
            });
        }
        if context.voice == Voice::Loud {
            let mut notices = Notices::default();
            for warning in &outcome.warnings {
                let place = (outcome.file.path.as_str(), warning.line);
                notices.add(
                    NoticeLevel::Warning,
                    warning.kind.name(),
                    &warning.message,
                    None,
                    place,
                );
            }
            context.notices(notices);
        }
    }
}
