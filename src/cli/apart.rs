//! Policies side by side: those with the same name are told apart by the folders of their files.
//!
//! Changes names alone, which no output depends on.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::config::ResolvedPolicy;

/// Gives policies with the same name longer ones, prefixed by as many folders of their files as it takes for them to differ:
/// `base/policy` and `head/policy`. One file that was named twice keeps one name.
pub(super) fn tell_apart(policies: &mut [ResolvedPolicy]) {
    let names: Vec<String> = policies.iter().map(|one| told(one, policies)).collect();
    for (one, name) in policies.iter_mut().zip(names) {
        one.effective.policy.name = name;
    }
}

/// The name of one of these policies.
fn told(one: &ResolvedPolicy, policies: &[ResolvedPolicy]) -> String {
    let name = &one.effective.policy.name;
    let namesakes = policies
        .iter()
        .filter(|other| other.effective.policy.name == *name);
    let files: BTreeSet<Option<&Path>> = namesakes.map(|other| other.file.as_deref()).collect();
    let most = files.iter().flatten().map(|file| folders(file).len()).max();
    let differ = |count: &usize| {
        let long: BTreeSet<String> = files.iter().map(|file| long(name, *file, *count)).collect();
        long.len() == files.len()
    };
    let most = most.unwrap_or_default();
    let least = (0..most).find(differ).unwrap_or(most);
    long(name, one.file.as_deref(), least)
}

/// A name, prefixed by the last folders of its file's path.
fn long(name: &str, file: Option<&Path>, count: usize) -> String {
    let folders = file.map(folders).unwrap_or_default();
    let shown = &folders[folders.len().saturating_sub(count)..];
    let parts = shown.iter().map(String::as_str).chain([name]);
    parts.collect::<Vec<_>>().join("/")
}

/// The folders in a file's path, as they are spelled there.
fn folders(file: &Path) -> Vec<String> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let parts = folder.components().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => {
            Some(part.as_os_str().to_string_lossy().into_owned())
        }
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    });
    parts.collect()
}
