//! The end of an input: its result is written and recorded, then takes its name, then is reported.
//!
//! The record comes before the name, so that any output that has its name can be undone. Decides nothing about content.

use std::collections::BTreeMap;
use std::path::Path;

use super::work::{Job, Work};
use super::{Input, Processed, Run, Sink};
use crate::batch::input::Codec;
use crate::batch::pour::pack;
use crate::batch::resume::ResumeNote;
use crate::batch::target::resolve_link;
use crate::batch::{Effect, Source, emitted};
use crate::error::{Error, Result};
use crate::format::{Detected, Layout};
use crate::outcome::{Original, OriginalKind, Outcome, Phase, Warning, WarningKind, path_text};
use crate::pipeline::Compacted;
use crate::store::atomic::{Written, lost_of_the_file};
use crate::store::manifest;

/// The most conversations of a file whose original sizes its record notes. If there are more, or one on each line (the hash of such
/// a file is known too late), their summaries state their original sizes.
const MOST_NOTED: usize = 1_000;

impl Run<'_> {
    /// Writes the result of a whole file; a compressed input that does not change is copied byte for byte. Returns the size of its
    /// text in bytes.
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
        match input.codec {
            Codec::Plain if compacted.is_shared() => sink.put_large(|| compacted.pieces())?,
            codec => pack(compacted.pieces(), codec, sink)?,
        }
        Ok(compacted.pieces().map(|piece| piece.len() as u64).sum())
    }
}

