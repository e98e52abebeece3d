//! Finds the inputs that a command line names: files, folders, patterns, lists, standard input.
//!
//! Decides by names alone; opens no transcript.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use globset::{GlobBuilder, GlobMatcher};

use super::exclude::Exclude;
use super::globs::refused;
use super::skipped::{SkipReason, Skipped};
use super::walk::{Interest, Leave, Walked, walk};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::path_text;
use crate::store::folder::{below, folder_of};
use crate::text::nearest;

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(FileSource),
}

/// A file that was named, or found below a folder that was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileSource {
    /// The path as given.
    pub path: PathBuf,
    /// The folder argument below which it was found.
    pub folder: Option<Arc<Path>>,
    /// How it came to be an input.
    pub origin: Origin,
}

/// How a file came to be an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user named it.
    Named,
    /// It was found below a folder, or by a pattern.
    Walked,
}

impl Source {
    /// The input as it is called in a report.
    pub fn path(&self) -> &Path {
        match self {
            Source::Stdin => Path::new("-"),
            Source::File(file) => &file.path,
        }
    }

    /// The folder argument below which it was found.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Source::Stdin => None,
            Source::File(file) => file.folder.as_deref(),
        }
    }
}

impl FileSource {
    /// Its path relative to an output folder.
    pub fn relative(&self) -> &Path {
        let folder = self.folder.as_ref();
        let rest = folder.and_then(|folder| below(&self.path, folder));
        let alone = || {
            self.path
                .file_name()
                .map(Path::new)
                .unwrap_or(Path::new(""))
        };
        rest.unwrap_or_else(alone)
    }
}

/// The inputs that a command line names.
#[derive(Debug, Default)]
pub struct Found {
    /// The inputs, sorted, each once.
    pub sources: Vec<Source>,
    /// The folders that were named and walked.
    pub folders: Vec<PathBuf>,
    /// What was named but does not exist or cannot be accessed.
    pub missing: Vec<Error>,
    /// What a walk skipped although nothing failed.
    pub skipped: Skipped,
    /// The number of inputs that a walk of the folders has handed on; they are not in `sources`.
    pub met: u64,
}

impl Found {
    /// The number of inputs, including those that cannot be read.
    pub fn len(&self) -> u64 {
        self.met + (self.sources.len() + self.missing.len()) as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The walked folders, by the inputs that were found below them, as named in reports: below such a folder no link is followed.
    pub fn folders_of_inputs(&self) -> FoldersOfInputs<'_> {
        let (sources, folders) = (self.sources.iter(), self.folders.iter());
        FoldersOfInputs {
            walked: folders
                .filter(|_| self.met > 0)
                .map(|folder| (PathBuf::from(path_text(folder)), &**folder))
                .collect(),
            of_each: sources
                .filter_map(|source| Some((path_text(source.path()), source.folder()?)))
                .collect(),
        }
    }
}

/// The folders below which inputs were found.
#[derive(Debug)]
pub struct FoldersOfInputs<'f> {
    /// Those whose inputs are not listed, as named in reports.
    walked: HashMap<PathBuf, &'f Path>,
    of_each: BTreeMap<String, &'f Path>,
}

impl FoldersOfInputs<'_> {
    /// The folder of the input that reports call `input`.
    pub fn of(&self, input: &str) -> Option<&Path> {
        let mut above = Path::new(input).ancestors();
        let walked = above.find_map(|folder| self.walked.get(folder));
        walked.or_else(|| self.of_each.get(input)).copied()
    }
}

/// The endings of transcripts in a folder.
const ENDINGS: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];
/// The endings of documents, which are read only if they are named: in a folder, most files with these endings are not transcripts.
const OF_DOCUMENTS: [&str; 3] = [".json", ".json.gz", ".json.zst"];
/// The ending of our outputs beside their inputs.
pub(super) const COMPACT: &str = ".compact";
/// The ending of reports beside outputs, and of the one at the top of an output folder.
const STATS: &str = ".stats.json";

/// Splits the name of a transcript into its stem and its ending, ignoring case.
pub fn split_ending(name: &str) -> (&str, &str) {
    let endings = ENDINGS.into_iter().chain(OF_DOCUMENTS);
    let begins = endings.rev().find_map(|ending| begin(name, ending));
    name.split_at(begins.unwrap_or(name.len()))
}

/// Where the ending of a name begins, if it has this one.
fn begin(name: &str, ending: &str) -> Option<usize> {
    let begins = name.len().checked_sub(ending.len())?;
    let end = name.get(begins..)?;
    end.eq_ignore_ascii_case(ending).then_some(begins)
}

/// What is looked for in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Transcripts, except our own outputs.
    Transcripts,
    /// Every file: any of them may be one of our outputs.
    Outputs,
}

