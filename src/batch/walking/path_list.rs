//! The inputs that a walk has found, in an unnamed file, for runs in which nothing may be written before the last is found.
//!
//! Takes only inputs that can each be decided alone: a run in which two of them might contradict each other needs a list in
//! memory, which says how. Writes nothing that has a name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::folders::Folders;
use super::outputs::{Outputs, SortedOutputs};
use crate::batch::find::{COMPACT, split_ending};
use crate::batch::retry::is_degraded;
use crate::batch::skipped::SkipReason;
use crate::batch::{
    Destination, Effect, FileSource, Filter, Found, Options, Origin, Scope, Skipped, Source,
    Targets, emitted, pool,
};
use crate::error::{Error, ErrorKind, Result};
use crate::store::unnamed::{Part, unnamed};

/// How many inputs are decided at once.
const AT_ONCE: usize = 1_024;

/// The inputs.
#[derive(Debug)]
pub(super) struct PathList {
    file: File,
    bytes: u64,
    /// The number of inputs.
    pub(super) len: u64,
    folders: Vec<Arc<Path>>,
    /// Their outputs, if an input may be one.
    outputs: Option<SortedOutputs>,
}

/// Whether inputs can be decided one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decidable {
    Yes,
    /// Perhaps not.
    Unclear,
}

impl PathList {
    /// The inputs in these folders that the run is to process, and the rest of what was found; `None` if a list in memory has to
    /// decide.
    ///
    /// # Errors
    /// Those of finding the inputs and of deciding which of them are meant; if the disk is full.
    pub(super) fn of(
        folders: &Folders,
        filter: &Filter,
        options: &Options,
    ) -> Result<Option<(Self, Found)>> {
        // Of the inputs that are compacted again, none may be left out for the output of one that is not.
        if options.emit.is_some() && options.scope == Scope::Degraded {
            return Ok(None);
        }
        let Some(targets) = Targets::below(folders.paths(), options)? else {
            return Ok(None);
        };
        let mut gathering = Gathering::new(folders, (filter, &targets), options)?;
        let mut decidable = Ok(Decidable::Yes);
        let mut found = folders.each(&mut |file, target| {
            decidable = gathering.add(file, target);
            match decidable {
                Ok(Decidable::Yes) => ControlFlow::Continue(()),
                Ok(Decidable::Unclear) | Err(_) => ControlFlow::Break(()),
            }
        })?;
        if decidable? == Decidable::Unclear || gathering.decide()? == Decidable::Unclear {
            return Ok(None);
        }
        found.met -= found.skipped.absorb(std::mem::take(&mut gathering.skipped));
        debug_assert_eq!(found.met, gathering.len);
        Ok(gathering.end()?.map(|list| (list, found)))
    }

    /// Shows the inputs in the order in which they were found, until no more are wanted.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn each(&self, show: &mut dyn FnMut(FileSource) -> ControlFlow<()>) -> Result<()> {
        let mut read = Part::of(&self.file, 0, self.bytes);
        while let Some(file) = self.next(&mut read).map_err(unkept)? {
            if show(file).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn next(&self, read: &mut BufReader<Part<'_>>) -> io::Result<Option<FileSource>> {
        if read.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut number = || {
            let mut bytes = [0; size_of::<u32>()];
            read.read_exact(&mut bytes)
                .map(|()| u32::from_le_bytes(bytes) as usize)
        };
        let (folder, length) = (number()?, number()?);
        let mut path = vec![0; length];
        read.read_exact(&mut path)?;
        Ok(Some(FileSource {
            path: path_of(path)?,
            folder: self.folders.get(folder).cloned(),
            origin: Origin::Walked,
        }))
    }

    /// Whether an input is the output of another one, so that it is left out.
    ///
    /// # Errors
    /// If that cannot be looked up.
    pub(super) fn leaves_out(&self, path: &Path) -> Result<bool> {
        match &self.outputs {
            Some(outputs) if is_named_like_output(path) => outputs.has(path).map_err(unkept),
            Some(_) | None => Ok(false),
        }
    }

    /// Whether it may leave out inputs.
    pub(super) fn may_leave_out(&self) -> bool {
        self.outputs.is_some()
    }
}

/// A list in the making.
struct Gathering<'g> {
    folders: &'g Folders,
    filter: &'g Filter,
    /// The threads that look at files, if there is a filter.
    threads: Option<ThreadPool>,
    targets: &'g Targets<'g>,
    options: &'g Options,
    /// Inputs that are to be decided together.
    undecided: Vec<FileSource>,
    tape: BufWriter<File>,
    bytes: u64,
    len: u64,
    /// The number of the folder of the last one.
    folder: usize,
    /// Their outputs, if two might be the same.
    outputs: Option<Outputs>,
    skipped: Skipped,
}

