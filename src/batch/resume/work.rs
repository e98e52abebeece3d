//! What results depend on besides their inputs: runs for which all of this is the same take over each other's finished work.
//!
//! Looks at no input. Paths are named so that they are the same wherever inputs and store are mounted.

use super::Resume;
use crate::batch::{Destination, Effect, Options, Scope};
use crate::policy::Effective;
use crate::store::finished::Work;
use crate::store::folder::Durability;
use crate::store::{FOLDER, Store};

/// What a run does with the work of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It takes them over.
    TakeOver,
    /// It processes everything again, and notes the results for a run that is asked to take them over.
    Note,
}

/// How a run uses earlier work, if it uses it at all: whatever hooks, files and clocks contributed to may be different now.
pub(super) fn use_of(effective: &Effective, options: &Options) -> Use {
    let is_alike = options.hooks.pre.is_none()
        && options.hooks.post.is_none()
        && options.clock.is_none()
        && effective.policy.restore.root.is_none();
    match options.resume {
        Resume::Asked => Use::TakeOver,
        Resume::Alike if is_alike => Use::TakeOver,
        Resume::Alike | Resume::Never => Use::Note,
    }
}

/// Everything besides the inputs that results depend on, the same whether earlier work is taken over or not; `None` if nothing is
/// to be taken over or noted.
pub(super) fn work(effective: &Effective, options: &Options) -> Option<Work> {
    if options.resume == Resume::Never {
        return None;
    }
    if options.effect == Effect::DryRun
        || options.scope == Scope::Degraded
        || options.fork.is_some()
    {
        return None;
    }
    let place = place(options)?;
    Some(Work::of(&format!(
        "{} {} {:?} {:?} {place} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        env!("CARGO_PKG_VERSION"),
        effective.hash,
        options.emit,
        effective.origin_of("summary.when"),
        options.format,
        options.replies,
        options.limits,
        options.bad_lines,
        options.hooks.pre,
        options.hooks.post,
        options.clock.is_some(),
    )))
}

/// Where outputs go, in words that are the same wherever inputs and store are mounted. The note of an output says which file it is.
/// `None` if outputs are not files.
fn place(options: &Options) -> Option<String> {
    Some(match &options.destination {
        Destination::Folder(out) => {
            let root = options.store.clone().unwrap_or_else(|| out.join(FOLDER));
            let store = Store::new(root, Durability::Lazy);
            format!("folder {}", store.name_of(&out.join("x")).ok()?)
        }
        Destination::File(_) => "file".to_owned(),
        Destination::Beside => "beside".to_owned(),
        Destination::InPlace => "in place".to_owned(),
        Destination::Stdout => return None,
    })
}
