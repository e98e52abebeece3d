//! The weights by which units are chosen.
//!
//! Fitted by `scripts/fit-summary CORPUS` on 43 sessions of 19 repositories (157 cuts, 165 000 names; AUC for needed names 84.4 % in
//! fold, 83.4 % out of fold); `state` and `state_small` are promises and were not. What these sessions reach at 5/10/20 % of the
//! tokens; out of fold, each session has weights that were fitted without any session of its repository:
//!
//! | | need | grounded | commands | errors | user's sentences |
//! | --- | --- | --- | --- | --- | --- |
//! | in fold: these weights | 63.5/80.7/93.6 | 47.9/62.6/77.2 | 74.4/93.0/99.4 | 97.6/97.6/97.0 | 99.5/100/100 |
//! | out of fold | 62.6/80.4/93.5 | 47.7/62.3/77.1 | 74.7/93.5/99.7 | 97.6/97.6/96.9 | 99.5/100/100 |
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
        any: -7.176,
        /// For a path, and so on by the kind of name.
        path: 1.844,
        symbol: 1.570,
        url: 0.459,
        id: 1.733,
        error: 1.552,
        flag: 2.216,
        /// If it is mentioned by the user, by the assistant in words, or in a call.
        user: -0.483,
        agent: 1.180,
        call: 1.590,
        /// For each doubling of the number of mentions by these and by tools.
        user_count: 0.422,
        agent_count: -0.032,
        call_count: 0.251,
        tool_count: -0.022,
        /// For each doubling of the messages that have it.
        messages: 0.076,
        /// If the last mention was just now, or recent.
        just_now: 0.294,
        lately: 2.635,
        /// If the last mention was at the very start.
        age: 0.954,
        /// If the last mention by the assistant was recent; if the last call with it was just now, or recent.
        agent_lately: -0.349,
        call_just_now: 0.104,
        call_lately: -0.249,
        /// For each doubling of the names that were new with it.
        crowd: -0.183,
        /// If it occurs in a line that defines something.
        defined: 0.139,
        /// If it consists of words of other names that authors mentioned recently.
        near: 0.471,
        /// If an author recently mentioned a name from the lines around it.
        around: 0.610,
        /// If it occurs in a write or an edit; in a file as last read.
        written: -1.005,
        in_file: 0.352,
        /// If it is a number in a call.
        called_number: 1.501,
        /// If no author mentions it: for each doubling of the messages that have it.
        shown_messages: 0.386,
        /// For each sixteen bytes.
        length: -0.272,
    }
}

weights! {
    /// How units are chosen, in needed names.
    UnitWeights, UNITS {
        /// The share of a name's value for occurring among words of the transcript; the same in a large summary, which has room for
        /// them.
        grounded: 0.500,
        grounded_large: 0.680,
        /// The share of a name's value the second time.
        again: 0.030,
        /// The values of units besides their names: a factor for commands, errors, the assistant's sentences, and all others.
        ran: 0.064,
        failed: 0.096,
        said: 0.006,
        base: 0.020,
        /// The tokens that a row takes besides its text.
        overhead: 3.264,
        /// The part of a budget that what was said and done last has a claim to, in percent.
        state: 10.0,
        /// The same in a small summary.
        ran_small: 0.067,
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
