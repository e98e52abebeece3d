//! What a server has said, as kept in the store for later runs: answers, and refusals of prompts that are too long.
//!
//! A damaged entry counts as missing, and one that cannot be stored is used by this run alone.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::paid::Paid;
use crate::artifacts::{Ending, Excess};
use crate::error::Result;
use crate::store::Store;
use crate::store::folder::Durability;

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CachedAnswer {
    pub(super) text: String,
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) ending: Ending,
    /// How many input tokens the server counted for it; 0 if it did not say.
    #[serde(default)]
    pub(super) counted: u64,
    /// Parameters that the server rejected.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) left_out: BTreeSet<String>,
    /// What it cost; `None` if it came from a batch, or if the requester is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paid: Option<Paid>,
}

/// Records that a prompt is longer than the model can read, so that the next run sends parts without asking again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CachedRefusal {
    pub(super) too_long: String,
    pub(super) excess: Option<Excess>,
    /// What the refusal cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paid: Option<Paid>,
}

/// The entry of that name.
pub(super) fn cached<T: DeserializeOwned>(store: &Store, name: &str) -> Option<T> {
    serde_json::from_slice(&store.read_answer(name)?).ok()
}

/// Stores an entry.
pub(super) fn keep<T: Serialize>(store: &Store, name: &str, entry: &T) {
    if let Ok(bytes) = serde_json::to_vec(entry) {
        let _ = store.put_answer(name, &bytes, Durability::Lazy);
    }
}

/// Marks the cost of an entry as reported, so that no later report includes it again.
pub(super) fn settle(store: &Store, name: &str) {
    let entry = cached::<Map<String, Value>>(store, name);
    if let Some(mut entry) = entry
        && entry.remove("paid").is_some()
    {
        keep(store, name, &entry);
    }
}

/// Stores an answer that was paid for and will soon be unavailable: when this returns, its content is on disk, though its name may
/// not be.
///
/// # Errors
/// The errors of [`Store::put_answer`].
pub(super) fn keep_paid(store: &Store, name: &str, answer: &CachedAnswer) -> Result<()> {
    let bytes = serde_json::to_vec(answer).unwrap_or_default();
    store.put_answer(name, &bytes, Durability::Durable)
}
