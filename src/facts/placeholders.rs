//! Recognises the texts that an earlier compaction left in the place of results.

use super::{beginning, block_text};
use crate::error::Result;
use crate::policy::{Policy, Replacement, Template, presets};
use crate::transcript::{Block, BlockKind, Transcript};

/// The texts that compaction leaves in the place of results: those of a policy and of all presets, since an earlier run may have
/// used another policy.
#[derive(Debug, Clone, Default)]
pub struct Placeholders(Vec<Template>);

/// How much of a result is looked at first, in characters: hardly any result begins like a placeholder, and some have megabytes.
const BEGINNING: usize = 24;

impl Placeholders {
    /// The texts of `policy` and of all presets.
    ///
    /// # Errors
    /// None in a build that passes its tests.
    pub fn of(policy: &Policy) -> Result<Self> {
        let shipped = presets()?;
        let policies = shipped.iter().chain([policy]);
        let texts = policies.flat_map(|policy| Replacement::ALL.map(|kind| kind.template(policy)));
        // Without this, every result would begin like one that a policy leaves empty, and be read as a whole.
        let texts = texts.filter(|text| !text.as_str().is_empty());
        let mut texts: Vec<Template> = texts.cloned().collect();
        texts.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        texts.dedup();
        Ok(Placeholders(texts))
    }

    /// Whether a block is a result whose content has been replaced.
    pub fn stand_for(&self, transcript: &Transcript<'_>, block: &Block) -> bool {
        if block.kind != BlockKind::Result {
            return false;
        }
        let begins = beginning(transcript, block, BEGINNING);
        let begins_alike = |text: &&Template| {
            let prefix = text.prefix().trim_start();
            let mut both = prefix.chars().zip(begins.chars());
            both.all(|(own, said)| own == said)
        };
        let mut alike = self.0.iter().filter(begins_alike).peekable();
        if alike.peek().is_none() {
            return false;
        }
        let said = block_text(transcript, block);
        alike.any(|text| text.matches(&said).is_some())
    }
}
