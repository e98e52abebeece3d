//! One input from its first byte to its outcome.
//!
//! Store and record are written before the output takes its name, so whatever ends the run, what the output names can be
//! found and the output can be undone.

mod kept;
mod record;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::budget::Share;
use super::clean::Releases;
use super::detected::{Recognised, detect};
use super::emitted;
use super::hooks::Before;
use super::input::{Codec, Input};
use super::origin::SessionOrigin;
use super::pour::{Output, copy, each_line, pack};
use super::refusal::Refusal;
use super::resume::Left;
use super::retry::original;
use super::sink::Sink;
use super::strict::BadLines;
use super::sum::Sum;
use super::target::followed;
use super::{Destination, Effect, Options, Overwrite, Scope, Source, Target};
use crate::artifacts::SummaryModel;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Detector, Layout, LineWarning, Warnings};
use crate::outcome::{
    Degraded, DegradedKind, Laps, Original, OriginalKind, Outcome, Phase, Warning, WarningKind,
    path_text,
};
use crate::pipeline::{self, Compacted, Part, Pipeline, Stored};
use crate::plan::Keeping;
use crate::policy::{self, Archive, Effective, Layer, Names, OnFailure, Policy, Redact};
use crate::redact::Redactor;
use crate::store::atomic::{
    Existing, Mode, Replace, Rights, Stamp, Written, changed, check_replaceable, lost_of_the_file,
};
use crate::store::finished::Seen;
use crate::store::folder::Durability;
use crate::store::{self, FOLDER, Missing, Spot, manifest, open_transcript};

/// The most conversations of a file whose original sizes its record notes. Where there are more, or one on each line (the hash of
/// such a file is known too late), their summaries say how large they were.
const MOST_NOTED: usize = 1_000;

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

