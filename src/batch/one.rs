//! One input from its first byte to its outcome.
//!
//! Store and record are written before the output takes its name, so whatever ends the run, what the output names can be
//! found and the output can be undone.

mod ending;
mod kept;
mod outputs;
mod record;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::budget::Reservation;
use super::clean::Releases;
use super::detected::{Recognised, detect};
use super::emitted;
use super::hooks::PreHook;
use super::input::{Codec, Input};
use super::origin::SessionOrigin;
use super::pour::{Output, copy, each_line, pack};
use super::refusal::Refusal;
use super::resume::ResumeNote;
use super::retry::original;
use super::sink::Sink;
use super::strict::BadLines;
use super::sum::Sum;
use super::{Destination, Effect, Options, Scope, Source, Target};
use crate::artifacts::SummaryModel;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Detector, Layout, Warnings};
use crate::outcome::{Degraded, DegradedKind, Laps, Outcome, Phase, Warning, WarningKind};
use crate::pipeline::{self, Compacted, Part, Pipeline, Stored};
use crate::plan::Keeping;
use crate::policy::{self, Archive, Effective, Layer, Names, OnFailure, Policy, Redact};
use crate::redact::Redactor;
use crate::scan::NO_STRINGS;
use crate::store::atomic::FileVersion;
use crate::store::{FOLDER, FileIdentity, open_transcript};
use crate::summarizer::extractive::WEIGHTS;

/// What all inputs of a run share.
pub(super) struct Run<'r> {
    policy_hash: &'r str,
    keeping: Pipeline<'r>,
    /// For outputs that no store belongs to.
    streaming: Pipeline<'r>,
    /// Whether summaries need a store for the original.
    needs_archive: bool,
    /// Whether the policy keeps the original of what it summarises.
    keeps_original: bool,
    /// Whether summaries name a copy of it.
    names_archive: bool,
    /// How texts name what is in the store.
    names: Names,
    /// How small the conversations are to be.
    goal: &'r policy::Target,
    /// What masks secrets, if outputs are to have none; the report has none then, either.
    redactor: Option<Redactor>,
    pub(super) releases: Releases,
    /// Whether the server accepts requests.
    refusal: &'r Refusal,
    /// What becomes of a file without a summary.
    failure: OnFailure,
    pub(super) options: &'r Options,
}

/// What surrounds an input that is compacted.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputContext<'s> {
    pub(super) before: &'s PreHook<'s>,
    /// Who asks for summaries: see [`ModelRequest::asker`](crate::artifacts::ModelRequest::asker).
    pub(super) asker: Option<&'s str>,
}

/// An input that is finished.
pub(super) struct Processed {
    pub(super) outcome: Outcome,
    /// What a later run of the same command needs to know of it.
    pub(super) left: ResumeNote,
}

impl Processed {
    /// An input of which nothing was written.
    fn nothing_left(outcome: Outcome, seen: Option<FileIdentity>) -> Self {
        let contents = Vec::new();
        let left = ResumeNote { contents, seen };
        Processed { outcome, left }
    }
}

/// What masks secrets in outputs, if the policy wants that.
fn redactor(policy: &Policy) -> Result<Option<Redactor>> {
    let redactor = match policy.redact {
        Redact::Outputs => Some(Redactor::new()),
        Redact::Requests | Redact::Never => None,
    };
    let failed = |e| Error::new(ErrorKind::Internal, format!("cannot look for secrets: {e}"));
    redactor.transpose().map_err(failed)
}

/// Whether summaries need a copy of the original in the store, because the policy wants one or the summaries name it.
pub(crate) fn needs_archive(policy: &Policy) -> bool {
    let is_wanted = policy.archive == Archive::Always || policy.summary.names_archive();
    policy.has(Layer::Summarize) && is_wanted
}

