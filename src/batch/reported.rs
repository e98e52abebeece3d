//! What earlier runs have written according to their reports: identifies an output of ours that no store has a record of.
//!
//! Consulted only if such a file is in the place of an output; then the report on a whole run is read, once. Holds 16 bytes for
//! each output of a report. A report that cannot be read counts as empty.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Target;
use super::names::split_ending;
use crate::error::Result;
use crate::outcome::path_text;
use crate::report::read;
use crate::store::{Missing, OpenPath};

/// The reports on whole runs, where this run would write its own.
#[derive(Debug, Default)]
pub struct Reported {
    paths: Vec<PathBuf>,
    outputs: OnceLock<HashSet<u128>>,
}

impl Reported {
    /// Uses the reports in these files. Does not open any of them.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Reported {
            paths,
            outputs: OnceLock::new(),
        }
    }

    /// Whether a report says that the output at `path` had bytes of this hash: the one beside it, or one on a whole run.
    pub(super) fn names(&self, target: &Target<'_>, path: &Path, hash: &str) -> bool {
        let path = path_text(path);
        let wanted = key(&path, hash);
        let mut is_beside = false;
        let beside = stats_beside(&path);
        let spot = target.spot(&beside, Missing::Refuse);
        // What was read before an error in the report still counts.
        let _ = each(spot, &mut |output| is_beside |= output == wanted);
        is_beside || self.outputs().contains(&wanted)
    }

    fn outputs(&self) -> &HashSet<u128> {
        self.outputs.get_or_init(|| {
            let mut outputs = HashSet::new();
            for path in &self.paths {
                let spot = OpenPath::named(path, Missing::Refuse);
                let _ = each(spot, &mut |output| {
                    outputs.insert(output);
                });
            }
            outputs
        })
    }
}

/// Passes each output in a report of `compact` to `show`.
fn each(spot: Result<OpenPath>, show: &mut dyn FnMut(u128)) -> Result<()> {
    let spot = spot?;
    let mut file = spot.read()?;
    let report = read::open(spot.path(), &mut file)?;
    let shown = report.compact(&mut |outcome| {
        if let (Some(output), Some(hash)) = (&outcome.output, &outcome.hash_after) {
            show(key(output, hash));
        }
        Ok(())
    });
    shown.map(drop)
}

/// A hash of an output's file name and of the hash of its bytes. Only the file name: folders may be spelled differently now, or
/// have moved.
fn key(output: &str, hash: &str) -> u128 {
    let name = output.rsplit('/').next().unwrap_or(output);
    let both = blake3::hash(format!("{name}\0{hash}").as_bytes());
    let (first, _) = both.as_bytes().split_at(size_of::<u128>());
    first
        .iter()
        .fold(0, |key, byte| key << 8 | u128::from(*byte))
}

/// `in.compact.jsonl` → `in.compact.stats.json`; `output` is named as in a report. The report of a document keeps the ending:
/// `in.json` may be beside `in.jsonl`.
pub fn stats_beside(output: &str) -> PathBuf {
    let (stem, ending) = split_ending(output);
    let ending = ending.to_ascii_lowercase();
    let kept = match ending.strip_prefix(".json") {
        Some("" | ".gz" | ".zst") => ".json",
        Some(_) | None => "",
    };
    PathBuf::from(format!("{stem}{kept}.stats.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_beside_each_other_have_reports_of_their_own() {
        for (output, report) in [
            ("a/in.compact.jsonl", "a/in.compact.stats.json"),
            ("in.compact.jsonl.gz", "in.compact.stats.json"),
            ("in.compact.json", "in.compact.json.stats.json"),
            ("in.compact.JSON", "in.compact.json.stats.json"),
            ("in.compact.json.zst", "in.compact.json.stats.json"),
            ("other", "other.stats.json"),
        ] {
            assert_eq!(stats_beside(output), Path::new(report));
        }
    }

    #[test]
    fn an_output_is_known_by_its_name_and_its_bytes() {
        assert_eq!(key("a/x", "1"), key("./b/x", "1"));
        assert_ne!(key("a/x", "1"), key("a/y", "1"));
        assert_ne!(key("a/x", "1"), key("a/x", "2"));
    }
}
