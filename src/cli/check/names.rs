//! What the names in a folder mean: files of a case, of pairs, or of nothing.
//!
//! PURE. A file that belongs to a case but lacks its other half also makes a case, so that the case fails instead of being skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::cases::{Case, Part};
use crate::text::{count, nearest};

/// A case, with the reasons why it checks less than it seems to: no input, or files without a meaning.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) case: Case,
    pub(super) gaps: Vec<String>,
}

/// Whether a folder has subfolders with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    Nothing,
    Folders,
}

/// The cases in a folder that contains these names.
pub(super) fn cases_in(folder: &Path, names: &BTreeSet<String>, below: Below) -> Vec<Listed> {
    let known = Part::ALL.map(Part::name);
    let is_case = Part::ALL
        .into_iter()
        .any(|part| part.is_of_a_case() && names.contains(part.name()));
    let is_open = |name: &&str| is_data(name) && !known.contains(name) && pair(name).is_none();
    let open = || names.iter().map(String::as_str).filter(is_open);
    let mut gaps = Vec::new();
    if is_case && !names.contains(Part::Input.name()) {
        gaps.push(missing(Part::Input.name()));
    }
    let mut pairs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let halves: BTreeSet<&str> = names.iter().filter_map(|name| pair(name)).collect();
    match (halves.is_empty(), is_case) {
        (true, true) => gaps.extend(open().map(|name| strange("", name))),
        (true, false) => {
            gaps.extend(alone(open().filter(|name| is_transcript(name))));
            let others = open().filter(|name| !is_transcript(name) && is_like_a_part(name));
            gaps.extend(others.map(|name| strange("", name)));
            // A folder with subfolders may have a policy that theirs extend.
            let has = |part: Part| names.contains(part.name());
            if below == Below::Nothing && open().next().is_none() && has(Part::Policy) {
                gaps.push(missing(Part::Input.name()));
            }
        }
        (false, _) => {
            let bases = bases(halves, open().filter_map(stem).collect());
            for base in &bases {
                let input = format!("{base}.jsonl");
                let gap = (!names.contains(&input)).then(|| missing(&input));
                pairs.insert(base, gap.into_iter().collect());
            }
            let is_input = |name| stem(name).is_some_and(|stem| bases.contains(stem));
            for name in open().filter(|name| !is_input(name)) {
                match owned(name, &bases) {
                    Some((_, part)) if part == Part::Policy.name() => {}
                    Some((base, part)) => {
                        let gaps = pairs.entry(base).or_default();
                        gaps.push(strange(&name[..=base.len()], part));
                    }
                    None if is_case => gaps.push(strange("", name)),
                    None if name.ends_with(".policy.toml") => {
                        gaps.push(format!("{name} is not the policy of any pair"));
                    }
                    None if is_odd_half(name) => gaps.push(strange("", name)),
                    // Files in a folder of a user's transcripts may have nothing to do with cases.
                    None => {}
                }
            }
            if !is_case && names.contains(Part::Policy.name()) {
                let message = "policy.toml is not a file of a pair: call it NAME.policy.toml";
                gaps.push(message.to_owned());
            }
        }
    }
    let of_folder = (is_case || !gaps.is_empty()).then(|| Listed {
        case: Case::Folder(folder.to_owned()),
        gaps,
    });
    let of_pairs = pairs.into_iter().map(|(base, gaps)| Listed {
        case: Case::Pair(folder.join(base)),
        gaps,
    });
    of_folder.into_iter().chain(of_pairs).collect()
}

/// The names of pairs: `halves` have expected files, and `inputs` are transcripts.
fn bases<'n>(halves: BTreeSet<&'n str>, inputs: Vec<&'n str>) -> BTreeSet<&'n str> {
    // Next to pairs, a transcript without its other half is half of a pair too, unless it was meant to be the golden of another
    // one.
    let all: BTreeSet<&str> = halves.iter().chain(&inputs).copied().collect();
    let is_golden = |input: &&&str| {
        let owner = owned(input, &all);
        owner.is_some_and(|(_, part)| part.starts_with("expect"))
    };
    let goldens = inputs.iter().filter(is_golden).copied();
    let goldens: BTreeSet<&str> = goldens.filter(|base| !halves.contains(base)).collect();
    all.difference(&goldens).copied().collect()
}

