//! The messages whose outcome differs from the expected one: reports list them in addition to the difference as text.
//!
//! Holds neither texts nor first words, so that thousands of cases that differ take little memory.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::diff::Fate;
use crate::diff::compare::Comparison;

/// The messages of a case whose outcome changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Changed {
    /// Live tokens of the input, of what was expected, and of what came.
    pub(super) tokens: Tokens,
    pub(super) messages: Vec<ChangedMessage>,
}

/// Tokens before a compaction, and the expected and actual tokens after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) before: u64,
    pub(super) expected: u64,
    pub(super) got: u64,
}

/// One of these messages, either from the input or written by the compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangedMessage {
    pub(super) conversation: String,
    /// Its number in the conversation and its first line, from 1; none if the compaction wrote it.
    pub(super) message: Option<u64>,
    pub(super) line: Option<u64>,
    pub(super) role: Option<Cow<'static, str>>,
    /// The tools of its calls and results.
    pub(super) tools: Vec<String>,
    /// The expected fate; `None` if the message was not expected at all.
    pub(super) expected: Option<Fate>,
    /// The actual fate; `None` if the message is missing.
    pub(super) got: Option<Fate>,
    pub(super) tokens: Tokens,
}

impl Tokens {
    fn new(before: u64, [expected, got]: [u64; 2]) -> Self {
        Tokens {
            before,
            expected,
            got,
        }
    }
}

impl Changed {
    /// The messages that differ; the first output is the expected one, the second the actual one.
    pub(super) fn of(compared: &Comparison) -> Self {
        let mut messages = Vec::new();
        for conversation in &compared.conversations {
            messages.extend(conversation.rows.iter().map(|row| ChangedMessage {
                conversation: conversation.id.clone(),
                message: Some(row.old.message),
                line: Some(row.old.line),
                role: Some(row.role.name().into()),
                tools: row.tools.clone(),
                expected: Some(row.fates[0]),
                got: Some(row.fates[1]),
                tokens: Tokens::new(row.tokens_before, row.tokens_after),
            }));
            messages.extend(conversation.added.iter().map(|added| {
                let [expected, got] = added.new.map(|at| at.map(|_| added.fate));
                ChangedMessage {
                    conversation: conversation.id.clone(),
                    message: None,
                    line: None,
                    role: None,
                    tools: Vec::new(),
                    expected,
                    got,
                    tokens: Tokens::new(0, added.tokens_after),
                }
            }));
        }
        Changed {
            tokens: Tokens::new(compared.tokens_before, compared.tokens_after),
            messages,
        }
    }
}

impl ChangedMessage {
    /// A word or two that describe it: its tools, or else its role.
    pub(super) fn name(&self) -> String {
        match (&self.tools[..], &self.role) {
            ([], Some(role)) => role.clone().into_owned(),
            ([], None) => "written by the compaction".to_owned(),
            (tools, _) => tools.join(" "),
        }
    }
}
