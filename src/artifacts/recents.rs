//! The files that come back after a summary, as the transcript shows them or as the user's folder has them.
//!
//! Nothing is read from a disk unless the policy names a folder, and then only what was read in the session.

use super::{NotRead, Root};
use crate::plan::{Placeholders, Recent, Recents, recent};
use crate::policy::{Layer, Policy};
use crate::redact::is_secret_file;
use crate::transcript::{Conversation, Transcript};

/// A file that does not come back although it was among the last ones: its path, and why.
pub type UnreadFile = (String, NotRead);

/// The files that may come back, the newest first; none where the policy has none come back. `root` is the folder that they
/// are read from, if any.
///
/// A file that secrets are kept in never comes back, from wherever. What a folder does not have any more does not come back; where it may not be read for any other reason, the transcript's
/// own content stands. Only as many are read as may come back.
pub(super) fn recents<'t>(
    transcript: &'t Transcript<'t>,
    conversation: &Conversation,
    policy: &Policy,
    placeholders: &'t Placeholders,
    root: Option<&Root>,
) -> (Option<Recents<'t>>, Vec<UnreadFile>) {
    if !policy.has(Layer::Restore) || policy.restore.files == 0 {
        return (None, Vec::new());
    }
    let mut recents = recent(transcript, conversation, policy, placeholders);
    let secret = recents.secret(policy.restore.files).into_iter();
    let mut unread: Vec<UnreadFile> = secret.map(|path| (path, NotRead::Secret)).collect();
    let Some(root) = root else {
        return (Some(recents), unread);
    };
    let mut read = 0;
    let mut number = 0;
    while read < policy.restore.files
        && let Some(recent) = recents.get(number)
    {
        number += 1;
        // Said already.
        if is_secret_file(&recent.full) {
            continue;
        }
        match root.read(&recent.full) {
            Ok(content) => {
                recents.put(number - 1, recent.with(content));
                read += 1;
            }
            Err(why) => {
                unread.push((recent.path.clone(), why));
                if why == NotRead::Missing {
                    let content = None;
                    recents.put(number - 1, Recent { content, ..recent });
                }
            }
        }
    }
    (Some(recents), unread)
}
