//! The files that come back after a summary, as the transcript shows them or as the user's folder has them.
//!
//! Nothing is read from a disk unless the policy names a folder, and then only what was read in the session.

use super::{NotRead, Root};
use crate::plan::{Placeholders, Recent, recent};
use crate::policy::{Layer, Policy};
use crate::transcript::{Conversation, Transcript};

/// A file that a disk was to give and did not: its path, and why.
pub type Unread = (String, NotRead);

/// The files that may come back, the newest first. `root` is the folder that they are read from, if any.
///
/// What a folder does not have any more does not come back; where it may not be read for any other reason, the transcript's
/// own content stands. Only as many are read as may come back.
pub fn recents(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    policy: &Policy,
    placeholders: &Placeholders,
    root: Option<&Root>,
) -> (Vec<Recent>, Vec<Unread>) {
    if !policy.has(Layer::Restore) || policy.restore.files == 0 {
        return (Vec::new(), Vec::new());
    }
    let mut recents = recent(transcript, conversation, policy, placeholders);
    let mut unread = Vec::new();
    let Some(root) = root else {
        return (recents, unread);
    };
    let mut read = 0;
    for recent in &mut recents {
        if read == policy.restore.files {
            break;
        }
        match root.read(&recent.full) {
            Ok(content) => {
                *recent = recent.clone().with(content);
                read += 1;
            }
            Err(why) => {
                if why == NotRead::Missing {
                    recent.content = None;
                }
                unread.push((recent.path.clone(), why));
            }
        }
    }
    (recents, unread)
}
