//! The numbers by which units are chosen.
//!
//! Fitted by `scripts/fit-summary` from what `ctxpack eval` measures, never by hand on single sessions. Weights of other sessions
//! come from a file of this form, so that no session is measured with weights that it had a part in:
//!
//! ```json
//! { "folds": [ { "fold": "marot/spotter", "paths": ["claude-code/a.jsonl"], "weights": { "again": 0.2 } } ] }
//! ```
//!
//! A path is that of an input from some folder on: `claude-code/a.jsonl` is also `corpus/claude-code/a.jsonl`. A weight that is not
//! named is as it ships; one that does not exist is an error.
//!
//! Chooses nothing, and reads no file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// Weights of sessions by the fold that they are in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// The folds.
    pub folds: Vec<Fold>,
}

/// Sessions that were left out of a fit, and what was fitted without them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fold {
    /// Its name: a repository.
    pub fold: String,
    /// The ends of the paths of its sessions, whole names.
    pub paths: Vec<String>,
    /// Weights that none of its sessions had a part in.
    pub weights: Weights,
}

impl HeldOut {
    /// The folds in the text of a file.
    ///
    /// # Errors
    /// If it is not such a file, with the line.
    pub fn parse(text: &str) -> Result<HeldOut> {
        serde_json::from_str(text).map_err(|e| {
            let what = format!("not a file of held-out weights: {e}");
            Error::new(ErrorKind::Config, what).hint("`scripts/fit-summary` writes one")
        })
    }

    /// The weights for an input; `None` if it is in no fold.
    pub fn of(&self, input: &Path) -> Option<&Weights> {
        let holds = |fold: &&Fold| fold.paths.iter().any(|path| input.ends_with(path));
        self.folds.iter().find(holds).map(|fold| &fold.weights)
    }
}

/// What a unit is worth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// The share of a name's value the second time.
    pub again: f64,
    /// The share of a name's value in a row of names alone, which is not very informative.
    pub index: f64,
}

/// The weights that ship.
pub static WEIGHTS: Weights = Weights {
    again: 0.15,
    index: 0.48,
};

impl Default for Weights {
    fn default() -> Self {
        WEIGHTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_has_the_weights_of_its_fold() {
        let text = r#"{"folds":[{"fold":"a/b","paths":["pi/x.jsonl"],"weights":{"again":0.5}}]}"#;
        let held_out = HeldOut::parse(text).unwrap();
        let of = |path: &str| held_out.of(Path::new(path)).map(|w| (w.again, w.index));
        assert_eq!(of("/corpus/pi/x.jsonl"), Some((0.5, WEIGHTS.index)));
        assert_eq!(of("corpus/api/x.jsonl"), None);
        assert_eq!(of("x.jsonl"), None);
        for wrong in [
            "",
            "{}",
            r#"{"folds":[{"fold":"","paths":[],"weights":{"agian":1}}]}"#,
        ] {
            let error = HeldOut::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("line 1"), "{error}");
        }
    }
}
