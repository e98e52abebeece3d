//! The weights by which units are chosen.
//!
//! The weights of names were fitted by `scripts/fit-summary CORPUS --only-chances` on 43 sessions of 19 repositories (157 cuts, 166
//! 000 names; AUC for needed names 83.8 % in fold, 82.9 % out of fold). The weights of units were chosen by hand, by the
//! measurements of `ctxpack eval` on the 37 of these sessions that have 10 000 tokens and consist of lines: one at a time among
//! about 80 settings, then a few together.
//!
//! What the 43 sessions reach at 5/10/20 % of the tokens, by that script; out of fold, the weights of names are fitted without any
//! session of the same repository:
//!
//! | | need | grounded | commands | errors |
//! | --- | --- | --- | --- | --- |
//! | `--only-figures`: these weights | 64.1/81.2/93.9 | 48.2/62.8/77.4 | 67.2/91.1/99.1 | 96.9/97.6/97.0 |
//! | `--only-chances`, out of fold | 63.7/80.8/93.2 | 48.1/62.4/76.9 | 68.7/91.6/99.3 | 95.9/97.6/96.7 |
//!
//! Held-out weights come from a file of this form, so that no session is measured with weights fitted on it:
//!
//! ```json
//! { "folds": [ { "fold": "marot/spotter", "paths": ["claude-code/a.jsonl"], "weights": { "units": { "again": 0.2 } } } ] }
//! ```
//!
//! A path is the tail of an input's path: `claude-code/a.jsonl` also matches `corpus/claude-code/a.jsonl`. A weight that is not
//! named has its shipped value; an unknown weight is an error.
//!
//! Chooses nothing, and reads no files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The weights for sessions, by fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// The folds.
    pub folds: Vec<Fold>,
}

/// Sessions that were left out of a fit, and the weights fitted without them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fold {
    /// Its name: a repository.
    pub fold: String,
    /// The tails of its sessions' paths, in whole components.
    pub paths: Vec<String>,
    /// Weights fitted without its sessions.
    pub weights: Weights,
}

impl HeldOut {
    /// Parses the folds in the text of a file.
    ///
    /// # Errors
    /// If the text is not such a file, with the line; if a session is in two folds, so that its weights would be ambiguous.
    pub fn parse(text: &str) -> Result<HeldOut> {
        let held_out: HeldOut = serde_json::from_str(text).map_err(|e| {
            let what = format!("not a file of held-out weights: {e}");
            Error::new(ErrorKind::Config, what).hint("`scripts/fit-summary` writes one")
        })?;
        match held_out.in_two() {
            None => Ok(held_out),
            Some((path, one, other)) => {
                let what = format!("{path:?} is in two folds: {one:?} and {other:?}");
                Err(Error::new(ErrorKind::Config, what))
            }
        }
    }

    /// A path that is in two folds, and their names.
    fn in_two(&self) -> Option<(&str, &str, &str)> {
        let mut known: BTreeMap<&str, &str> = BTreeMap::new();
        for Fold { fold, paths, .. } in &self.folds {
            for path in paths {
                if let Some(other) = known.insert(path, fold).filter(|other| other != fold) {
                    return Some((path, other, fold));
                }
            }
        }
        None
    }

    /// The weights for an input; `None` if it is in no fold.
    pub fn of(&self, input: &Path) -> Option<&Weights> {
        let holds = |fold: &&Fold| fold.paths.iter().any(|path| input.ends_with(path));
        self.folds.iter().find(holds).map(|fold| &fold.weights)
    }
}

