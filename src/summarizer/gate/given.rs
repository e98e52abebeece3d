//! The input of a summary's writer, for looking up names in it.
//!
//! PURE. Comparisons ignore case: `Range.intersectsNode` is not an invention if `range.intersectsNode` was in the input.

use std::collections::BTreeSet;

use memchr::memmem;

use super::checked_names;

/// Texts with fewer names may have a summary without any.
const FEW_NAMES: usize = 10;

/// Texts in which names are looked up.
#[derive(Debug)]
pub struct Given(String, Naming);

/// Whether a summary of the texts has to contain a name.
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
            // No name spans two texts.
            all.push('\n');
        }
        all.make_ascii_lowercase();
        Given(all, Naming::Needed)
    }

    /// The texts of one part of a conversation, whose summary may lack names: only the summary of all parts must contain one.
    pub fn of_part<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Self {
        let Given(all, _) = Given::new(texts);
        Given(all, Naming::NotNeeded)
    }

    /// The size of the texts, in bytes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the texts have so many different names that a summary of them needs one.
    pub(super) fn needs_name(&self) -> bool {
        if self.1 == Naming::NotNeeded {
            return false;
        }
        let mut names = BTreeSet::new();
        let mut rest = &self.0[..];
        // Stops after enough names, since a record can be long.
        while names.len() < FEW_NAMES && !rest.is_empty() {
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            names.extend(checked_names(&rest[..end]));
            rest = &rest[end..];
        }
        names.len() >= FEW_NAMES
    }

    /// Whether a name occurs in the texts other than as part of a longer word.
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

/// Whether a name is only words around slashes, such as `compiled/tested/committed`: it could be a path but has neither a root nor
/// an extension.
fn is_words(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    name.contains('/')
        && !name.starts_with(['/', '~'])
        && !name.contains("://")
        && !last.contains('.')
}
