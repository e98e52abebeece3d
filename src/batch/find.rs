//! Which inputs a command line names: files, folders, patterns, lists, standard input.
//!
//! Never opens a transcript: what is inside decides nothing here, only names do.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use crate::error::{Error, ErrorKind, Result};
use crate::store::FOLDER;
use crate::store::atomic::is_temp;
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
    /// The file, as it was given.
    pub path: PathBuf,
    /// The folder argument that it was found below.
    pub folder: Option<PathBuf>,
}

impl Source {
    /// The input as a report names it.
    pub fn path(&self) -> &Path {
        match self {
            Source::Stdin => Path::new("-"),
            Source::File(file) => &file.path,
        }
    }

    /// The folder argument that it was found below.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Source::Stdin => None,
            Source::File(file) => file.folder.as_deref(),
        }
    }
}

impl FileSource {
    /// Where the file stands in the tree that an output folder keeps.
    pub fn relative(&self) -> PathBuf {
        let below = self
            .folder
            .as_ref()
            .and_then(|folder| self.path.strip_prefix(folder).ok());
        below.map_or_else(
            || self.path.file_name().map(PathBuf::from).unwrap_or_default(),
            Path::to_owned,
        )
    }
}

/// What a command line named.
#[derive(Debug, Default)]
pub struct Found {
    /// The inputs, sorted, each once.
    pub sources: Vec<Source>,
    /// What was named but is not there.
    pub missing: Vec<Error>,
}

/// The endings of transcripts in a folder.
const ENDINGS: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];
/// What our outputs are called beside their inputs.
pub(super) const COMPACT: &str = ".compact";

/// The name of a transcript without its ending, and the ending.
pub(super) fn split_ending(name: &str) -> (&str, &str) {
    let ending = ENDINGS
        .into_iter()
        .rev()
        .find(|ending| name.ends_with(ending))
        .unwrap_or_default();
    name.split_at(name.len() - ending.len())
}

/// Finds what `paths` name. Folders are walked without following links; `skip` is a folder that is left out.
///
/// # Errors
/// [`ErrorKind::NoInput`] where nothing at all was found.
pub fn find(paths: &[PathBuf], skip: Option<&Path>) -> Result<Found> {
    let mut found = BTreeSet::new();
    let mut missing = Vec::new();
    for path in paths {
        match named(path, skip) {
            Ok(sources) => found.extend(sources),
            Err(error) => missing.push(error),
        }
    }
    if found.is_empty() {
        return Err(nothing(missing));
    }
    let mut sources: Vec<Source> = found.into_iter().collect();
    // The same file by another way counts once.
    let mut seen = BTreeSet::new();
    sources.retain(|source| match source {
        Source::Stdin => true,
        Source::File(file) => seen.insert(
            file.path
                .canonicalize()
                .unwrap_or_else(|_| file.path.clone()),
        ),
    });
    Ok(Found { sources, missing })
}

/// The first fault stands for the run, since nothing can be done; it names the others.
fn nothing(missing: Vec<Error>) -> Error {
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
            "{}; nor is there anything at {}",
            first.message,
            others.join(", ")
        );
    }
    first
}

fn named(path: &Path, skip: Option<&Path>) -> Result<Vec<Source>> {
    if path == Path::new("-") {
        return Ok(vec![Source::Stdin]);
    }
    if path.is_dir() {
        let files = walk(path, skip, |_, name| is_transcript(name));
        if files.is_empty() {
            return Err(
                Error::new(ErrorKind::NoInput, "no transcript below this folder")
                    .at(path)
                    .hint("transcripts are files that end in .jsonl, .jsonl.gz or .jsonl.zst"),
            );
        }
        let source = |file| {
            Source::File(FileSource {
                path: file,
                folder: Some(path.to_owned()),
            })
        };
        return Ok(files.into_iter().map(source).collect());
    }
    if path.exists() {
        return Ok(vec![Source::File(FileSource {
            path: path.to_owned(),
            folder: None,
        })]);
    }
    match pattern(path) {
        Some((folder, matcher)) => {
            // Our outputs are found only by who asks for them.
            let ours = path.to_string_lossy().contains(COMPACT);
            let files = walk(&folder, skip, |path, name| {
                matcher.is_match(path) && (ours || !is_output(name))
            });
            if files.is_empty() {
                return Err(
                    Error::new(ErrorKind::NoInput, "no file matches this pattern")
                        .at(path)
                        .hint("* stops at folders; ** goes through them"),
                );
            }
            Ok(files
                .into_iter()
                .map(|path| Source::File(FileSource { path, folder: None }))
                .collect())
        }
        None => {
            let error = Error::new(ErrorKind::NotFound, "no such file or folder").at(path);
            Err(match near(path) {
                Some(name) => error.hint(format!("there is a {name:?} beside it")),
                None => error.hint("check the path; - reads standard input"),
            })
        }
    }
}

