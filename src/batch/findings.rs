//! What `verify` finds in an input, as an entry that can be kept on disk.
//!
//! PURE.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::format::Fit;
use crate::outcome::{Examined, FileStatus, Find, ReadBack};
use crate::verify::{Finding, Rule, Severity};

/// The findings of an input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileFindings {
    /// In the order of its lines.
    #[serde(serialize_with = "write", deserialize_with = "read")]
    pub list: Vec<Finding>,
    /// Whether it is partly a transcript, if it is in no supported format.
    is_part: bool,
}

impl FileFindings {
    /// Keeps in an entry how much of its input fits a format.
    pub(super) fn with_fit(mut entry: Examined<Self>) -> Examined<Self> {
        if let FileStatus::Unsupported(unread) = &entry.status {
            entry.found.is_part = unread.fit == Fit::Part;
        }
        entry
    }

    /// Whether the input is partly a transcript, if it is in no supported format.
    pub fn is_part(&self) -> bool {
        self.is_part
    }
}

impl Find for FileFindings {
    fn status(&self) -> &'static str {
        "checked"
    }

    fn parts(&self) -> usize {
        self.list.len()
    }
}

impl ReadBack for Examined<FileFindings> {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

/// A finding on disk.
type Row<'r> = (Rule, Severity, u64, &'r str, &'r str, &'r str);
type OwnedRow = (Rule, Severity, u64, String, String, String);

fn write<S: Serializer>(findings: &[Finding], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings.iter().map(row))
}

fn row(finding: &Finding) -> Row<'_> {
    let Finding {
        rule,
        severity,
        line,
        conversation,
        id,
        message,
    } = finding;
    (*rule, *severity, *line, conversation, id, message)
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Finding>, D::Error> {
    let rows = Vec::<OwnedRow>::deserialize(deserializer)?;
    let mut last: Option<Arc<str>> = None;
    let finding = |(rule, severity, line, conversation, id, message): OwnedRow| {
        let shared = last.take().filter(|last| **last == *conversation);
        let conversation = shared.unwrap_or_else(|| conversation.into());
        last = Some(Arc::clone(&conversation));
        Finding {
            rule,
            severity,
            line,
            conversation,
            id,
            message,
        }
    };
    Ok(rows.into_iter().map(finding).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let finding = |line: u64, conversation: &Arc<str>| Finding {
            rule: Rule::EmptyText,
            severity: [Severity::Error, Severity::Warning][line as usize % 2],
            line,
            conversation: Arc::clone(conversation),
            id: format!("call \"{line}\""),
            message: "empty\n".to_owned(),
        };
        let mut entry: Examined<FileFindings> = Examined::new(Path::new("in.jsonl"), "codex", 9);
        let (main, other): (Arc<str>, Arc<str>) = ("main".into(), "agent".into());
        entry.found.list = vec![finding(1, &main), finding(2, &main), finding(3, &other)];
        let json = serde_json::to_vec(&entry).unwrap();
        let back = Examined::<FileFindings>::read_back(&json).unwrap();
        assert_eq!(back, entry);
        assert!(Arc::ptr_eq(
            &back.found.list[0].conversation,
            &back.found.list[1].conversation
        ));
    }
}