/// Declares a struct of weights with their names and shipped values.
macro_rules! weights {
    ($(#[$doc:meta])* $table:ident, $shipped:ident { $($(#[$of:meta])* $name:ident: $value:expr,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $table {
            $($(#[$of])* pub $name: f64,)+
        }

        /// The weights that ship.
        pub(super) static $shipped: $table = $table { $($name: $value,)+ };

        impl $table {
            /// Their names, in order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// The weights, in the order of their names.
            pub fn list(&self) -> [f64; $table::NAMES.len()] {
                [$(self.$name),+]
            }

            /// The weights of a list in that order.
            pub fn of_list(list: [f64; $table::NAMES.len()]) -> $table {
                let [$($name),+] = list;
                $table { $($name),+ }
            }
        }

        impl Default for $table {
            fn default() -> Self {
                $shipped
            }
        }
    };
}

/// The values of units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// How likely names are to be needed.
    pub names: NameWeights,
    /// How units are chosen on that basis.
    pub units: UnitWeights,
}

/// The weights that ship.
pub static WEIGHTS: Weights = Weights {
    names: NAMES,
    units: UNITS,
};

weights! {
    /// What the probability of a name to be needed depends on, as log odds.
    NameWeights, NAMES {
        /// Of any name.
        any: -7.020,
        /// For a path, and so on by the kind of name.
        path: 1.739,
        symbol: 1.402,
        url: 0.338,
        id: 1.620,
        error: 1.426,
        flag: 2.091,
        /// If it is mentioned by the user, by the assistant in words, or in a call.
        user: -0.545,
        agent: 1.188,
        call: 1.417,
        /// For each doubling of the number of mentions by these and by tools.
        user_count: 0.375,
        agent_count: -0.019,
        call_count: 0.232,
        tool_count: -0.028,
        /// For each doubling of the messages that have it.
        messages: 0.102,
        /// If the last mention was just now, or recent.
        just_now: 0.261,
        lately: 2.725,
        /// If the last mention was at the very start.
        age: 1.036,
        /// If the last mention by the assistant was recent; if the last call with it was just now, or recent.
        agent_lately: -0.400,
        call_just_now: 0.088,
        call_lately: -0.214,
        /// For each doubling of the names that were new with it.
        crowd: -0.189,
        /// If it occurs in a line that defines something.
        defined: 0.144,
        /// If it consists of words of other names that authors mentioned recently.
        near: 0.476,
        /// If an author recently mentioned a name from the lines around it.
        around: 0.604,
        /// If it occurs in a write or an edit; in a file as last read.
        written: -0.900,
        in_file: 0.357,
        /// If it is a number in a call.
        called_number: 1.632,
        /// If no author mentions it: for each doubling of the messages that have it.
        shown_messages: 0.343,
        /// For each sixteen bytes.
        length: -0.274,
    }
}

weights! {
    /// How units are chosen, in needed names.
    UnitWeights, UNITS {
        /// The share of a name's value for occurring among words of the transcript; the same in a large summary, which has room for
        /// them.
        grounded: 0.50,
        grounded_large: 0.68,
        /// The share of a name's value the second time.
        again: 0.03,
        /// The values of units besides their names: a factor for commands, errors, the assistant's sentences, and all others.
        ran: 0.04,
        failed: 0.06,
        said: 0.01,
        base: 0.02,
        /// The tokens that a row takes besides its text.
        overhead: 3.4,
        /// The part of a budget that what was said and done last has a claim to, in percent.
        state: 10.0,
        /// The same in a small summary.
        ran_small: 0.042,
        state_small: 2.0,
    }
}

impl UnitWeights {
    /// The weights for a summary with this share of the tokens that it replaces, interpolated between those of a small and a large
    /// one.
    pub(super) fn of_share(&self, share: f64) -> UnitWeights {
        let at = UnitWeights::size_factor(share);
        let between = |small: f64, large: f64| small + (large - small) * at;
        // Only near the large end: words take the room of names, which a smaller summary cannot spare.
        let words = at * at * at * at;
        UnitWeights {
            grounded: self.grounded + (self.grounded_large - self.grounded) * words,
            ran: between(self.ran_small, self.ran),
            state: between(self.state_small, self.state),
            ..*self
        }
    }

    /// How close a summary of this share is to a large one, from 0 to 1.
    pub(super) fn size_factor(share: f64) -> f64 {
        const SMALL: f64 = 0.04;
        const LARGE: f64 = 0.16;
        ((share - SMALL) / (LARGE - SMALL)).clamp(0.0, 1.0)
    }
}

impl Default for Weights {
    fn default() -> Self {
        WEIGHTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_between_those_of_a_small_summary_and_the_others() {
        let of = |share| UNITS.of_share(share).state;
        assert_eq!(
            [0.0, 0.04, 0.16, 2.0].map(of),
            [
                UNITS.state_small,
                UNITS.state_small,
                UNITS.state,
                UNITS.state
            ]
        );
        assert!((of(0.1) - (UNITS.state_small + UNITS.state) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn an_input_has_the_weights_of_its_fold() {
        let text = r#"{"folds":[{"fold":"a/b","paths":["pi/x.jsonl"],"weights":{"units":{"again":0.5}}}]}"#;
        let held_out = HeldOut::parse(text).unwrap();
        let of = |path: &str| {
            held_out
                .of(Path::new(path))
                .map(|w| (w.units.again, w.units.base))
        };
        assert_eq!(of("/corpus/pi/x.jsonl"), Some((0.5, UNITS.base)));
        assert_eq!(of("corpus/api/x.jsonl"), None);
        assert_eq!(of("x.jsonl"), None);
        for wrong in [
            "",
            "{}",
            r#"{"folds":[{"fold":"","paths":[],"weights":{"names":{"agian":1}}}]}"#,
        ] {
            let error = HeldOut::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("line 1"), "{error}");
        }
        let fold =
            |name: &str| format!(r#"{{"fold":"{name}","paths":["x.jsonl"],"weights":{{}}}}"#);
        let twice = format!(r#"{{"folds":[{},{}]}}"#, fold("a"), fold("b"));
        let error = HeldOut::parse(&twice).unwrap_err().to_string();
        assert!(
            error.contains(r#""x.jsonl" is in two folds: "a" and "b""#),
            "{error}"
        );
    }
}
