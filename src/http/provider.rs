//! The APIs that servers speak, and their providers.
//!
//! Names only: nothing is read from the environment or sent here.

use crate::policy::Source;

/// The API that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions API.
    Openai,
}

impl Provider {
    /// The provider that writes summaries, if the policy names one.
    pub fn of(source: Source) -> Option<Self> {
        match source {
            Source::Extractive | Source::Scripted => None,
            Source::Anthropic => Some(Provider::Anthropic),
            Source::Openai => Some(Provider::Openai),
        }
    }

    /// The environment variable that holds the key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Provider::Anthropic => "ANTHROPIC_API_KEY",
            Provider::Openai => "OPENAI_API_KEY",
        }
    }

    /// The base address of the provider's own server.
    pub(super) fn own(self) -> &'static str {
        match self {
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::Openai => "https://api.openai.com/v1",
        }
    }
}
