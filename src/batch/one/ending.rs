//! The end of an input: its result is written and recorded, then takes its name, then is reported.
//!
//! The record comes before the name, so that whatever has the name can be undone. Decides nothing about content.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Input, Run, Sink, Sum};
use crate::batch::input::Codec;
use crate::batch::pour::pack;
use crate::batch::target::resolve_link;
use crate::batch::{Effect, Source, Target, emitted};
use crate::error::{Error, Result};
use crate::format::{Detected, Layout, LineWarning, Warnings};
use crate::outcome::{Original, OriginalKind, Outcome, Warning, WarningKind, path_text};
use crate::pipeline::Compacted;
use crate::store::atomic::{Written, lost_of_the_file};
use crate::store::manifest;

/// The most conversations of a file whose original sizes its record notes. Where there are more, or one on each line (the hash of
/// such a file is known too late), their summaries say how large they were.
const MOST_NOTED: usize = 1_000;

impl Run<'_> {
    /// Writes a whole file's result; a compressed input that stays as it is stays so to the byte. Gives the bytes of its text.
    pub(super) fn put(
        &self,
        compacted: &mut Compacted<'_>,
        detected: &Detected,
        input: &Input<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<u64> {
        if let (Some(messages), &Detected::Known(format, layout)) = (self.options.emit, detected) {
            let lines = emitted::lines(compacted, (format, layout), messages);
            pack(std::iter::once(lines.as_slice()), input.codec, sink)?;
            return Ok(lines.len() as u64);
        }
        if let Some(fork) = &self.options.fork {
            let renamed = fork.renamed(fork.check(detected)?, compacted.pieces());
            pack(std::iter::once(renamed.as_slice()), input.codec, sink)?;
            return Ok(renamed.len() as u64);
        }
        if input.codec != Codec::Plain && !compacted.is_changed() {
            sink.put(&input.raw)?;
            return Ok(input.text_bytes());
        }
        pack(compacted.pieces(), input.codec, sink)?;
        Ok(compacted.pieces().map(|piece| piece.len() as u64).sum())
    }

    /// An input of which nothing is written, because a summary of it failed.
    pub(super) fn unsummarised(
        &self,
        path: &Path,
        detected: Detected,
        input: &Input<'_>,
        sum: Sum,
        warnings: Warnings,
        error: &Error,
    ) -> Outcome {
        let (hash, _) = input.hash();
        let stored = input.stored_bytes();
        let before = Outcome {
            stored_before: stored,
            stored_after: stored,
            ..Outcome::unchanged(path, input.text_bytes(), hash.as_str())
        };
        let outcome = sum.outcome(detected, warnings.finish(), before);
        outcome.without_summary(path, error)
    }

    pub(super) fn finish(
        &self,
        target: &Target,
        path: &Path,
        (detected, mut input): (Detected, Input<'_>),
        mut sink: Sink<'_>,
        (mut sum, originals): (Sum, BTreeMap<String, u64>),
        (text_after, warnings): (Option<u64>, Vec<LineWarning>),
    ) -> Result<(Outcome, Vec<String>)> {
        let (hash, bytes) = input.hash();
        let (text_before, stored) = (input.text_bytes(), input.stored_bytes());
        let before = Outcome {
            stored_before: stored,
            stored_after: stored,
            ..Outcome::unchanged(path, text_before, hash.as_str())
        };
        let is_not_emitted =
            self.options.emit.is_some() && matches!(detected, Detected::Unsupported(_));
        // A fork of what is not changed would be the session once more, and the latest one.
        let needs_change = self.is_in_place() || self.options.fork.is_some();
        if sum.waits || needs_change && !sum.changed || is_not_emitted {
            let original = Original {
                kind: OriginalKind::Input,
                path: path_text(path),
            };
            let waits = sum.waits;
            let outcome = Outcome {
                original: Some(original),
                ..sum.outcome(detected, warnings, before)
            };
            let outcome = if waits { outcome.waiting() } else { outcome };
            return Ok((outcome, Vec::new()));
        }
        let written = sink.written()?;
        let archive = self.archive(target, &mut input, &sum)?;
        let mut contents: Vec<String> = archive.iter().cloned().collect();
        contents.extend_from_slice(&sum.offloads);
        contents.extend_from_slice(&sum.copies);
        let cleaned = if self.is_in_place() {
            self.releases.add(target, &mut sum, self.options.effect)?
        } else {
            Vec::new()
        };
        if self.is_in_place() {
            // A name that outlives a power cut must not outlive its bytes.
            sink.sync()?;
        }
        let original = self.record(
            target,
            (hash, bytes),
            &written,
            archive,
            (&sum, cleaned),
            self.originals(&detected, &sum, originals),
        )?;
        let lost = sink.commit()?;
        if !lost.is_empty() {
            sum.warnings.push(Warning {
                kind: WarningKind::AttributesLost,
                line: None,
                message: lost_of_the_file(&lost),
            });
        }
        let output = target
            .output()
            .as_deref()
            .map_or_else(|| "-".to_owned(), path_text);
        let outcome = Outcome {
            output: Some(output),
            original,
            ..sum.outcome(
                detected,
                warnings,
                Outcome {
                    hash_after: Some(written.hash),
                    bytes_after: text_after.unwrap_or(written.bytes),
                    stored_after: stored.map(|_| written.bytes),
                    ..before
                },
            )
        };
        Ok((outcome, contents))
    }

    /// The live tokens before anything was compacted, where the target is a share of them; `known` are those that an earlier
    /// run has written down.
    fn originals(
        &self,
        detected: &Detected,
        sum: &Sum,
        mut known: BTreeMap<String, u64>,
    ) -> BTreeMap<String, u64> {
        let is_file = matches!(detected, Detected::Known(_, Layout::File));
        if !is_file || !self.goal.is_share() || sum.conversations.len() > MOST_NOTED {
            return known;
        }
        for conversation in &sum.conversations {
            let most = known.entry(conversation.id.clone()).or_insert(0);
            *most = conversation.tokens_before.max(*most);
        }
        known
    }

    /// Writes down what the output came from, before it takes its name.
    fn record(
        &self,
        target: &Target,
        (input_hash, input_bytes): (String, u64),
        written: &Written,
        archive: Option<String>,
        (sum, cleaned): (&Sum, Vec<manifest::Cleaned>),
        originals: BTreeMap<String, u64>,
    ) -> Result<Option<Original>> {
        let path = target.input_path();
        let input = Original {
            kind: OriginalKind::Input,
            path: path_text(path),
        };
        let from_file = *target.source != Source::Stdin;
        let original = match &archive {
            Some(name) => Some(Original {
                kind: OriginalKind::Archive,
                path: name.clone(),
            }),
            None => from_file.then_some(input),
        };
        let (Some(kept), Effect::Write) = (&target.store, self.options.effect) else {
            return Ok(original);
        };
        let name = |path: &Path| kept.store.name_of(path);
        kept.record(&manifest::Record {
            output: target
                .file()
                .map_or_else(|| Ok("-".to_owned()), |file| name(&file))?,
            output_hash: written.hash.clone(),
            output_bytes: written.bytes,
            input: if from_file {
                name(&if self.is_in_place() {
                    resolve_link(path)
                } else {
                    path.to_owned()
                })?
            } else {
                "-".to_owned()
            },
            input_hash,
            input_bytes,
            original: match (&self.options.fork, &archive) {
                (Some(_), _) => manifest::Original::Fork,
                (None, None) => manifest::Original::Input,
                (None, Some(_)) => manifest::Original::Archive,
            },
            archive,
            offloads: sum.offloads.clone(),
            copies: sum.copies.clone(),
            cleaned,
            originals,
            failed_summaries: sum.failed_summaries(),
            policy_hash: self.policy_hash.to_owned(),
            sequence: 0,
            overlaps: None,
        })?;
        Ok(original)
    }
}
