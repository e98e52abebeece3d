//! What the names of files tell: which are transcripts, and which are outputs and reports of ours.
//!
//! PURE.

/// The endings of transcripts in a folder.
const ENDINGS: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];
/// The endings of documents, which are read only if they are named: in a folder, most files with these endings are not transcripts.
const OF_DOCUMENTS: [&str; 3] = [".json", ".json.gz", ".json.zst"];
/// The ending of our outputs beside their inputs.
pub(super) const COMPACT: &str = ".compact";
/// The ending of reports beside outputs, and of the one at the top of an output folder.
pub(super) const STATS: &str = ".stats.json";

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

/// The names that the input of this output may have, the most likely first; none if it is not named like an output.
pub(super) fn inputs_of(output: &str) -> impl Iterator<Item = String> {
    let (stem, own) = split_ending(output);
    let stem = stem.strip_suffix(COMPACT).filter(|stem| !stem.is_empty());
    stem.into_iter().flat_map(move |stem| {
        let endings = [own, ""].into_iter().chain(ENDINGS).chain(OF_DOCUMENTS);
        endings.map(move |ending| format!("{stem}{ending}"))
    })
}

/// Whether a name has the ending of a transcript.
pub fn has_ending(name: &str) -> bool {
    ENDINGS
        .into_iter()
        .any(|ending| begin(name, ending).is_some())
}

/// Whether a file has the name of an output beside its input.
pub(super) fn is_output(name: &str) -> bool {
    split_ending(name).0.ends_with(COMPACT)
}
