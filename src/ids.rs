//! Maps and sets keyed by ids from a transcript.
//!
//! Every id of a transcript is looked up several times, and the standard hasher would take a fifth of the total time. This one is
//! fast and still seeded, so that nobody can craft ids that collide. Never iterated where the order could affect the output.

use foldhash::fast::RandomState;

/// A map keyed by ids.
pub(crate) type IdMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A set of ids.
pub(crate) type IdSet<K> = std::collections::HashSet<K, RandomState>;