/// Finds what `paths` name. Folders are walked without following links; the folder `skip` and excluded files are left out.
///
/// # Errors
/// [`ErrorKind::NoInput`] if nothing at all was found.
pub fn find(paths: &[PathBuf], skip: Option<&Path>, exclude: &Exclude) -> Result<Found> {
    search(paths, Leave { skip, exclude }, Wanted::Transcripts)
}

/// Finds the files that may include our outputs: those that are named, and all that are below folders or match patterns, with the
/// folder that was walked. Does not check whether a file really is an output.
///
/// # Errors
/// As [`find`].
pub fn find_outputs(paths: &[PathBuf], exclude: &Exclude) -> Result<Found> {
    let leave = Leave {
        skip: None,
        exclude,
    };
    search(paths, leave, Wanted::Outputs)
}

fn search(paths: &[PathBuf], leave: Leave<'_>, wanted: Wanted) -> Result<Found> {
    let mut named = Named::default();
    for path in paths {
        named.add(path, leave, wanted);
    }
    let Named {
        sources,
        missing,
        mut skipped,
    } = named;
    // Two arguments may name one folder.
    let missing = once_each(missing);
    // If the user excluded everything, that is not an error.
    let is_left_out = skipped.is_asked_for();
    if sources.is_empty() && !(is_left_out && missing.is_empty()) {
        return Err(nothing(missing));
    }
    let mut sources: Vec<Source> = sources.into_iter().collect();
    // The same file by another path counts once.
    let mut seen = HashSet::new();
    sources.retain(|source| match source {
        Source::Stdin => true,
        Source::File(file) => {
            let plain = file.path.canonicalize();
            let is_new = seen.insert(place_key(plain.as_ref().unwrap_or(&file.path)));
            if !is_new {
                skipped.insert(file.path.clone(), SkipReason::SameFile);
            }
            is_new
        }
    });
    sources.shrink_to_fit();
    let mut folders = paths.to_vec();
    folders.retain(|path| path.is_dir());
    Ok(Found {
        sources,
        folders,
        missing,
        skipped,
        met: 0,
    })
}

/// A hash that identifies a path: with millions of inputs, their paths would take too much memory.
pub(crate) type PlaceKey = [u8; 16];

/// The key of a path.
pub(crate) fn place_key(path: &Path) -> PlaceKey {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}

/// Errors without those that say the same of the same path as an earlier one.
pub(super) fn once_each(mut errors: Vec<Error>) -> Vec<Error> {
    let mut said = BTreeSet::new();
    errors.retain(|error| said.insert((error.path.clone(), error.message.clone())));
    errors
}

/// The error of a run without inputs: the first error, with the paths of the others.
pub(super) fn nothing(missing: Vec<Error>) -> Error {
    let mut missing = missing.into_iter();
    let Some(mut first) = missing.next() else {
        return Error::new(ErrorKind::NoInput, "no input was named")
            .hint("name a transcript, a folder, or - for standard input");
    };
    let others: Vec<String> = missing
        .filter_map(|error| Some(error.path?.display().to_string()))
        .collect();
    if !others.is_empty() {
        first.message = format!(
            "{}; {} could not be read either",
            first.message,
            others.join(", ")
        );
    }
    first
}

/// What the arguments name, unsorted.
#[derive(Default)]
struct Named {
    sources: BTreeSet<Source>,
    missing: Vec<Error>,
    skipped: Skipped,
}

impl Named {
    fn add(&mut self, path: &Path, leave: Leave<'_>, what: Wanted) {
        if path == Path::new("-") {
            self.sources.insert(Source::Stdin);
        } else if path.is_dir() {
            let walked = walk(path, leave, |path, name| match what {
                Wanted::Transcripts => interest(name),
                // An output can have any name; anything that is not a file, or is a link, is of interest only if its name looks
                // like one.
                Wanted::Outputs => {
                    let is_file = || path.symlink_metadata().is_ok_and(|seen| seen.is_file());
                    match has_ending(name) || is_file() {
                        true => Interest::Wanted,
                        false => Interest::Ignored,
                    }
                }
            });
            let nothing = || match what {
                Wanted::Transcripts => no_transcript(path),
                Wanted::Outputs => {
                    Error::new(ErrorKind::NoInput, "no file below this folder").at(path)
                }
            };
            self.walked(walked, Some(path), nothing);
        } else if path.exists() {
            self.file(path.to_owned(), None, Origin::Named);
        } else if let Some((folder, matcher)) = pattern(path) {
            // Our own outputs are only found if they are named.
            let name = path.file_name().unwrap_or_default();
            let ours = what == Wanted::Outputs || name.to_string_lossy().contains(COMPACT);
            let wanted = |path: &Path, name: &str| match matcher.is_match(path)
                && (ours || !is_output(name))
            {
                true => Interest::Wanted,
                false => Interest::Ignored,
            };
            // If the folder does not exist, nothing matches.
            let walked = match folder.as_os_str().is_empty() || folder.exists() {
                true => walk(&folder, leave, wanted),
                false => Walked::default(),
            };
            let nothing = || {
                Error::new(ErrorKind::NoInput, "no file matches this pattern")
                    .at(path)
                    .hint("* does not match /, ** does; for a name that contains *, ?, [ or {, name its folder")
            };
            let base = match what {
                Wanted::Transcripts => None,
                Wanted::Outputs => Some(folder.as_path()),
            };
            self.walked(walked, base, nothing);
        } else {
            self.missing.push(not_there(path));
        }
    }

