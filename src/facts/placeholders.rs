//! Recognises the texts that an earlier compaction left in the place of results.

use super::{beginning, block_text};
use crate::error::Result;
use crate::policy::{Policy, Replacement, Template, presets};
use crate::transcript::{Block, BlockKind, Transcript};

/// The texts that compaction leaves in the place of results: those of a policy and of all presets, since an earlier run may have
/// used another policy.
#[derive(Debug, Clone, Default)]
pub struct Placeholders {
    texts: Vec<Template>,
    /// The first byte of each, after blanks; `None` if not all of them have one before the first substitution.
    begins: Option<Vec<u8>>,
}

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
        // An empty one stands for nothing, but every text begins like it.
        let mut texts: Vec<Template> = texts.filter(|text| !text.is_empty()).cloned().collect();
        texts.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        texts.dedup();
        let first = |text: &Template| text.prefix().trim_start().bytes().next();
        let begins: Option<Vec<u8>> = texts.iter().map(first).collect();
        let begins = begins.map(|mut begins| {
            begins.sort_unstable();
            begins.dedup();
            begins
        });
        Ok(Placeholders { texts, begins })
    }

    /// Whether a block is a result whose content has been replaced.
    pub fn stand_for(&self, transcript: &Transcript<'_>, block: &Block) -> bool {
        if block.kind != BlockKind::Result || self.begins_otherwise(transcript, block) {
            return false;
        }
        let begins = beginning(transcript, block, BEGINNING);
        let begins_alike = |text: &&Template| {
            let prefix = text.prefix().trim_start();
            let mut both = prefix.chars().zip(begins.chars());
            both.all(|(own, said)| own == said)
        };
        let mut alike = self.texts.iter().filter(begins_alike).peekable();
        if alike.peek().is_none() {
            return false;
        }
        let said = block_text(transcript, block);
        alike.any(|text| text.matches(&said).is_some())
    }

    /// Whether the first byte of a result that is no space shows that it is none of the texts. Nothing is unescaped for that, so it
    /// decides only where that byte is a visible character.
    fn begins_otherwise(&self, transcript: &Transcript<'_>, result: &Block) -> bool {
        let Some(begins) = &self.begins else {
            return false;
        };
        let first = transcript.texts(result).first();
        let first = first.and_then(|text| {
            let mut bytes = transcript.bytes(result.line, text.span).iter();
            bytes.find(|byte| **byte != b' ')
        });
        first.is_some_and(|first| {
            first.is_ascii_graphic() && *first != b'\\' && !begins.contains(first)
        })
    }
}