impl<'g> Gathering<'g> {
    fn new(
        folders: &'g Folders,
        (filter, targets): (&'g Filter, &'g Targets<'g>),
        options: &'g Options,
    ) -> Result<Self> {
        let place = match &options.destination {
            Destination::Folder(out) if options.effect == Effect::Write => out.clone(),
            _ => std::env::temp_dir(),
        };
        let has_one_tree = matches!(options.destination, Destination::Folder(_));
        let may_be_same = options.emit.is_some() || has_one_tree && folders.paths().len() > 1;
        let outputs = may_be_same.then(|| Outputs::new(&place)).transpose();
        let threads = (!filter.takes_all()).then(|| pool(options.jobs));
        Ok(Gathering {
            folders,
            filter,
            threads: threads.transpose()?,
            targets,
            options,
            undecided: Vec::new(),
            tape: unnamed(&place).map_err(unkept)?,
            bytes: 0,
            len: 0,
            folder: 0,
            outputs: outputs.map_err(unkept)?,
            skipped: Skipped::default(),
        })
    }

    /// Adds an input; for a link, with its target.
    fn add(&mut self, file: FileSource, target: Option<&Path>) -> Result<Decidable> {
        // The output of another input would replace the target.
        if target.is_some_and(is_named_like_output) {
            return Ok(Decidable::Unclear);
        }
        self.undecided.push(file);
        match self.undecided.len() {
            ..AT_ONCE => Ok(Decidable::Yes),
            _ => self.decide(),
        }
    }

    /// Decides about the inputs that were added since the last time.
    fn decide(&mut self) -> Result<Decidable> {
        let files = std::mem::take(&mut self.undecided);
        let left_out: Vec<Option<SkipReason>> = match &self.threads {
            None => vec![None; files.len()],
            Some(threads) => {
                let why = |file: &FileSource| self.filter.leaves_out(&file.path);
                threads.install(|| files.par_iter().map(why).collect())
            }
        };
        for (file, why) in files.into_iter().zip(left_out) {
            match why {
                Some(why) => self.skipped.count(file.path, why),
                None if self.put(file)? == Decidable::Yes => {}
                None => return Ok(Decidable::Unclear),
            }
        }
        Ok(Decidable::Yes)
    }

    fn put(&mut self, file: FileSource) -> Result<Decidable> {
        let met = (Source::File(file), None);
        let Some(target) = self.targets.of(&met, self.options) else {
            return Ok(Decidable::Unclear);
        };
        if let Some(output) = target.output() {
            if self.is_of_others(&output) {
                return Ok(Decidable::Unclear);
            }
            if let Some(outputs) = &mut self.outputs {
                outputs.add(&output).map_err(unkept)?;
            }
        }
        let is_meant = match self.options.scope {
            Scope::All => true,
            Scope::Degraded => is_degraded(&target)?,
        };
        let (Source::File(file), _) = met else {
            return Ok(Decidable::Unclear);
        };
        match is_meant {
            true => self.write(&file),
            false => {
                self.skipped.count(file.path, SkipReason::NotDegraded);
                Ok(Decidable::Yes)
            }
        }
    }

    /// Whether what has the name of an output may be an input.
    fn is_of_others(&self, output: &Path) -> bool {
        match &self.options.destination {
            Destination::Folder(_) => {
                let plain = output.canonicalize();
                plain.is_ok_and(|plain| self.folders.contain(&plain))
            }
            Destination::Beside => output.is_symlink(),
            // The input itself, or what it leads to.
            Destination::InPlace | Destination::File(_) | Destination::Stdout => false,
        }
    }

    fn write(&mut self, file: &FileSource) -> Result<Decidable> {
        let mut folders = self.folders.in_order().skip(self.folder);
        // They come in this order.
        let ahead = folders.position(|folder| Some(folder.as_path()) == file.folder.as_deref());
        let (Some(ahead), Some(path)) = (ahead, bytes_of(&file.path)) else {
            return Ok(Decidable::Unclear);
        };
        self.folder += ahead;
        let numbers = [self.folder, path.len()].map(u32::try_from);
        let [Ok(folder), Ok(length)] = numbers else {
            return Ok(Decidable::Unclear);
        };
        let parts = [&folder.to_le_bytes()[..], &length.to_le_bytes(), path];
        for part in parts {
            self.tape.write_all(part).map_err(unkept)?;
            self.bytes += part.len() as u64;
        }
        self.len += 1;
        Ok(Decidable::Yes)
    }

    /// The list; `None` if two outputs are the same.
    fn end(self) -> Result<Option<PathList>> {
        let are_beside = self.options.destination == Destination::Beside;
        let outputs = match self.outputs.map(Outputs::sorted).transpose() {
            Ok(Some(None)) => return Ok(None),
            Ok(outputs) => outputs.flatten().filter(|_| are_beside),
            Err(error) => return Err(unkept(error)),
        };
        let file = self.tape.into_inner().map_err(|e| unkept(e.into()))?;
        let folders = self.folders.in_order();
        Ok(Some(PathList {
            file,
            bytes: self.bytes,
            len: self.len,
            folders: folders.map(|path| path.as_path().into()).collect(),
            outputs,
        }))
    }
}

/// Whether a file has a name like those of outputs beside their inputs.
fn is_named_like_output(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = split_ending(&name).0;
    stem.ends_with(COMPACT) || stem.ends_with(emitted::MESSAGES)
}

fn unkept(error: io::Error) -> Error {
    let message = format!("cannot keep the list of inputs on the disk: {error}");
    Error::new(ErrorKind::Io, message)
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> Option<&[u8]> {
    Some(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> io::Result<PathBuf> {
    let path: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    Ok(path.into())
}

/// `None` if it is not valid Unicode.
#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Option<&[u8]> {
    path.to_str().map(str::as_bytes)
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> io::Result<PathBuf> {
    let path = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(path.into())
}
