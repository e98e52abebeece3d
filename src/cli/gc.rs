//! `ctxpack gc`: deletes unreferenced contents from a store.

use std::io;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::shape::{Shape, ShapeArgs};
use super::{Context, Voice, flush, json_line, put};
use crate::error::Result;
use crate::store::Store;
use crate::store::folder::Durability;
use crate::store::gc::{Sweep, Swept};
use crate::text::{count, printable};

/// Delete unreferenced files from a store.
///
/// Killed runs leave such files. Records stay, and so does everything that a record or an existing output refers to. If that cannot
/// be determined (a damaged record, an unreadable output, a run in progress), nothing is deleted. -v names each file.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack gc --store .ctxpack -n             what would be deleted")]
pub(super) struct Gc {
    /// The store: a folder named .ctxpack, or what --store named
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Delete nothing; print what would be deleted
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    shape: ShapeArgs,
}

impl Gc {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let (sweep, done) = if self.dry_run {
            (Sweep::Tell, "would be deleted")
        } else {
            (Sweep::Delete, "deleted")
        };
        let Swept { names, bytes } = Store::new(&self.store, Durability::Lazy).gc(sweep)?;
        let mut out = io::stdout().lock();
        if self.shape.shape() == Shape::Json {
            let found = json!({"deleted": !self.dry_run, "files": names.len(), "bytes": bytes, "names": names});
            put(&mut out, format!("{}\n", json_line(&found)).as_bytes())?;
            flush(&mut out)?;
            return Ok(0);
        }
        if context.voice == Voice::Loud {
            for name in &names {
                put(&mut out, format!("{}\n", printable(name)).as_bytes())?;
            }
        }
        if context.voice > Voice::Quiet {
            let files = count(names.len() as u64, "file");
            let line = format!("{files} {done}, {}\n", count(bytes, "byte"));
            put(&mut out, line.as_bytes())?;
        }
        flush(&mut out)?;
        Ok(0)
    }
}
