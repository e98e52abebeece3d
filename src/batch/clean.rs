//! Offloads that nothing names any more leave the store, after a copy of them is in the archive.
//!
//! Only those of files that were replaced, and only once every record of the run is written. A failure is a warning: the
//! result stands.

use std::sync::{Arc, PoisonError};

use super::Effect;
use super::one::Run;
use super::sum::Sum;
use super::target::{Kept, Target, followed};
use crate::error::{Error, Result};
use crate::outcome::{Warning, WarningKind, path_text};
use crate::store::manifest;

/// Offloads that the output of one input does not name any more.
pub(super) struct Released {
    store: Arc<Kept>,
    /// Its name in the store's records.
    output: String,
    /// Its name in the report.
    path: String,
    names: Vec<String>,
}

impl Run<'_> {
    /// Copies offloads that only this file named, and names no more, into the archive, for undo; they themselves leave when
    /// the run is over. Only a file that is replaced gives up what it names: any other stays as it is, and so does what it
    /// needs.
    pub(super) fn clean(&self, target: &Target, sum: &mut Sum) -> Result<Vec<manifest::Cleaned>> {
        let released = std::mem::take(&mut sum.released);
        let (Some(kept), true, false) = (&target.store, self.is_in_place(), released.is_empty())
        else {
            return Ok(Vec::new());
        };
        let output = kept.store.name_of(&followed(target.input_path()))?;
        let ledger = kept.ledger()?;
        let mut names = Vec::new();
        let mut cleaned = Vec::new();
        for name in released {
            if !ledger.is_offload_of(&name, &output) {
                continue;
            }
            if self.options.effect == Effect::Write {
                let kept_content = kept.store.read_offload(&name);
                match kept_content.and_then(|content| kept.store.put_archive(&content)) {
                    Ok(archived) => cleaned.push(manifest::Cleaned {
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
        if self.options.effect == Effect::Write && !names.is_empty() {
            let mut all = self.released.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(Released {
                store: Arc::clone(kept),
                output,
                path: path_text(target.input_path()),
                names,
            });
        }
        Ok(cleaned)
    }

    /// Deletes what was copied into the archive, once every record of the run is written: what another output names in the
    /// meantime stays. Gives a warning for each that could not be deleted, with the input that named it.
    pub(super) fn clean_up(&self) -> Vec<(String, Warning)> {
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
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
