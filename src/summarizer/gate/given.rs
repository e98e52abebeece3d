//! What the writer of a summary was given, for looking names up in it.
//!
//! PURE. Letters are compared without their case: `Range.intersectsNode` is no invention where `range.intersectsNode` was read.

use std::collections::BTreeSet;

use memchr::memmem;

use super::checked_names;

/// Texts in which names are looked up.
#[derive(Debug)]
pub struct Given(String, Naming);

/// Whether what is said of the texts has to name something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    Needed,
    NotNeeded,
}

impl Given {
    /// These texts.
    pub fn new<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Self {
        let mut all = String::new();
        for text in texts {
            all.push_str(text.as_ref());
            // No name goes across two texts.
            all.push('\n');
        }
        all.make_ascii_lowercase();
        Given(all, Naming::Needed)
    }

    /// Those of one part of a conversation, which may be told without a name: the summary of all parts has to name something.
    pub fn of_part<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Self {
        let Given(all, _) = Given::new(texts);
        Given(all, Naming::NotNeeded)
    }

    /// The size of the texts, in bytes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the texts have at least so many different names, and what is said of them needs one.
    pub(super) fn needs_name(&self, least: usize) -> bool {
        if self.1 == Naming::NotNeeded {
            return false;
        }
        let mut names = BTreeSet::new();
        let mut rest = &self.0[..];
        // The first names suffice: a record can be long.
        while names.len() < least && !rest.is_empty() {
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            names.extend(checked_names(&rest[..end]));
            rest = &rest[end..];
        }
        names.len() >= least
    }

    /// Whether a name is in the texts, and not as a part of a longer word.
    pub(super) fn has(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        if self.has_word(&name) {
            return true;
        }
        // `gqc.1-3`: the first of a range.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if let Some((first, last)) = name.rsplit_once('-')
            && is_number(last)
            && first.ends_with(|c: char| c.is_ascii_digit())
        {
            return self.has_word(first);
        }
        is_words(&name) && !self.has_folder(&name)
    }

    fn has_word(&self, name: &str) -> bool {
        let bytes = self.0.as_bytes();
        let is_in_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let inside = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(is_in_word);
        let mut found = memmem::find_iter(bytes, name.as_bytes());
        // A name that begins or ends with a mark has its edge there.
        let (first, last) = (
            name.starts_with(|c: char| c.is_alphanumeric()),
            name.ends_with(|c: char| c.is_alphanumeric()),
        );
        found.any(|at| {
            !(first && inside(at.checked_sub(1)) || last && inside(Some(at + name.len())))
        })
    }

    /// Whether the first two parts of a path are a folder of the texts.
    fn has_folder(&self, path: &str) -> bool {
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        let second = slashes.nth(1);
        second.is_some_and(|end| self.has_word(&path[..=end]))
    }
}

/// Words around slashes, such as `compiled/tested/committed`: what could be a path, and has neither a root nor an extension.
fn is_words(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    name.contains('/')
        && !name.starts_with(['/', '~'])
        && !name.contains("://")
        && !last.contains('.')
}