impl Work<'_> {
    /// An input for which nothing is written, because one of its summaries failed.
    pub(super) fn without_summary(self, error: &Error) -> Processed {
        let before = self.before();
        let warnings = self.warnings.finish();
        let outcome = self.sum.outcome(self.detected, warnings, before);
        let outcome = outcome.without_summary(self.job.path, error);
        Processed::nothing_left(outcome, self.input.seen)
    }

    /// Records the result, gives the output its name, and reports both.
    pub(super) fn finish(mut self) -> Result<Processed> {
        let run = self.job.run;
        let clock = run.options.clock();
        let (seen, origin) = (self.input.seen, std::mem::take(&mut self.origin));
        let mut laps = std::mem::take(&mut self.laps);
        let (mut outcome, contents) = if self.has_output() {
            self.written()?
        } else {
            (self.without_output(), Vec::new())
        };
        laps.lap(clock, Phase::Write);
        outcome.file.project = origin.project.map(|project| run.masked(project));
        outcome.file.last_message = origin.last_message;
        outcome.file.timings = laps.timings(clock);
        Ok(Processed {
            outcome,
            left: ResumeNote { contents, seen },
        })
    }

    /// Whether there is something to write.
    fn has_output(&self) -> bool {
        let options = self.job.run.options;
        let is_unsupported = matches!(self.detected, Detected::Unsupported(_));
        let is_not_emitted = options.emit.is_some() && is_unsupported;
        // A fork of a session that is not changed would only duplicate it, and be the latest one.
        let needs_change = self.job.run.is_in_place() || options.fork.is_some();
        !(self.sum.waits || needs_change && !self.sum.changed || is_not_emitted)
    }

    /// The outcome if nothing had been done.
    fn before(&self) -> Outcome {
        let (hash, _) = self.input.hash();
        let stored = self.input.stored_bytes();
        Outcome {
            stored_before: stored,
            stored_after: stored,
            ..Outcome::unchanged(self.job.path, self.input.text_bytes(), hash.as_str())
        }
    }

    fn without_output(self) -> Outcome {
        let before = self.before();
        let waits = self.sum.waits;
        let warnings = self.warnings.finish();
        let outcome = Outcome {
            original: Some(Original {
                kind: OriginalKind::Input,
                path: path_text(self.job.path),
            }),
            ..self.sum.outcome(self.detected, warnings, before)
        };
        if waits { outcome.waiting() } else { outcome }
    }

    /// The outcome of an input whose output now has its name, and the names of its contents in the store.
    fn written(mut self) -> Result<(Outcome, Vec<String>)> {
        let Job { run, target, .. } = self.job;
        let written = self.sink.written()?;
        let archive = run.archive(target, &mut self.input, &self.sum)?;
        let mut contents: Vec<String> = archive.iter().cloned().collect();
        contents.extend_from_slice(&self.sum.offloads);
        contents.extend_from_slice(&self.sum.copies);
        let mut cleaned = Vec::new();
        if run.is_in_place() {
            let effect = run.options.effect;
            cleaned = run.releases.add(target, &mut self.sum, effect)?;
            // A name that outlives a power cut must not outlive its bytes.
            self.sink.sync()?;
        }
        let before = self.before();
        let original = self.record(&written, archive, cleaned)?;
        let lost = self.sink.commit()?;
        if !lost.is_empty() {
            self.sum.warnings.push(Warning {
                kind: WarningKind::AttributesLost,
                line: None,
                message: lost_of_the_file(&lost),
            });
        }
        let output = target
            .output()
            .as_deref()
            .map_or_else(|| "-".to_owned(), path_text);
        let after = Outcome {
            hash_after: Some(written.hash),
            bytes_after: self.text_after.unwrap_or(written.bytes),
            stored_after: before.stored_before.map(|_| written.bytes),
            ..before
        };
        let warnings = self.warnings.finish();
        let outcome = Outcome {
            output: Some(output),
            original,
            ..self.sum.outcome(self.detected, warnings, after)
        };
        Ok((outcome, contents))
    }

    /// The live tokens before anything was compacted, if the target is a share of them; numbers noted by an earlier run count if
    /// they are larger.
    fn originals(&mut self) -> BTreeMap<String, u64> {
        let mut originals = std::mem::take(&mut self.originals);
        let is_file = matches!(self.detected, Detected::Known(_, Layout::File));
        let conversations = &self.sum.conversations;
        if !is_file || !self.job.run.goal.is_share() || conversations.len() > MOST_NOTED {
            return originals;
        }
        for conversation in conversations {
            let most = originals.entry(conversation.id.clone()).or_insert(0);
            *most = conversation.tokens_before.max(*most);
        }
        originals
    }

    /// Records what the output was made from, before it gets its name.
    fn record(
        &mut self,
        written: &Written,
        archive: Option<String>,
        cleaned: Vec<manifest::ArchivedOffload>,
    ) -> Result<Option<Original>> {
        let Job { run, target, .. } = self.job;
        let path = target.input_path();
        let is_file = *target.source != Source::Stdin;
        let original = match &archive {
            Some(name) => Some(Original {
                kind: OriginalKind::Archive,
                path: name.clone(),
            }),
            None => is_file.then(|| Original {
                kind: OriginalKind::Input,
                path: path_text(path),
            }),
        };
        let (Some(kept), Effect::Write) = (&target.store, run.options.effect) else {
            return Ok(original);
        };
        let originals = self.originals();
        let name = |path: &Path| kept.store.name_of(path);
        let (input_hash, input_bytes) = self.input.hash();
        kept.record(&manifest::Record {
            output: target
                .file()
                .map_or_else(|| Ok("-".to_owned()), |file| name(&file))?,
            output_hash: written.hash.clone(),
            output_bytes: written.bytes,
            input: match (is_file, run.is_in_place()) {
                (true, true) => name(&resolve_link(path))?,
                (true, false) => name(path)?,
                (false, _) => "-".to_owned(),
            },
            input_hash,
            input_bytes,
            original: match (&run.options.fork, &archive) {
                (Some(_), _) => manifest::Original::Fork,
                (None, None) => manifest::Original::Input,
                (None, Some(_)) => manifest::Original::Archive,
            },
            archive,
            offloads: self.sum.offloads.clone(),
            copies: self.sum.copies.clone(),
            cleaned,
            originals,
            failed_summaries: self.sum.failed_summaries(),
            policy_hash: run.policy_hash.to_owned(),
            sequence: 0,
            overlaps: None,
        })?;
        Ok(original)
    }
}
