//! `ctxpack schema`: the form of the files that ctxpack reads, for editors and validators.

use std::io;

use clap::{Args, Subcommand};

use super::{flush, put};
use crate::error::Result;
use crate::policy;

/// Print JSON Schemas.
#[derive(Debug, Args)]
pub(super) struct SchemaCommand {
    #[command(subcommand)]
    of: Described,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Described {
    /// A policy file: every key with its type, range, default and meaning
    Policy,
}

impl SchemaCommand {
    pub(super) fn run(self) -> Result<u8> {
        let schema = match self.of {
            Described::Policy => policy::schema()?,
        };
        let mut out = io::stdout().lock();
        put(&mut out, format!("{schema:#}\n").as_bytes())?;
        flush(&mut out)?;
        Ok(0)
    }
}
