//! Rebuilds reports of `diff` from what their JSON says about the run and from its conversations.
//!
//! Sums are recomputed; a report with different sums is rejected.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Compared, ComparisonReport, DiffReport};
use crate::diff::compare::{Comparison, ConversationComparison};
use crate::diff::{ConversationDiff, Diff, LineCounts, LineDifference};
use crate::report::{PolicyRef, SCHEMA_VERSION};

/// What a report on two files says besides its conversations. JSON lines do not include the sums.
#[derive(Deserialize)]
pub(in crate::report) struct AboutFiles {
    version: String,
    policy: PolicyRef,
    estimator: String,
    format: String,
    old: Compared,
    new: Compared,
    #[serde(default)]
    record: Option<String>,
    outside: LineCounts,
    tokens_before: Option<u64>,
    tokens_after: Option<u64>,
}

/// What a report on two policies says besides its conversations.
#[derive(Deserialize)]
pub(in crate::report) struct AboutPolicies {
    version: String,
    policies: [PolicyRef; 2],
    estimator: String,
    format: String,
    input: Compared,
    tokens_before: u64,
    tokens_after: [u64; 2],
    messages_after: Option<[u64; 2]>,
    #[serde(default)]
    lines: Vec<LineDifference>,
    first_byte: Option<u64>,
}

impl DiffReport {
    /// The report on two files.
    pub(in crate::report) fn read_back(
        about: AboutFiles,
        conversations: Vec<ConversationDiff>,
    ) -> Result<Self, String> {
        let diff = Diff::of(conversations, about.outside);
        for (key, said, sum) in [
            ("tokens_before", about.tokens_before, diff.tokens_before),
            ("tokens_after", about.tokens_after, diff.tokens_after),
        ] {
            if said.is_some_and(|said| said != sum) {
                return Err(format!(
                    "its {key} is not {sum}, the sum over its conversations"
                ));
            }
        }
        Ok(DiffReport {
            schema_version: SCHEMA_VERSION,
            version: Cow::Owned(about.version),
            policy: about.policy,
            estimator: Cow::Owned(about.estimator),
            format: Cow::Owned(about.format),
            old: about.old,
            new: about.new,
            record: about.record,
            stat: crate::diff::stat(&diff),
            diff,
        })
    }
}

impl ComparisonReport {
    /// The report on two policies.
    pub(in crate::report) fn read_back(
        about: AboutPolicies,
        conversations: Vec<ConversationComparison>,
    ) -> Result<Self, String> {
        let Some(messages_after) = about.messages_after else {
            return Err(
                "the version that wrote it put less into .jsonl than into .json, so it cannot be converted"
                    .to_owned(),
            );
        };
        Ok(ComparisonReport {
            schema_version: SCHEMA_VERSION,
            version: Cow::Owned(about.version),
            policies: about.policies.into(),
            estimator: Cow::Owned(about.estimator),
            format: Cow::Owned(about.format),
            input: about.input,
            comparison: Comparison {
                tokens_before: about.tokens_before,
                tokens_after: about.tokens_after,
                messages_after,
                conversations,
                lines: about.lines,
                first_byte: about.first_byte,
            },
        })
    }
}
