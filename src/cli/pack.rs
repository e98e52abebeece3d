//! `ctxpack pack-lines` and `unpack-lines`: convert a tree of files to records, one per line, and back.
//!
//! Compacts nothing. Never writes outside `--out-dir`, and never replaces another file unless the user says so.

use std::collections::HashSet;
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::Args;

use super::limits::INPUT;
use super::reading::note_skipped;
use super::reports::OUTPUT;
use super::shard::ShardArgs;
use super::walking::ExcludeArgs;
use super::{Context, all_paths, flush, put};
use crate::batch::{
    Overwrite, Packed, PlaceKey, Search, Source, Stdin, Unpacked, pack_line, packed_path, place_key,
};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Exit, NoticeLevel, Notices, path_text};
use crate::text::{count, thousands};

/// Write a tree of files as records, one per line.
///
/// A record is {"path":…,"text":…}; a file that is not UTF-8, such as a compressed one, has its bytes in base64 instead. Paths are
/// relative to the folder that is named. unpack-lines makes the files again, byte for byte.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack pack-lines in/ >in.records.jsonl
  ctxpack pack-lines in/ | ctxpack filter --store out/.ctxpack | ctxpack unpack-lines --out-dir out/
  ctxpack pack-lines in/ --shard 3/8 | ssh host ctxpack filter >3.records.jsonl")]
pub(super) struct PackLines {
    /// Transcripts, folders, patterns
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read more paths from FILE, newline- or NUL-separated; - is standard input
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    files_from: Option<PathBuf>,
    #[command(flatten)]
    exclude: ExcludeArgs,
    #[command(flatten)]
    shard: ShardArgs,
}

impl PackLines {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let paths = all_paths(
            self.paths.clone(),
            self.files_from.as_deref(),
            &context.stop,
        )?;
        let search = Search {
            skip: None,
            exclude: &self.exclude.exclude()?,
            shard: self.shard.shard()?,
            scratch: &env::temp_dir(),
        };
        let found = search.inputs(&paths)?;
        let mut failed = found.missing.len();
        found.missing.iter().for_each(|error| context.error(error));
        // Only these names are held in memory, until the first comes again.
        let repeated = found.repeated_names(|source| match source {
            Source::Stdin => None,
            Source::File(file) => packed_path(file).ok().map(PathBuf::from),
        })?;
        let is_repeated = |path: &str| {
            let known = repeated.has(Path::new(path));
            known.map_err(|e| Error::io(env::temp_dir(), "read names back", e))
        };
        let mut taken: HashSet<PlaceKey> = HashSet::new();
        for source in found.sources.iter() {
            let source = source?;
            let Source::File(file) = &*source else {
                return Err(Error::new(ErrorKind::Usage, "standard input has no path")
                    .hint("name files or folders"));
            };
            match packed_path(file) {
                Ok(path) if is_repeated(&path)? && !taken.insert(place_key(Path::new(&path))) => {
                    let message = format!("two files would have the path {path:?}");
                    return Err(Error::new(ErrorKind::Usage, message)
                        .at(&file.path)
                        .hint("name a folder above both, and the paths are relative to that"));
                }
                Ok(_) => {}
                Err(error) => {
                    failed += 1;
                    context.error(&error);
                }
            }
        }
        let mut out = BufWriter::new(io::stdout().lock());
        for source in found.sources.iter() {
            let source = source?;
            let Source::File(file) = &*source else {
                continue;
            };
            if packed_path(file).is_err() {
                continue;
            }
            if context.stop.load(Ordering::Relaxed) != 0 {
                return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
            }
            match pack_line(file) {
                Ok(line) => put(&mut out, &line)?,
                Err(error) => {
                    failed += 1;
                    context.error(&error);
                }
            }
        }
        flush(&mut out)?;
        let mut notices = Notices::default();
        note_skipped(&found.skipped, &mut notices);
        context.notices(notices);
        Ok(match failed {
            0 => Exit::Done.code(),
            _ => Exit::Partial.code(),
        })
    }
}

/// Write the files of records below a folder.
///
/// Reads the records of pack-lines, compacted by filter or not. A path that leads out of the folder is refused. An existing file
/// with the same bytes is left alone. A record that filter could not compact has its original bytes; its file is written and listed
/// at the end.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack unpack-lines --out-dir back/ tree.jsonl
                                             the files of pack-lines, as they were
  ctxpack pack-lines archive/ | ctxpack filter | ctxpack unpack-lines --out-dir small/
                                             an archive through a stream")]
pub(super) struct UnpackLines {
    /// File of records; - or omitted: standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the files below DIR
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out_dir: PathBuf,
    /// Replace existing files that have different bytes
    #[arg(long, help_heading = OUTPUT)]
    overwrite: bool,
}

impl UnpackLines {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        match self.file.as_deref().filter(|file| *file != Path::new("-")) {
            None => self.unpack(context, Stdin::open(&context.stop)?, Path::new("-")),
            Some(path) => {
                let file = File::open(path).map_err(|e| Error::io(path, "open", e))?;
                self.unpack(context, file, path)
            }
        }
    }

    fn unpack(&self, context: &Context, records: impl Read, path: &Path) -> Result<u8> {
        let overwrite = match self.overwrite {
            true => Overwrite::Any,
            false => Overwrite::OwnOnly,
        };
        let mut records = BufReader::new(records);
        let mut notices = Notices::default();
        let (mut written, mut there, mut failed) = (0, 0, 0_u64);
        // Records come as a stream, so that names cannot be sorted first. Two names with the same key do not happen by chance.
        let mut seen: HashSet<PlaceKey> = HashSet::new();
        for number in 1.. {
            let mut line = Vec::new();
            let read = records.read_until(b'\n', &mut line);
            if context.stop.load(Ordering::Relaxed) != 0 {
                return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
            }
            if read.map_err(|e| Error::io(path, "read", e))? == 0 {
                break;
            }
            let unpacked = Packed::of(&line)
                .map_err(|error| error.at(path).on_line(number))
                .and_then(|packed| {
                    // If two records have the same path, the second must not silently replace the first.
                    if overwrite == Overwrite::Any && !seen.insert(place_key(&packed.path)) {
                        let message = "an earlier record has the same path";
                        return Err(Error::new(ErrorKind::Exists, message)
                            .at(path)
                            .on_line(number));
                    }
                    Ok((packed.write(&self.out_dir, overwrite)?, packed))
                });
            let (unpacked, packed) = match unpacked {
                Ok(done) => done,
                Err(error) => {
                    failed += 1;
                    context.error(&error);
                    continue;
                }
            };
            match unpacked {
                Unpacked::Written => written += 1,
                Unpacked::There => there += 1,
            }
            let Some((kind, message)) = packed.error else {
                continue;
            };
            let level = match kind.as_str() {
                "unsupported" => NoticeLevel::Warning,
                _ => {
                    failed += 1;
                    NoticeLevel::Failed
                }
            };
            let message = format!("not compacted: {message}");
            let name = path_text(&packed.path);
            notices.add(level, "not_compacted", &message, None, (&name, None));
        }
        let kept = match there {
            0 => String::new(),
            there => format!(", {} there already", thousands(there)),
        };
        context.say(&format!("{} written{kept}", count(written, "file")));
        context.notices(notices);
        Ok(match failed {
            0 => Exit::Done.code(),
            _ => Exit::Partial.code(),
        })
    }
}
