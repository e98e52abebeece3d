//! A policy: when and how a conversation is made smaller, as data.

mod template;

pub use template::{Slot, Substitutions, Template};