/// The files below `folder` that `wanted` takes, sorted by path.
fn walk(folder: &Path, skip: Option<&Path>, wanted: impl Fn(&Path, &str) -> bool) -> Vec<PathBuf> {
    let skip = skip.and_then(|skip| skip.canonicalize().ok());
    let is_here = folder.as_os_str().is_empty();
    let walker = WalkBuilder::new(if is_here { Path::new(".") } else { folder })
        // Transcripts live in hidden folders, and often in ignored ones.
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_skipped = skip
                .as_ref()
                .is_some_and(|skip| entry.path().canonicalize().is_ok_and(|path| path == *skip));
            entry.file_name() != FOLDER && (entry.depth() == 0 || !is_skipped)
        })
        .sort_by_file_path(Path::cmp)
        .build();
    walker
        .flatten()
        .filter(|entry| {
            entry
                .file_type()
                .is_some_and(|kind| kind.is_file() || kind.is_symlink())
        })
        .filter(|entry| !is_temp(entry.file_name()))
        .map(ignore::DirEntry::into_path)
        // What is walked from nowhere is named as from here.
        .map(|path| match path.strip_prefix(".") {
            Ok(below) if is_here => below.to_owned(),
            _ => path,
        })
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| wanted(path, &name.to_string_lossy()))
                && path.is_file()
        })
        .collect()
}

/// Whether a file of that name in a folder is a transcript, and not one of our outputs.
fn is_transcript(name: &str) -> bool {
    !split_ending(name).1.is_empty() && !is_output(name)
}

fn is_output(name: &str) -> bool {
    split_ending(name).0.ends_with(COMPACT)
}

/// A path with wildcards: the folder before the first of them, and what matches.
fn pattern(path: &Path) -> Option<(PathBuf, GlobMatcher)> {
    let text = path.to_str()?;
    let is_wild = |part: Component<'_>| {
        part.as_os_str()
            .to_string_lossy()
            .contains(['*', '?', '[', '{'])
    };
    if !path.components().any(is_wild) {
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

/// A file beside `path` with nearly its name.
fn near(path: &Path) -> Option<String> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut names: Vec<String> = folder
        .read_dir()
        .ok()?
        .flatten()
        .take(10_000)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let (wanted, _) = split_ending(path.file_name()?.to_str()?);
    // Endings are alike in all of them, and would make any short name near.
    let near = nearest(wanted, names.iter().map(|name| split_ending(name).0))?;
    names
        .iter()
        .find(|name| split_ending(name).0 == near)
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "{}").unwrap();
        }
        folder
    }

    fn names(folder: &Path, paths: &[&str], skip: Option<&str>) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(|p| folder.join(p)).collect();
        let skip = skip.map(|s| folder.join(s));
        let name = |source: Source| match source {
            Source::Stdin => "-".to_owned(),
            Source::File(file) => file
                .path
                .strip_prefix(folder)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
        };
        find(&paths, skip.as_deref())
            .unwrap()
            .sources
            .into_iter()
            .map(name)
            .collect()
    }

    #[test]
    fn folders_give_their_transcripts_and_not_our_outputs() {
        let tree = tree(&[
            "b.jsonl",
            "a/.hidden/c.jsonl.gz",
            "a/d.jsonl.zst",
            "a/e.json",
            "b.compact.jsonl",
            ".ctxpack/x.jsonl",
            "out/f.jsonl",
            ".ctxpack-AbC123.tmp",
        ]);
        assert_eq!(
            names(tree.path(), &[""], Some("out")),
            ["a/.hidden/c.jsonl.gz", "a/d.jsonl.zst", "b.jsonl"]
        );
    }

    #[test]
    fn a_named_file_is_taken_whatever_its_name_and_once() {
        let tree = tree(&["a.txt", "b.compact.jsonl"]);
        assert_eq!(
            names(tree.path(), &["b.compact.jsonl", "a.txt", "a.txt"], None),
            ["a.txt", "b.compact.jsonl"]
        );
        assert_eq!(names(tree.path(), &["a.txt", "./a.txt"], None).len(), 1);
    }

    #[test]
    fn patterns_match_below_their_folder() {
        let tree = tree(&["x/a.jsonl", "x/a.compact.jsonl", "x/y/b.jsonl", "x/c.txt"]);
        assert_eq!(names(tree.path(), &["x/*.jsonl"], None), ["x/a.jsonl"]);
        assert_eq!(
            names(tree.path(), &["x/**/*.jsonl"], None),
            ["x/a.jsonl", "x/y/b.jsonl"]
        );
        assert_eq!(
            names(tree.path(), &["x/*.compact.jsonl"], None),
            ["x/a.compact.jsonl"]
        );
    }

    #[test]
    fn what_is_missing_is_said_with_what_is_near() {
        let tree = tree(&["session.jsonl"]);
        let error = find(&[tree.path().join("sesion.jsonl")], None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert_eq!(
            error.hint.as_deref(),
            Some("there is a \"session.jsonl\" beside it")
        );
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(
            find(&[empty.path().to_owned()], None).unwrap_err().kind,
            ErrorKind::NoInput
        );
        assert_eq!(find(&[], None).unwrap_err().kind, ErrorKind::NoInput);
    }

    #[test]
    fn one_missing_input_does_not_hide_the_others() {
        let tree = tree(&["a.jsonl"]);
        let found = find(
            &[tree.path().join("a.jsonl"), tree.path().join("gone.jsonl")],
            None,
        )
        .unwrap();
        assert_eq!((found.sources.len(), found.missing.len()), (1, 1));
    }
}
