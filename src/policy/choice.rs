//! How a closed choice is declared: an enum, the words that a policy writes for it, and what each of them means.
//!
//! One macro, so that the enum and the words that errors and the schema list can never disagree.

/// A word that a policy may write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Word {
    /// The word.
    pub(super) name: &'static str,
    /// What it means: the documentation of its variant, lines with blanks around them.
    pub(super) doc: &'static str,
}

impl Word {
    /// What it means, on one line.
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

/// Declares an enum whose variants a policy writes as the given words.
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