fn missing(input: &str) -> String {
    format!("{input} is missing, so nothing is checked: put it back, or remove its expected files")
}

/// The message that `part` after `begin` is not a file of a case.
fn strange(begin: &str, part: &str) -> String {
    let near = nearest(&plain(part), Part::ALL.map(Part::name));
    let hint = near.map_or(String::new(), |near| {
        format!("; did you mean {begin}{near}?")
    });
    format!("{begin}{part} is not a file of a case{hint}")
}

/// The message that transcripts belong to no case, if there are any.
fn alone<'n>(mut transcripts: impl Iterator<Item = &'n str>) -> Option<String> {
    let first = transcripts.next()?;
    let others = match transcripts.count() {
        0 => String::new(),
        others => format!(", like {} more here,", count(others as u64, "transcript")),
    };
    Some(format!(
        "{first}{others} belongs to no case: rename it to input.jsonl, or put its expected files beside it"
    ))
}

/// Notes may be next to a case, but not data and policies of unknown meaning.
fn is_data(name: &str) -> bool {
    let plain = plain(name);
    let mut endings = [".json", ".jsonl", ".toml"].iter();
    let is_data = endings.any(|ending| plain.ends_with(ending)) || is_like_a_part(name);
    !name.starts_with('.') && is_data
}

/// A name in lower case, without the ending of a compressed file.
fn plain(name: &str) -> String {
    let name = name.to_lowercase();
    let packed = [".gz", ".zst"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending));
    packed.unwrap_or(&name).to_owned()
}

/// Whether it is a transcript, judging by its name.
fn is_transcript(name: &str) -> bool {
    let plain = plain(name);
    plain.ends_with(".jsonl") || plain.ends_with(".ndjson")
}

/// Whether it begins like a file of a case: `expect.yaml`. Files that a review has written next to one are known, and notes may be
/// there.
fn is_like_a_part(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut begins = ["input.", "policy.", "expect.", "expected.", "summaries."].iter();
    begins.any(|begin| name.starts_with(begin))
        && ![".md", ".new"].iter().any(|end| name.ends_with(end))
}

/// Whether it would be the expected file of a pair if it were in lower case and not compressed.
fn is_odd_half(name: &str) -> bool {
    let plain = plain(name);
    plain != name && pair(&plain).is_some()
}

/// `x.jsonl` → `x`
fn stem(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl")
}

/// `x.expected.jsonl` → `x`
fn pair(name: &str) -> Option<&str> {
    let parts = Part::ALL.into_iter();
    let goldens = parts.filter(|part| part.is_of_a_case() && *part != Part::Input);
    let mut bases = goldens.filter_map(|part| name.strip_suffix(part.name())?.strip_suffix('.'));
    bases.find(|base| !base.is_empty())
}

