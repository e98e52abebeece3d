//! The inputs that a run did not read, by kind: the `not_read` of a report.
//!
//! Only groups and counts. Excludes failures, which have entries of their own among the files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Examined, FileStatus, Outcome, Status};

/// The maximum number of files of a kind that a report names.
pub const EXAMPLES: usize = 5;

/// The kind of inputs whose format is not supported.
const UNSUPPORTED: &str = "unsupported";

/// The inputs not read for one reason: an entry of a report's `not_read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRead {
    /// The stable name of the reason.
    pub kind: String,
    /// The format, for files in an unsupported format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The files' extension with the dot, in lower case, if they were not read because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// The number of files (or folders, which count once) concerned.
    pub count: u64,
    /// The first of them in character order, up to 5.
    pub examples: Vec<String>,
}

/// Collects inputs that were not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotReads(BTreeMap<Why, (u64, Vec<String>)>);

/// Why a file was not read: the kind, the format, the extension.
type Why = (String, Option<String>, Option<String>);

impl NotReads {
    /// Adds a number of files, of which these are the first.
    pub fn add(
        &mut self,
        kind: &str,
        extension: Option<String>,
        (count, examples): (u64, Vec<String>),
    ) {
        self.extend(vec![NotRead {
            kind: kind.to_owned(),
            format: None,
            extension,
            count,
            examples,
        }]);
    }

    /// Adds an outcome if its format is not supported.
    pub fn add_outcome(&mut self, outcome: &Outcome) {
        if outcome.status == Status::Unsupported {
            self.add_unsupported(outcome.file.format.as_deref(), &outcome.file.path);
        }
    }

    /// Adds a file if its format is not supported.
    pub fn add_file<T>(&mut self, file: &Examined<T>) {
        match file.status {
            FileStatus::Unsupported(_) => {
                self.add_unsupported(file.file.format.as_deref(), &file.file.path);
            }
            FileStatus::Examined | FileStatus::Failed => {}
        }
    }

    /// Adds the entries of another report.
    pub fn extend(&mut self, others: Vec<NotRead>) {
        for other in others {
            let why = (other.kind, other.format, other.extension);
            let (count, examples) = self.0.entry(why).or_default();
            // A report that was read back may contain any number.
            *count = count.saturating_add(other.count);
            examples.extend(other.examples.into_iter().take(EXAMPLES));
            // Merging the parts of a run in any order gives the same result as the whole run.
            examples.sort();
            examples.dedup();
            examples.truncate(EXAMPLES);
        }
    }

    fn add_unsupported(&mut self, format: Option<&str>, path: &str) {
        self.extend(vec![NotRead {
            kind: UNSUPPORTED.to_owned(),
            format: format.map(str::to_owned),
            extension: None,
            count: 1,
            examples: vec![path.to_owned()],
        }]);
    }

    /// One entry for each reason, sorted by its name.
    pub fn into_list(self) -> Vec<NotRead> {
        let entry = |((kind, format, extension), (count, examples))| NotRead {
            kind,
            format,
            extension,
            count,
            examples,
        };
        self.0.into_iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_named() {
        let mut all = NotReads::default();
        for n in 0..7 {
            all.add(
                "other_extension",
                Some(".txt".to_owned()),
                (1, vec![format!("{n}.txt")]),
            );
        }
        let once = all.clone().into_list();
        let expected: Vec<String> = (0..EXAMPLES).map(|n| format!("{n}.txt")).collect();
        assert_eq!((once[0].count, &once[0].examples), (7, &expected));
        all.extend(once);
        all.add("excluded", None, (1, vec!["a".to_owned()]));
        let all = all.into_list();
        let counts: Vec<_> = all.iter().map(|one| (&one.kind[..], one.count)).collect();
        assert_eq!(counts, [("excluded", 1), ("other_extension", 14)]);
        assert_eq!(all[1].examples, expected);
    }
}