impl<'r> Run<'r> {
    pub(super) fn new(
        effective: &'r Effective,
        options: &'r Options,
        server: Option<&'r dyn SummaryModel>,
        refusal: &'r Refusal,
    ) -> Result<Self> {
        let policy = &effective.policy;
        let pipeline = |keeping| {
            let pipeline = Pipeline::asking(policy, keeping, server)?;
            let pipeline = pipeline.with_replies(options.replies.clone());
            let pipeline = pipeline.switched_off_by(effective.origin_of("summary.when"));
            Ok::<_, Error>(pipeline.timed(options.clock()))
        };
        Ok(Run {
            policy_hash: &effective.hash,
            keeping: pipeline(Keeping::Store)?,
            streaming: pipeline(Keeping::Nothing)?,
            needs_archive: needs_archive(policy),
            keeps_original: policy.has(Layer::Summarize) && policy.archive == Archive::Always,
            names_archive: policy.has(Layer::Summarize) && policy.summary.names_archive(),
            names: options.names(policy),
            goal: &policy.target,
            redactor: redactor(policy)?,
            releases: Releases::default(),
            refusal,
            failure: policy.summary.on_failure,
            options,
        })
    }

    fn pipeline(&self, target: &Target) -> &Pipeline<'r> {
        if target.store.is_some() {
            &self.keeping
        } else {
            &self.streaming
        }
    }

    /// The result of a transcript; that of a format of which nothing is compacted is the transcript itself.
    fn result<'a>(
        &self,
        target: &Target,
        part: pipeline::Input<'a, '_>,
        warnings: &mut Warnings,
    ) -> Result<Compacted<'a>> {
        Ok(match part.format.is_compacted() {
            true => self.pipeline(target).compact(part, warnings),
            false => emitted::reading()?.compact(part, warnings),
        })
    }

    /// Compacts one input into its output.
    ///
    /// # Errors
    /// Whatever keeps the input from being read or the output from being written; nothing is left half done then.
    pub(super) fn compact(
        &self,
        target: &Target,
        share: Reservation<'_>,
        context: InputContext<'_>,
    ) -> Result<Processed> {
        let path = target.input_path();
        let laps = Laps::start(self.options.clock());
        self.may_begin(target)?;
        // Opened once, for its bytes and for who may read it; what is wrong with the output is said first.
        let opened = match target.source {
            Source::File(_) => Some(target.open_input()),
            Source::Stdin => None,
        };
        let (sink, overwrite_warning) = if self.is_in_place() {
            // Most files of a second run stay as they are; those are not touched.
            (Sink::nothing(&self.options.stop), None)
        } else {
            let opened = opened.as_ref().and_then(|opened| opened.as_ref().ok());
            self.open_output(target, opened)?
        };
        let stop = &self.options.stop;
        let retried_original = self.retried_original(target)?;
        let input = match &retried_original {
            None => match opened {
                Some(opened) => Input::of_file(opened?, path, stop, share)?,
                None => Input::open(target.source, path, stop, share)?,
            },
            Some((bytes, stamp)) => {
                let mut input = Input::of_bytes(bytes, path, stop, share)?;
                input.stamp = Some(stamp.clone());
                input
            }
        };
        let mut worked = self.process(target, path, input, sink, context, laps)?;
        let overwrite_warning = overwrite_warning.filter(|_| worked.outcome.output.is_some());
        worked.outcome.warnings.extend(overwrite_warning);
        Ok(worked)
    }

    /// Fails where nothing can be compacted, whatever the input is.
    fn may_begin(&self, target: &Target) -> Result<()> {
        if self.options.stop.load(Ordering::Relaxed) != 0 {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
        }
        self.refusal.check()?;
        if self.needs_archive && target.store.is_none() {
            return Err(Error::new(
                ErrorKind::Usage,
                "the policy archives the original, and a stream has no store to put it in",
            )
            .hint("name a folder with --store DIR, or keep no copy with --set archive=auto"));
        }
        Ok(())
    }

    /// An open input into its output; `path` is what the report calls it.
    fn process<'s>(
        &self,
        target: &Target,
        path: &Path,
        mut input: Input<'_>,
        mut sink: Sink<'s>,
        context: InputContext<'_>,
        mut laps: Laps,
    ) -> Result<Processed>
    where
        'r: 's,
    {
        let InputContext { before, asker } = context;
        let clock = self.options.clock();
        if let (Source::Stdin, Some(kept), Effect::Write) =
            (target.source, &target.store, self.options.effect)
        {
            // What came by a stream cannot be read again.
            let archive = kept.store.archive()?;
            let mut archive = match sink.is_memory() {
                // Nothing is replaced, and to flush each record of a stream takes ten times as long as all the rest.
                true => archive.lazy(),
                false => archive,
            };
            archive
                .write_all(input.so_far())
                .map_err(|e| Error::io(path, "keep a copy", e))?;
            input.copy = Some(archive);
        }
        let seen = input.seen;
        let Recognised {
            detected,
            doubt,
            strings,
        } = detect(&mut input, self.options.format)?;
        let detected = emitted::taken(detected, self.options.emit);
        if let Some(fork) = &self.options.fork {
            fork.check(&detected)?;
        }
        let folder = target.store_path(self.names);
        let folder = folder.as_deref();
        let mut origin = SessionOrigin::default();
        let mut originals = BTreeMap::new();
        let mut warnings = Warnings::default();
        let mut sum = Sum::default();
        sum.warnings.extend(doubt.map(|message| Warning {
            kind: WarningKind::OtherFormat,
            line: None,
            message,
        }));
        // The uncompressed size of a compressed output; `None` if the output is not compressed.
        let mut text_after = input.stored_bytes().map(|_| input.text_bytes());
        match &detected {
            Detected::Unsupported(_) if self.redactor.is_some() => {
                return Err(Error::new(
                    ErrorKind::Config,
                    "cannot mask secrets: this format is not supported",
                )
                .hint("leave the file out, or run without --redact outputs"));
            }
            Detected::Unsupported(_) => {
                if self.options.emit.is_some() {
                    // What is there in its place would be no messages.
                    sink = Sink::nothing(&self.options.stop);
                }
                if self.options.bad_lines == BadLines::Fail {
                    input.rest()?;
                    self.options.bad_lines.check(&detected, &input.buffer)?;
                }
                copy(&mut input, &mut sink)?;
            }
            &Detected::Known(format, Layout::File) => {
                input.rest()?;
                self.options.bad_lines.check(&detected, &input.buffer)?;
                let copy = self.copied(&input.buffer);
                let archive = copy.as_ref().map(|copy| copy.path(folder));
                if self.goal.is_share() {
                    originals = target.originals(&input.hash().0)?;
                }
                let part = pipeline::Input {
                    format,
                    bytes: &input.buffer,
                    strings: &strings,
                    first_line: 1,
                    part: Part::File,
                    stored: Stored {
                        folder: folder.unwrap_or(FOLDER),
                        archive: archive.as_deref(),
                        asker,
                        ..target.stored(&originals)
                    },
                    instruction_source: Some(before),
                    weights: &WEIGHTS,
                };
                origin = SessionOrigin::of(path, &detected, &input.buffer);
                laps.lap(clock, Phase::Read);
                let mut compacted = self.result(target, part, &mut warnings)?;
                if let Err(error) = self.check_summaries(&compacted) {
                    self.refusal.check()?;
                    sum.add(compacted);
                    let outcome = self.unsummarised(path, detected, &input, sum, warnings, &error);
                    return Ok(Processed::nothing_left(outcome, seen));
                }
                laps.skip(clock, compacted.timings.take().unwrap_or_default());
                if !compacted.waits() {
                    if compacted.is_changed() {
                        before.compacts()?;
                    }
                    if self.is_in_place() && compacted.is_changed() {
                        sink = self.open_in_place(target, &input)?;
                    }
                    let kept = self.keep(target, &compacted, folder, copy)?;
                    sum.copies.extend(kept);
                    let text = self.put(&mut compacted, &detected, &input, &mut sink)?;
                    text_after = text_after.map(|_| text);
                }
                sum.add(compacted);
            }
            &Detected::Known(format, Layout::Line) => {
                if self.is_in_place() {
                    sink = self.open_in_place(target, &input)?;
                }
                let mut is_without_summary = false;
                let each = |bytes: &[u8],
                            first_line: u64,
                            output: &mut Output<'_, '_>,
                            warnings: &mut Warnings| {
                    if self.options.format.is_none() && !Detector::reads_conversation(format, bytes)
                    {
                        if self.options.emit.is_some() {
                            warnings.not_emitted(first_line);
                            return Ok(());
                        }
                        warnings.not_understood(first_line);
                        return output.put(bytes);
                    }
                    let bad_lines = self.options.bad_lines;
                    bad_lines.check_part(format, bytes, first_line)?;
                    // The file's own hash is not known before its end; a conversation's is.
                    let copy = self.copied(bytes);
                    let archive = copy.as_ref().map(|copy| copy.path(folder));
                    let part = pipeline::Input {
                        format,
                        bytes,
                        first_line,
                        part: Part::Line,
                        stored: Stored {
                            folder: folder.unwrap_or(FOLDER),
                            archive: archive.as_deref(),
                            asker,
                            ..target.stored(&originals)
                        },
                        strings: &NO_STRINGS,
                        instruction_source: Some(before),
                        weights: &WEIGHTS,
                    };
                    laps.lap(clock, Phase::Read);
                    let mut compacted = self.result(target, part, warnings)?;
                    if let Err(error) = self.check_summaries(&compacted) {
                        sum.add(compacted);
                        is_without_summary = true;
                        return Err(error);
                    }
                    laps.skip(clock, compacted.timings.take().unwrap_or_default());
                    // The others are asked for as well, and none is written.
                    if sum.waits || compacted.waits() {
                        sum.add(compacted);
                        return Ok(());
                    }
                    if compacted.is_changed() {
                        before.compacts()?;
                    }
                    let kept = self.keep(target, &compacted, folder, copy)?;
                    sum.copies.extend(kept);
                    match self.options.emit {
                        Some(messages) => {
                            let of = (format, Layout::Line);
                            output.put(&emitted::lines(&mut compacted, of, messages))?;
                        }
                        None => compacted.pieces().try_for_each(|piece| output.put(piece))?,
                    }
                    sum.add(compacted);
                    laps.lap(clock, Phase::Write);
                    Ok(())
                };
                // What was written to a stream cannot be taken back where a hook skips the input, or the input fails.
                let may_fail = before.is_there() || self.failure == OnFailure::Fail;
                let is_final = may_fail && target.output().is_none();
                let mut output = match input.codec {
                    Codec::Plain if !is_final => Output::Now(&mut sink),
                    Codec::Plain | Codec::Gzip | Codec::Zstd => Output::Later(Vec::new()),
                };
                if let Err(error) = each_line(&mut input, &mut output, &mut warnings, each) {
                    self.refusal.check()?;
                    if !is_without_summary {
                        return Err(error);
                    }
                    // Its hash is that of all of it.
                    copy(&mut input, &mut Sink::nothing(&self.options.stop))?;
                    let outcome = self.unsummarised(path, detected, &input, sum, warnings, &error);
                    return Ok(Processed::nothing_left(outcome, seen));
                }
                if let Output::Later(text) = output {
                    text_after = text_after.map(|_| text.len() as u64);
                    let is_new = sum.changed || self.options.emit.is_some();
                    if is_new || input.codec == Codec::Plain {
                        pack(std::iter::once(text.as_slice()), input.codec, &mut sink)?;
                    } else {
                        sink.put(&input.raw)?;
                    }
                }
            }
        }
        let warnings = warnings.finish();
        let text = (text_after, warnings);
        let parts = (detected, input);
        let (mut outcome, contents) =
            self.finish(target, path, parts, sink, (sum, originals), text)?;
        laps.lap(clock, Phase::Write);
        outcome.file.project = origin.project.map(|project| self.masked(project));
        outcome.file.last_message = origin.last_message;
        outcome.file.timings = laps.timings(clock);
        Ok(Processed {
            outcome,
            left: ResumeNote { contents, seen },
        })
    }

    /// The original of a file whose summaries failed when it was compacted in place, and the state of the file as it is now.
    fn retried_original(&self, target: &Target) -> Result<Option<(Vec<u8>, FileVersion)>> {
        if self.options.scope == Scope::All || !self.is_in_place() {
            return Ok(None);
        }
        let path = target.input_path();
        let (_, metadata) = open_transcript(path)?;
        Ok(Some((original(target, path)?, FileVersion::of(&metadata))))
    }

    /// Fails where nothing may take the place of a summary that was not written.
    fn check_summaries(&self, compacted: &Compacted<'_>) -> Result<()> {
        self.refusal.check()?;
        let is_failure = |degraded: &&Degraded| degraded.kind == DegradedKind::SummaryFailed;
        match (self.failure, compacted.degraded.iter().find(is_failure)) {
            (OnFailure::Fail, Some(failed)) => {
                Err(Error::new(ErrorKind::Summary, failed.message.clone()))
            }
            (OnFailure::Fail, None)
            | (OnFailure::Extractive | OnFailure::Keep | OnFailure::Prune, _) => Ok(()),
        }
    }

    /// A text of the transcript as the report may have it.
    fn masked(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.redact(&text).text.into_owned(),
            None => text,
        }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.options.destination == Destination::InPlace
    }
}