/// The longest of `bases` with which `name` begins, and what comes after its dot.
fn owned<'b>(name: &'b str, bases: &BTreeSet<&str>) -> Option<(&'b str, &'b str)> {
    let dots = name.rmatch_indices('.').map(|(at, _)| at);
    let mut splits = dots.map(|at| (&name[..at], &name[at + 1..]));
    splits.find(|(base, _)| bases.contains(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `case: gap; gap`, for a folder `f` with these names.
    fn listed(names: &str) -> Vec<String> {
        let names = names.split_whitespace().map(str::to_owned).collect();
        let cases = cases_in(Path::new("f"), &names, Below::Nothing).into_iter();
        cases
            .map(|Listed { case, gaps }| format!("{}: {}", case.path().display(), gaps.join("; ")))
            .collect()
    }

    #[test]
    fn folders_and_pairs_are_cases() {
        assert_eq!(
            listed("input.jsonl policy.toml store notes.md .x.json"),
            ["f: "]
        );
        assert_eq!(
            listed(
                "a.jsonl a.expect.toml a.policy.toml b.c.jsonl b.c.expected.jsonl summaries.jsonl ctxpack.toml"
            ),
            ["f/a: ", "f/b.c: "]
        );
        assert_eq!(
            listed("policy.toml base.toml summaries.jsonl notes.md"),
            [""; 0]
        );
    }

    #[test]
    fn what_means_nothing_beside_pairs_is_a_gap() {
        let pair = "a.jsonl a.expected.jsonl";
        for (others, gaps) in [
            (
                "a.polcy.toml",
                "f/a: a.polcy.toml is not a file of a case; did you mean a.policy.toml?",
            ),
            (
                "a.expectd.jsonl",
                "f/a: a.expectd.jsonl is not a file of a case; did you mean a.expected.jsonl?",
            ),
            (
                "policy.toml",
                "f: policy.toml is not a file of a pair: call it NAME.policy.toml",
            ),
            (
                "b.policy.toml",
                "f: b.policy.toml is not the policy of any pair",
            ),
        ] {
            let listed = listed(&format!("{pair} {others}"));
            assert!(listed.contains(&gaps.to_owned()), "{others}: {listed:?}");
            assert_eq!(
                listed.len(),
                1 + usize::from(gaps.starts_with("f:")),
                "{listed:?}"
            );
        }
        // This is also the whole name of a pair.
        assert_eq!(
            listed(&format!(
                "{pair} a.expect.x.jsonl a.expect.x.expected.jsonl"
            )),
            ["f/a: ", "f/a.expect.x: "]
        );
    }

    #[test]
    fn a_name_that_is_almost_right_is_a_gap() {
        let case = "input.jsonl expected.jsonl";
        for (odd, meant) in [
            ("expect.TOML", "; did you mean expect.toml?"),
            ("expect.yaml", ""),
            ("policy.tml", "; did you mean policy.toml?"),
            ("input.JSONL", ""),
            ("expected.jsonl.gz", ""),
        ] {
            let gap = format!("f: {odd} is not a file of a case");
            let found = listed(&format!("{case} {odd}"));
            assert!(found.len() == 1 && found[0].starts_with(&gap), "{found:?}");
            assert!(found[0].contains(meant), "{found:?}");
        }
        assert_eq!(
            listed(&format!("{case} expected.jsonl.new expect.md")),
            ["f: "]
        );
        for (names, gaps) in [
            ("policy.toml", "f: input.jsonl is missing"),
            ("policy.toml summaries.jsonl", "f: input.jsonl is missing"),
            (
                "input.jsonl.gz expected.jsonl.gz policy.toml",
                "f: expected.jsonl.gz, like 1 transcript more here,",
            ),
            (
                "input.json expected.json",
                "f: expected.json is not a file of a case",
            ),
            (
                "t.JSONL t.expected.JSONL",
                "f: t.JSONL, like 1 transcript more here,",
            ),
        ] {
            let found = listed(names);
            assert!(
                found.len() == 1 && found[0].starts_with(gaps),
                "{names}: {found:?}"
            );
        }
        let beside = listed("a.jsonl a.expected.jsonl t.expected.JSONL");
        assert!(
            beside[0].contains("t.expected.JSONL is not a file of a case"),
            "{beside:?}"
        );
        // A folder with subfolders may have a policy that theirs extend.
        let names = BTreeSet::from(["policy.toml".to_owned()]);
        assert_eq!(cases_in(Path::new("f"), &names, Below::Folders), []);
    }

    #[test]
    fn a_transcript_alone_is_a_gap() {
        let says =
            "belongs to no case: rename it to input.jsonl, or put its expected files beside it";
        assert_eq!(
            listed("session.jsonl policy.toml"),
            [format!("f: session.jsonl {says}")]
        );
        assert_eq!(
            listed("a.jsonl b.jsonl c.jsonl"),
            [format!("f: a.jsonl, like 2 transcripts more here, {says}")]
        );
    }
}
