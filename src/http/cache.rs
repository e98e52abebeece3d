//! What a server has said, as the store keeps it for later runs: answers, and that a prompt is too long.
//!
//! A damaged entry counts as missing, and one that cannot be kept is used by this run alone.

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
    /// How many tokens the server has read for it; 0 = it does not say.
    #[serde(default)]
    pub(super) counted: u64,
    /// Parameters that the server refused.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) left_out: BTreeSet<String>,
    /// What it cost; `None` where a batch had it, or nobody is known who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paid: Option<Paid>,
}

/// That a prompt is longer than the model can read, so that the next run does not ask again before it sends parts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CachedRefusal {
    pub(super) too_long: String,
    pub(super) excess: Option<Excess>,
    /// What it cost to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) paid: Option<Paid>,
}

/// The entry of that name.
pub(super) fn cached<T: DeserializeOwned>(store: &Store, name: &str) -> Option<T> {
    serde_json::from_slice(&store.read_answer(name)?).ok()
}

/// Keeps an entry.
pub(super) fn keep<T: Serialize>(store: &Store, name: &str, entry: &T) {
    if let Ok(bytes) = serde_json::to_vec(entry) {
        let _ = store.put_answer(name, &bytes, Durability::Lazy);
    }
}

/// Says that a report has the cost of an entry, so that no later one has it again.
pub(super) fn settle(store: &Store, name: &str) {
    let entry = cached::<Map<String, Value>>(store, name);
    if let Some(mut entry) = entry
        && entry.remove("paid").is_some()
    {
        keep(store, name, &entry);
    }
}

/// Keeps an answer that was paid for and cannot be had again for long: it is on the disk when this returns, but for its name.
///
/// # Errors
/// The errors of [`Store::put_answer`].
pub(super) fn keep_paid(store: &Store, name: &str, answer: &CachedAnswer) -> Result<()> {
    let bytes = serde_json::to_vec(answer).unwrap_or_default();
    store.put_answer(name, &bytes, Durability::Durable)
}
