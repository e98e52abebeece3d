//! Ends the run if a server accepts no request: a batch in which every summary has failed is of no use.
//!
//! Sends nothing and writes nothing.

use std::sync::OnceLock;

use crate::artifacts::{ModelError, ModelReply};
use crate::error::{Error, ErrorKind, Result};

/// Why a server accepts no request, once that is known.
#[derive(Debug, Default)]
pub(super) struct Refusal(OnceLock<String>);

impl Refusal {
    /// Notes a refusal in a reply.
    pub(super) fn note(&self, reply: &ModelReply) {
        if let Err(ModelError::Refused(why)) = &reply.text {
            let _ = self.0.set(why.clone());
        }
    }

    /// Fails if the server accepts no request.
    ///
    /// # Errors
    /// [`ErrorKind::Summary`].
    pub(super) fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
            Some(why) => {
                let message = format!("the server rejects all requests of this run: {why}");
                Err(Error::new(ErrorKind::Summary, message).hint(
                    "check the key (ANTHROPIC_API_KEY, OPENAI_API_KEY), --model and --base-url",
                ))
            }
        }
    }
}
