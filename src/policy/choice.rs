//! How a closed choice is declared: an enum, its words in a policy, and the list of those words.
//!
//! One macro, so that the enum and the list that errors print can never disagree.

/// Declares an enum whose variants a policy writes as the given words.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every word a policy may write here, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The word a policy writes for this.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }
    };
}

pub(super) use choice;
