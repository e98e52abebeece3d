//! The targets of inputs that a walk of one folder finds one after the other.
//!
//! Nothing here depends on which inputs there are: the location and store of the outputs follow from the folder alone.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Destination, RunStore, Target, Targets, check_kind, durability, open_run_store};
use crate::batch::snapshot::Snapshot;
use crate::batch::{Effect, Options, Source};
use crate::error::Result;
use crate::store::FOLDER;
use crate::store::atomic::sweep;
use crate::store::folder::Folder;

/// What all inputs of a walked folder have in common.
#[derive(Debug)]
pub(super) struct Shared {
    base: Option<Arc<Path>>,
    store: Arc<RunStore>,
    /// The folders of the outputs so far, by their spelling.
    folders: Mutex<HashSet<OsString>>,
}

impl<'s> Targets<'s> {
    /// The targets of the inputs below `folder`; `None` if the output is a single file or stream.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if an output folder is not a folder.
    pub(in crate::batch) fn below(folder: &Path, options: &Options) -> Result<Option<Self>> {
        let (base, top): (Arc<Path>, &Path) = match &options.destination {
            Destination::Folder(out) => (out.as_path().into(), out),
            Destination::InPlace | Destination::Beside => (folder.into(), folder),
            Destination::File(_) | Destination::Stdout => return Ok(None),
        };
        check_kind(&options.destination)?;
        let root = options.store.clone().unwrap_or_else(|| top.join(FOLDER));
        let durability = durability(&options.destination);
        let store = open_run_store(root.clone(), durability);
        Ok(Some(Targets {
            list: Vec::new(),
            left_out: Vec::new(),
            stores: BTreeMap::from([(root, Arc::clone(&store))]),
            durability,
            folder: None,
            shared: Some(Shared {
                base: Some(base),
                store,
                folders: Mutex::default(),
            }),
        }))
    }
}

impl Shared {
    /// The target of an input.
    pub(super) fn target<'t>(
        &self,
        source: &'t Source,
        look: Option<Snapshot>,
        options: &'t Options,
    ) -> Target<'t> {
        Target {
            source,
            bytes: look.map_or(0, |look| look.seen.bytes),
            look,
            destination: &options.destination,
            emit: options.emit,
            base: self.base.clone(),
            store: Some(Arc::clone(&self.store)),
        }
    }

    /// Records that an output of the run goes to this folder: removes incomplete files of killed runs there, once, before any
    /// thread writes to it.
    pub(super) fn writes_in(&self, folder: &Path, effect: Effect) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.contains(folder.as_os_str()) {
            return;
        }
        folders.insert(folder.as_os_str().to_owned());
        if effect == Effect::Write
            && let Ok(folder) = Folder::open(folder)
        {
            sweep(&folder);
        }
    }

    /// The folders of the outputs so far.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.iter().map(PathBuf::from).collect()
    }
}
