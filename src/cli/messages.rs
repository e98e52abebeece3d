//! Output of commands about a policy and about inputs: the policy in a report, and errors on standard error.
//!
//! Decides nothing.

use std::collections::{BTreeMap, HashSet};
use std::io;

use serde_json::json;

use super::{Context, ErrorFormat, Fault, Voice};
use crate::batch::Found;
use crate::error::{Error, ErrorKind};
use crate::outcome::{Entries, NoticeLevel, Notices, Warning, WarningKind, path_text};
use crate::policy::Effective;
use crate::report::{OverrideRef, PolicyRef};
use crate::text::count;

/// The error for a policy that needs a store where an output can have none.
pub(super) fn no_store() -> Error {
    let message =
        "the policy offloads outputs to a store, and a run that writes to standard output has none";
    Error::new(ErrorKind::Usage, message)
        .hint("name a store with --store DIR; skipping this step would change the result")
}

/// The policy as named in a report.
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

/// The maximum number of input errors printed individually without `-v`.
const ONE_BY_ONE: usize = 100;

/// Prints errors, each on a line, and if there are many, the rest by kind; also warnings if the user wants them.
///
/// # Errors
/// If an outcome cannot be read.
pub(super) fn say(context: &Context, found: &Found, outcomes: &dyn Entries) -> io::Result<()> {
    let mut faults = Faults {
        context,
        said: 0,
        rest: BTreeMap::new(),
    };
    for error in &found.missing {
        faults.add(&Fault {
            kind: json!(error.kind),
            file: error.path.as_deref().map(path_text),
            line: error.line,
            message: &error.message,
            hint: error.hint.as_deref(),
        });
    }
    let missing = found.missing.iter();
    let missing: HashSet<String> = missing
        .filter_map(|error| Some(path_text(error.path.as_deref()?)))
        .collect();
    outcomes.each_remarkable(&mut |_, outcome| {
        let error = outcome.file.error.as_ref();
        if let Some(error) = error.filter(|_| !missing.contains(&outcome.file.path)) {
            faults.add(&Fault {
                kind: json!(error.kind),
                file: Some(outcome.file.path.clone()),
                line: error.line,
                message: &error.message,
                hint: error.hint.as_deref(),
            });
        }
        if context.voice == Voice::Loud {
            let mut notices = Notices::default();
            let (files, others): (Vec<&Warning>, Vec<&Warning>) = outcome
                .warnings
                .iter()
                .partition(|one| is_about_a_file(one));
            for (kind, message) in by_reason(&files) {
                let place = (outcome.file.path.as_str(), None);
                notices.add(NoticeLevel::Warning, kind, &message, None, place);
            }
            for warning in others {
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
        Ok(())
    })?;
    faults.finish();
    Ok(())
}

/// Whether a warning is about one of the files that a session read: `not put back: PATH: REASON`.
fn is_about_a_file(warning: &Warning) -> bool {
    matches!(
        warning.kind,
        WarningKind::FileNotRead | WarningKind::FileWithheld
    )
}

/// Such warnings, one for all files with the same reason: `not put back: REASON (PATH, PATH)`.
fn by_reason(warnings: &[&Warning]) -> Vec<(&'static str, String)> {
    let mut groups: BTreeMap<(&'static str, String), Vec<&str>> = BTreeMap::new();
    for warning in warnings {
        // A path may hold the separator, the words around it do not.
        let parts = warning.message.split_once(": ");
        let parts = parts.and_then(|(what, rest)| Some((what, rest.rsplit_once(": ")?)));
        let (message, path) = match parts {
            Some((what, (path, why))) => (format!("{what}: {why}"), Some(path)),
            None => (warning.message.clone(), None),
        };
        let group = groups.entry((warning.kind.name(), message)).or_default();
        group.extend(path);
    }
    let groups = groups.into_iter();
    let message = |(message, paths): (String, Vec<&str>)| match paths.as_slice() {
        [] => message,
        paths => format!("{message} ({})", paths.join(", ")),
    };
    groups
        .map(|((kind, text), paths)| (kind, message((text, paths))))
        .collect()
}

/// Errors about inputs that are being printed.
struct Faults<'c> {
    context: &'c Context,
    said: usize,
    /// The errors that were not printed, by kind: their number, and the file and message of the first.
    rest: BTreeMap<String, (u64, String)>,
}

impl Faults<'_> {
    fn add(&mut self, fault: &Fault<'_>) {
        let are_all_said =
            self.context.voice == Voice::Loud || self.context.error_format == ErrorFormat::Json;
        if self.said < ONE_BY_ONE || are_all_said {
            self.said += 1;
            self.context.fault(fault);
            return;
        }
        let kind = fault.kind.as_str().unwrap_or_default().to_owned();
        let first = || {
            let file = fault.file.as_deref().unwrap_or_default();
            format!("{file}: {}", fault.message)
        };
        let (number, _) = self.rest.entry(kind).or_insert_with(|| (0, first()));
        *number += 1;
    }

    fn finish(self) {
        for (kind, (number, first)) in self.rest {
            let like = kind.replace('_', " ");
            let number = count(number, "more input");
            self.context.fault(&Fault {
                kind: json!(kind),
                file: None,
                line: None,
                message: &format!(
                    "{number} failed with an error of the kind {like:?}, such as {first}"
                ),
                hint: Some("-v prints each error; a report lists them, too"),
            });
        }
    }
}