/// An input that is done.
pub(super) struct Worked {
    pub(super) outcome: Outcome,
    /// What a later run of the same command needs to know of it.
    pub(super) left: Left,
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
            names: match &options.destination {
                Destination::InPlace => Names::Absolute,
                _ if options.fork.is_some() => Names::Absolute,
                Destination::Beside
                | Destination::File(_)
                | Destination::Stdout
                | Destination::Folder(_) => policy.store.names,
            },
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
        share: Share<'_>,
        before: &Before<'_>,
    ) -> Result<Worked> {
        let path = target.input_path();
        let laps = Laps::start(self.options.clock());
        self.may_begin(target)?;
        let sink = if self.is_in_place() {
            // Most files of a second run stay as they are; those are not touched.
            Sink::nothing(&self.options.stop)
        } else {
            self.open_output(target)?
        };
        let stop = &self.options.stop;
        let again = self.again(target)?;
        let input = match &again {
            None => Input::open(target.source, path, stop, share)?,
            Some((bytes, stamp)) => {
                let mut input = Input::of_bytes(bytes, path, stop, share)?;
                input.stamp = Some(stamp.clone());
                input
            }
        };
        self.through(target, path, (input, sink), (before, laps))
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
                "the policy keeps a copy of the original, and a stream has no store for it",
            )
            .hint("name a folder with --store DIR, or keep no copy with --set archive=auto"));
        }
        Ok(())
    }

    /// An open input into its output; `path` is what the report calls it.
    fn through<'s>(
        &self,
        target: &Target,
        path: &Path,
        (mut input, mut sink): (Input<'_>, Sink<'s>),
        (before, mut laps): (&Before<'_>, Laps),
    ) -> Result<Worked>
    where
        'r: 's,
    {
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
        let seen = input.seen.map(Seen::settled);
        let Recognised { detected, doubt } = detect(&mut input, self.options.format)?;
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
        // That of a compressed output; any other is what is written.
        let mut text_after = input.stored_bytes().map(|_| input.text_bytes());
        match &detected {
            Detected::Unsupported(_) if self.redactor.is_some() => {
                return Err(Error::new(
                    ErrorKind::Config,
                    "secrets can be masked in supported formats only, and this format is not supported",
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
                    first_line: 1,
                    part: Part::File,
                    stored: Stored {
                        folder: folder.unwrap_or(FOLDER),
                        archive: archive.as_deref(),
                        ..target.stored(&originals)
                    },
                    adviser: Some(before),
                };
                origin = SessionOrigin::of(path, &detected, &input.buffer);
                laps.lap(clock, Phase::Read);
                let mut compacted = self.result(target, part, &mut warnings)?;
                self.check_summaries(&compacted)?;
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
                    let text = self.put((&mut compacted, &detected), &input, &mut sink)?;
                    text_after = text_after.map(|_| text);
                }
                sum.add(compacted);
            }
            &Detected::Known(format, Layout::Line) => {
                if self.is_in_place() {
                    sink = self.open_in_place(target, &input)?;
                }
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
                            ..target.stored(&originals)
                        },
                        adviser: Some(before),
                    };
                    laps.lap(clock, Phase::Read);
                    let mut compacted = self.result(target, part, warnings)?;
                    self.check_summaries(&compacted)?;
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
                each_line(&mut input, &mut output, &mut warnings, each)?;
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
        Ok(Worked {
            outcome,
            left: Left { contents, seen },
        })
    }

    /// The original of a file whose summaries failed when it was compacted in place, and the state of the file as it is now.
    fn again(&self, target: &Target) -> Result<Option<(Vec<u8>, Stamp)>> {
        if self.options.scope == Scope::All || !self.is_in_place() {
            return Ok(None);
        }
        let path = target.input_path();
        let (_, metadata) = open_transcript(path)?;
        Ok(Some((original(target, path)?, Stamp::of(&metadata))))
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

    fn open_output(&self, target: &Target) -> Result<Sink<'r>> {
        let stop = &self.options.stop;
        let Some(path) = &target.output() else {
            return Ok(match self.options.effect {
                Effect::Write => Sink::stdout(stop),
                Effect::DryRun => Sink::nothing(stop),
            });
        };
        let is_dry = self.options.effect == Effect::DryRun;
        let missing = if is_dry {
            Missing::Refuse
        } else {
            Missing::Make
        };
        let spot = match target.spot(path, missing) {
            // A dry run makes no folder; nothing is in one that is not there.
            Err(error) if is_dry && error.kind == ErrorKind::NotFound => {
                return Ok(Sink::nothing(stop));
            }
            spot => spot?,
        };
        let existing = self.existing(target, &spot)?;
        if is_dry {
            return Ok(Sink::nothing(stop));
        }
        let mode = match target.source {
            Source::Stdin => Mode::Default,
            Source::File(file) => open_transcript(&file.path)
                .ok()
                .and_then(|(file, _)| Rights::of(&file).ok())
                .map_or(Mode::Default, Mode::Like),
        };
        Ok(Sink::file(
            Replace::create(spot, existing, mode, Durability::Lazy)?,
            stop,
        ))
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.options.destination == Destination::InPlace
    }

    /// The output that will take the input's own place, unless that changes meanwhile.
    fn open_in_place(&self, target: &Target, input: &Input<'_>) -> Result<Sink<'r>> {
        let stop = &self.options.stop;
        let Some(stamp) = input.stamp.clone() else {
            return Err(Error::new(ErrorKind::Internal, "a stream has no place"));
        };
        let spot = target.own_spot()?;
        let there = spot.look()?.ok_or_else(|| changed(spot.path()))?;
        check_replaceable(spot.path(), &there)?;
        if Stamp::of(&there) != stamp {
            return Err(changed(spot.path()));
        }
        if self.options.effect == Effect::DryRun {
            return Ok(Sink::nothing(stop));
        }
        let existing = Existing::IfUnchanged(stamp);
        let mut replace = Replace::create(spot, existing, Mode::Default, Durability::Lazy)?;
        replace.keep_time();
        Ok(Sink::file(replace, stop))
    }

    /// Whether an output that is there already may be replaced.
    fn existing(&self, target: &Target, spot: &Spot) -> Result<Existing> {
        let path = spot.path();
        let Some(seen) = spot.look()? else {
            return Ok(Existing::Refuse);
        };
        if self.options.overwrite == Overwrite::Any {
            return Ok(Existing::Overwrite);
        }
        if let (Some(kept), true) = (&target.store, seen.is_file()) {
            let mut file = spot.read()?;
            let stamp = Stamp::of(&file.metadata().map_err(|e| Error::io(path, "read", e))?);
            let hash = store::hash_of(&mut file).map_err(|e| Error::io(path, "read", e))?;
            let name = kept.store.name_of(path)?;
            if kept.ledger()?.wrote(&name, &hash) {
                return Ok(Existing::IfUnchanged(stamp));
            }
        }
        Err(Error::new(
            ErrorKind::Exists,
            "a file of that name exists, and ctxpack did not write it as it is now",
        )
        .at(path)
        .hint("--overwrite replaces it; -o or --out-dir writes elsewhere"))
    }

    /// Writes a whole file's result; a compressed input that stays as it is stays so to the byte. Gives the bytes of its text.
    fn put(
        &self,
        (compacted, detected): (&mut Compacted<'_>, &Detected),
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

    fn finish(
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
        if sum.waits || self.is_in_place() && !sum.changed || is_not_emitted {
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
                    followed(path)
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
