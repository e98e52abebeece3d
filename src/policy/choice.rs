//! Declares a closed choice: an enum, the words that a policy writes for it, and the meaning of each.
//!
//! A single macro, so that the enum can never disagree with the words in errors and in the schema.

/// A word that a policy may write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Word {
    /// The word.
    pub(super) name: &'static str,
    /// Its meaning: the documentation of its variant, as lines with surrounding blanks.
    pub(super) doc: &'static str,
}

impl Word {
    /// Its meaning, on one line.
    pub(super) fn doc(&self) -> String {
        let lines: Vec<&str> = self.doc.lines().map(str::trim).collect();
        lines.join(" ")
    }
}

/// An enum whose variants are words of a policy.
pub(super) trait Choice: Copy {
    /// Every word, in the order of the variants.
    const WORDS: &'static [Word];
}

/// Declares an enum whose variants are written as the given words in a policy.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every choice.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word that a policy writes for this.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl $crate::policy::choice::Choice for $name {
            const WORDS: &'static [$crate::policy::choice::Word] = &[
                $($crate::policy::choice::Word { name: $word, doc: concat!($($doc, "\n"),+) },)+
            ];
        }
    };
}

pub(super) use choice;
