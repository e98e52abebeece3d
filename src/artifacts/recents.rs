//! The files to restore after a summary, with their contents from the transcript or from the user's folder.
//!
//! Reads no disk unless the policy names a folder, and then only files that were read in the session.

use super::{NotRead, Root};
use crate::facts::Placeholders;
use crate::plan::{Recent, Recents, Subject, recent};
use crate::policy::{Layer, Policy};
use crate::redact::is_secret_file;

/// A recent file that is not restored: its path, and why.
pub type UnreadFile = (String, NotRead);

/// The files that may be restored, the newest first; `None` if the policy restores none. `root` is the folder to read them from,
/// if there is one.
///
/// Files of secrets are never restored. A file that is missing in the folder is not restored; if it cannot be read for another
/// reason than that it is no file of text any more, the transcript's content is used. No more files are read than may be restored.
pub(super) fn recents<'t>(
    subject: &Subject<'t>,
    policy: &Policy,
    placeholders: &'t Placeholders,
    root: Option<&Root>,
) -> (Option<Recents<'t>>, Vec<UnreadFile>) {
    if !policy.has(Layer::Restore) || policy.restore.files == 0 {
        return (None, Vec::new());
    }
    let mut recents = recent(
        subject.transcript,
        subject.conversation,
        subject.acts(),
        placeholders,
    );
    let secret = recents.secret(policy.restore.files).into_iter();
    let mut unread: Vec<UnreadFile> = secret.map(|path| (path, NotRead::Secret)).collect();
    let Some(root) = root else {
        let unclear = recents.unclear(policy.restore.files).into_iter();
        unread.extend(unclear.map(|path| (path, NotRead::Unclear)));
        let changed = recents.may_have_changed(policy.restore.files).into_iter();
        unread.extend(changed.map(|path| (path, NotRead::MayHaveChanged)));
        let replaced = recents.replaced(policy.restore.files).into_iter();
        unread.extend(replaced.map(|path| (path, NotRead::Replaced)));
        return (Some(recents), unread);
    };
    let mut read = 0;
    let mut number = 0;
    while read < policy.restore.files
        && let Some(recent) = recents.get(number)
    {
        number += 1;
        // Reported above.
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
                if is_something_else(why) {
                    let content = None;
                    recents.put(number - 1, Recent { content, ..recent });
                }
            }
        }
    }
    (Some(recents), unread)
}

/// Whether the file is known not to be what a read of it showed.
fn is_something_else(why: NotRead) -> bool {
    match why {
        NotRead::Missing | NotRead::NoFile | NotRead::NoText => true,
        NotRead::Outside
        | NotRead::Secret
        | NotRead::Refused
        | NotRead::Unclear
        | NotRead::MayHaveChanged
        | NotRead::Replaced => false,
    }
}
