//! Puts parts of an input into the store: contents that leave the transcript, copies that its summaries name, and originals that
//! are kept nowhere else.
//!
//! Everything is in the store before the output takes its name. Never keeps what no text and no record will name.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use super::{Effect, Input, Run, Scope, Source, Sum, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::{Compacted, masked_text};
use crate::store::atomic::changed;
use crate::store::{self, FOLDER, Store, archive_name, copy_name, open_transcript};

/// A plain copy of a transcript, for summaries to name.
pub(super) struct Copied<'t> {
    /// Its name, relative to the store.
    name: String,
    /// The transcript; without its secrets if outputs are to have none.
    text: Cow<'t, [u8]>,
}

impl Copied<'_> {
    /// The path by which a text names it; `folder` is that of the store.
    pub(super) fn path(&self, folder: Option<&str>) -> String {
        format!("{}/{}", folder.unwrap_or(FOLDER), self.name)
    }
}

impl Run<'_> {
    /// The copy of a transcript, if summaries name one.
    pub(super) fn copied<'t>(&self, text: &'t [u8]) -> Option<Copied<'t>> {
        self.names_archive.then(|| {
            let text = match &self.redactor {
                Some(redactor) => masked_text(redactor, text),
                None => Cow::Borrowed(text),
            };
            Copied {
                name: copy_name(&store::hash(&text)),
                text,
            }
        })
    }

    /// Puts into the store what the result's texts name. Returns the name of the copy, if one was kept.
    pub(super) fn keep(
        &self,
        target: &Target,
        compacted: &Compacted<'_>,
        folder: Option<&str>,
        copy: Option<Copied<'_>>,
    ) -> Result<Option<String>> {
        let copy = copy.filter(|_| compacted.is_summarised());
        if folder.is_none() && (copy.is_some() || compacted.offloads().next().is_some()) {
            return Err(Error::new(
                ErrorKind::Usage,
                "the store's path is not Unicode, so no text can name what is in it",
            )
            .hint("name another folder with --store"));
        }
        let (Some(kept), Effect::Write) = (&target.store, self.options.effect) else {
            return Ok(None);
        };
        for (name, content) in compacted.offloads() {
            kept.store
                .put_offload_as(name, |out| content.write_to(out))?;
        }
        copy.map(|copy| kept.store.put_copy(&copy.text)).transpose()
    }

    /// Keeps an original that would be kept nowhere else: one that came from a stream, or that is about to be replaced; and the
    /// original of what the policy summarises, if it wants a copy. Returns the archive's name, which is known even in a dry run.
    pub(super) fn archive(
        &self,
        target: &Target,
        input: &mut Input<'_>,
        sum: &Sum,
    ) -> Result<Option<String>> {
        if let Some(copy) = input.copy.take() {
            return Ok(Some(copy.finish()?.name));
        }
        let Some(kept) = &target.store else {
            return Ok(None);
        };
        let (hash, bytes) = input.hash();
        let is_kept = self.is_in_place() || sum.summarised && self.keeps_original;
        match (target.source, self.options.effect) {
            (Source::File(_), _) if !is_kept => Ok(None),
            // The original came from the archive.
            (Source::File(_), _) if self.is_in_place() && self.options.scope == Scope::Degraded => {
                Ok(Some(archive_name(&hash)))
            }
            (Source::File(_), Effect::Write) => {
                let archived = match input.whole() {
                    Some(whole) => kept.store.put_archive(whole, &hash)?.name,
                    None => archive_file(&kept.store, target.input_path(), &hash, bytes)?,
                };
                Ok(Some(archived))
            }
            (Source::Stdin, _) | (Source::File(_), Effect::DryRun) => Ok(Some(archive_name(&hash))),
        }
    }
}

/// Puts a file that is not in memory into the archive, if it still holds what was read from it: `bytes` bytes of this hash.
fn archive_file(store: &Store, path: &Path, hash: &str, bytes: u64) -> Result<String> {
    let (file, _) = open_transcript(path)?;
    let mut archive = store.archive()?;
    io::copy(&mut file.take(bytes), &mut archive).map_err(|e| Error::io(path, "keep a copy", e))?;
    if archive.hash() != hash {
        return Err(changed(path));
    }
    Ok(archive.finish()?.name)
}
