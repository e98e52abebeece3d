//! Both forms of one replay.
