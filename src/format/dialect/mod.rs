//! One folder a format: all that is known of it, behind the questions of [`Dialect`](super::Dialect).

pub(super) mod ai_sdk;
pub(super) mod anthropic;
pub(super) mod openai;
