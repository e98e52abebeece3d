//! The targets of inputs that are found below folders one after the other.
//!
//! Nothing here depends on which inputs there are: the location and store of the outputs follow from the folders alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Destination, RunStore, Target, Targets, check_kind, durability, open_run_store};
use crate::batch::queue::QueuedInput;
use crate::batch::{Effect, Options};
use crate::error::Result;
use crate::store::FOLDER;
use crate::store::atomic::sweep;
use crate::store::folder::Folder;

/// What the inputs below each folder have in common.
#[derive(Debug)]
pub(super) struct Shared {
    /// By the spelling of the folders of the inputs.
    of_inputs: HashMap<OsString, Tree>,
    /// The folders of the outputs so far, by their spelling.
    folders: Mutex<HashSet<OsString>>,
}

/// Where the outputs of inputs below one folder go.
#[derive(Debug)]
struct Tree {
    base: Arc<Path>,
    store: Arc<RunStore>,
}

impl<'s> Targets<'s> {
    /// The targets of the inputs below `folders`; `None` if the output is a single file or stream.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if an output folder is not a folder.
    pub(in crate::batch) fn below(folders: &[PathBuf], options: &Options) -> Result<Option<Self>> {
        let out = match &options.destination {
            Destination::Folder(out) => Some(out),
            Destination::InPlace | Destination::Beside => None,
            Destination::File(_) | Destination::Stdout => return Ok(None),
        };
        check_kind(&options.destination)?;
        let durability = durability(&options.destination);
        let mut stores: BTreeMap<PathBuf, Arc<RunStore>> = BTreeMap::new();
        let mut of_inputs = HashMap::new();
        for folder in folders {
            let top = out.unwrap_or(folder);
            let root = options.store.clone().unwrap_or_else(|| top.join(FOLDER));
            let store = stores
                .entry(root)
                .or_insert_with_key(|root| open_run_store(root.clone(), durability));
            let tree = Tree {
                base: top.as_path().into(),
                store: Arc::clone(store),
            };
            of_inputs.insert(folder.clone().into_os_string(), tree);
        }
        Ok(Some(Targets {
            list: Vec::new(),
            left_out: Vec::new(),
            stores,
            durability,
            folder: None,
            shared: Some(Shared {
                of_inputs,
                folders: Mutex::default(),
            }),
        }))
    }
}

impl Shared {
    /// The target of an input below one of the folders.
    pub(super) fn target<'t>(
        &self,
        (source, look): &'t QueuedInput,
        options: &'t Options,
    ) -> Option<Target<'t>> {
        let tree = self.of_inputs.get(source.folder()?.as_os_str())?;
        let has_hooks = options.hooks.pre.is_some() || options.hooks.post.is_some();
        Some(Target {
            source,
            bytes: look.map_or(0, |look| look.seen.bytes),
            // A hook for another input may have changed it since.
            look: look.filter(|_| !has_hooks),
            destination: &options.destination,
            emit: options.emit,
            base: Some(Arc::clone(&tree.base)),
            store: Some(Arc::clone(&tree.store)),
        })
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