    fn file(&mut self, path: PathBuf, folder: Option<Arc<Path>>, origin: Origin) {
        self.sources.insert(Source::File(FileSource {
            path,
            folder,
            origin,
        }));
    }

    fn walked(&mut self, walked: Walked, folder: Option<&Path>, nothing: impl Fn() -> Error) {
        let is_left_out = walked.skipped.iter().any(|(_, why)| why.is_asked_for());
        if walked.files.is_empty() && walked.errors.is_empty() && !is_left_out {
            self.missing.push(nothing());
        }
        let folder: Option<Arc<Path>> = folder.map(Arc::from);
        for path in walked.files {
            self.file(path, folder.clone(), Origin::Walked);
        }
        self.missing.extend(walked.errors);
        self.skipped.extend(walked.skipped);
    }
}

/// The error for a folder without transcripts.
pub(super) fn no_transcript(folder: &Path) -> Error {
    Error::new(ErrorKind::NoInput, "no transcript below this folder")
        .at(folder)
        .hint("transcripts are files that end in .jsonl, .jsonl.gz or .jsonl.zst")
}

/// The error for a path that names nothing: a broken link, a file in an inaccessible folder, or a typo.
pub(super) fn not_there(path: &Path) -> Error {
    match path.metadata() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Error::io(path, "look at it", error)
        }
        _ if path.is_symlink() => Error::new(ErrorKind::NotFound, "the link is broken").at(path),
        _ => {
            let error = Error::new(ErrorKind::NotFound, "no such file or folder").at(path);
            match near(path) {
                Some(name) => error.hint(format!("did you mean {name:?}?")),
                None if looks_like_id(path) => error.hint(
                    "check the path; `ctxpack sessions` lists the ids of sessions, of which four characters are enough",
                ),
                None => error.hint("check the path; - reads standard input"),
            }
        }
    }
}

/// Whether a path that names nothing may have been meant as the id of a session: one word without an ending.
fn looks_like_id(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_none()
}

/// Whether a name has the ending of a transcript.
pub fn has_ending(name: &str) -> bool {
    ENDINGS
        .into_iter()
        .any(|ending| begin(name, ending).is_some())
}

/// Whether a file of this name in a folder is a transcript; our own outputs and reports are of no interest.
pub(super) fn interest(name: &str) -> Interest {
    match (has_ending(name), is_output(name)) {
        (true, false) => Interest::Wanted,
        (false, false) if !name.ends_with(STATS) => Interest::Other,
        (false, false) | (_, true) => Interest::Ignored,
    }
}

fn is_output(name: &str) -> bool {
    split_ending(name).0.ends_with(COMPACT)
}

/// A path with wildcards: the folder before the first one, and the pattern.
fn pattern(path: &Path) -> Option<(PathBuf, GlobMatcher)> {
    let text = path.to_str()?;
    let is_wild = |part: Component<'_>| {
        part.as_os_str()
            .to_string_lossy()
            .contains(['*', '?', '[', '{'])
    };
    if !path.components().any(is_wild) || refused(text).is_some() {
        return None;
    }
    let folder: PathBuf = path
        .components()
        .take_while(|part| !is_wild(*part))
        .collect();
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .build()
        .ok()?;
    Some((folder, glob.compile_matcher()))
}

/// A file beside `path` with a similar name.
fn near(path: &Path) -> Option<String> {
    let folder = folder_of(path);
    let (wanted, ending) = split_ending(path.file_name()?.to_str()?);
    // A user who typed an ending does not mean a folder.
    let is_file = |entry: &fs::DirEntry| entry.path().is_file();
    let mut names: Vec<String> = folder
        .read_dir()
        .ok()?
        .flatten()
        .take(10_000)
        .filter(|entry| ending.is_empty() || is_file(entry))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    // Endings are the same for all, and would make any short name similar.
    let near = nearest(wanted, names.iter().map(|name| split_ending(name).0))?;
    names
        .iter()
        .find(|name| split_ending(name).0 == near)
        .cloned()
}

#[cfg(test)]
mod tests;
