//! Folders, patterns and names, and the inputs that they select.

use super::*;
use crate::batch::Source;

fn tree(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "{}").unwrap();
    }
    folder
}

fn find(paths: &[PathBuf], skip: Option<&Path>) -> Result<Found> {
    let search = Search {
        skip,
        exclude: &Exclude::default(),
        shard: None,
        scratch: &std::env::temp_dir(),
    };
    search.inputs(&Paths::new(paths.to_vec()))
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
    let found = find(&paths, skip.as_deref()).unwrap();
    let sources = found.sources.to_vec().unwrap().into_iter();
    sources.map(name).collect()
}

#[test]
fn folders_give_their_transcripts_and_not_our_outputs() {
    let tree = tree(&[
        "b.jsonl",
        "a/.hidden/c.jsonl.gz",
        "a/d.jsonl.zst",
        "a/e.json",
        "b.compact.jsonl",
        "F.JSONL",
        "G.Jsonl.GZ",
        "H.compact.JSONL",
        ".ctxpack/x.jsonl",
        "out/f.jsonl",
        ".ctxpack-0123456789abcdefc24bc12c.tmp",
    ]);
    assert_eq!(
        names(tree.path(), &[""], Some("out")),
        [
            "F.JSONL",
            "G.Jsonl.GZ",
            "a/.hidden/c.jsonl.gz",
            "a/d.jsonl.zst",
            "b.jsonl"
        ]
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
fn what_is_only_named_like_an_output_is_not_left_out_in_silence() {
    let tree = tree(&[
        "a.jsonl.gz",
        "a.compact.jsonl.gz",
        "b",
        "b.compact.jsonl",
        "c.jsonl",
        "D.JSONL",
        "D.compact.JSONL",
        "my/e.txt",
        "my.compact.jsonl",
    ]);
    for path in [tree.path().to_owned(), tree.path().join("*.jsonl")] {
        let found = find(&[path], None).unwrap();
        let skipped: Vec<_> = found.skipped.groups().into_iter().collect();
        let outputs = skipped
            .iter()
            .find(|((why, _), _)| *why == SkipReason::Output);
        let (_, outputs) = outputs.unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_owned();
        let names: Vec<_> = outputs.first.iter().map(name).collect();
        assert_eq!(names, ["my.compact.jsonl"]);
    }
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
        Some("did you mean \"session.jsonl\"?")
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
