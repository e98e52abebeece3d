//! Maps and sets keyed by ids from a transcript.
//!
//! Every id is looked up several times on the way of a transcript, and the standard hasher is a fifth of that way. This one is
//! fast and still seeded, so that ids made to collide do not. Never iterated where order could reach an output.

use foldhash::fast::RandomState;

/// A map keyed by ids.
pub(crate) type IdMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A set of ids.
pub(crate) type IdSet<K> = std::collections::HashSet<K, RandomState>;
