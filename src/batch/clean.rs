//! Deletes offloads that nothing refers to any more, after copying them to the archive.
//!
//! Only for files that were replaced, and only after every record of the run is written. A failure is a warning; the result is
//! kept.

use std::sync::{Arc, Mutex, PoisonError};

use super::Effect;
use super::sum::Sum;
use super::target::{RunStore, Target, resolve_link};
use crate::error::{Error, Result};
use crate::outcome::{Warning, WarningKind, path_text};
use crate::store::{self, manifest};

/// Offloads in a store that outputs of a run no longer refer to, by the names of these outputs.
#[derive(Default)]
pub(super) struct Releases(Mutex<Vec<Released>>);

/// Offloads that the output of one input no longer refers to.
struct Released {
    store: Arc<RunStore>,
    /// The output's name in the store's records.
    output: String,
    /// The input's path in the report.
    path: String,
    names: Vec<String>,
}

impl Releases {
    /// Copies offloads that only this file referred to, and no longer does, to the archive for undo; they are deleted at the end
    /// of the run. Only for a file that is replaced: any other input is kept, and still needs them.
    pub(super) fn add(
        &self,
        target: &Target,
        sum: &mut Sum,
        effect: Effect,
    ) -> Result<Vec<manifest::ArchivedOffload>> {
        let released = std::mem::take(&mut sum.released);
        let Some(kept) = target.store.as_ref().filter(|_| !released.is_empty()) else {
            return Ok(Vec::new());
        };
        let output = kept.store.name_of(&resolve_link(target.input_path()))?;
        let owners = kept.owners()?;
        let mut names = Vec::new();
        let mut cleaned = Vec::new();
        for name in released {
            if !owners.is_offload_of(&name, &output) {
                continue;
            }
            if effect == Effect::Write {
                let kept_content = kept.store.read_offload(&name);
                let archived = kept_content
                    .and_then(|content| kept.store.put_archive(&content, &store::hash(&content)));
                match archived {
                    Ok(archived) => cleaned.push(manifest::ArchivedOffload {
                        name: name.clone(),
                        archive: archived.name,
                    }),
                    Err(error) => {
                        sum.warnings.push(not_cleaned(&name, &error));
                        continue;
                    }
                }
            }
            names.push(name);
        }
        if let Some(conversation) = sum.conversations.first_mut() {
            conversation.deleted_files.clone_from(&names);
        }
        if effect == Effect::Write && !names.is_empty() {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(Released {
                store: Arc::clone(kept),
                output,
                path: path_text(target.input_path()),
                names,
            });
        }
        Ok(cleaned)
    }

    /// Deletes the copied offloads after every record of the run is written, except those that another output refers to by then.
    /// Returns a warning for each that could not be deleted, with its input.
    pub(super) fn clean_up(&self) -> Vec<(String, Warning)> {
        let mut released = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut warnings = Vec::new();
        for Released {
            store,
            output,
            path,
            names,
        } in released.drain(..)
        {
            for (name, deleted) in store.store.delete_offloads(&names, &output) {
                if let Err(error) = deleted {
                    warnings.push((path.clone(), not_cleaned(&name, &error)));
                }
            }
        }
        warnings
    }
}

fn not_cleaned(name: &str, error: &Error) -> Warning {
    Warning {
        kind: WarningKind::NotCleanedUp,
        line: None,
        message: format!("{name} stays in the store: {}", error.message),
    }
}
