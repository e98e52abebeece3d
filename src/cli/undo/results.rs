//! What `undo --json` prints of each file: in memory while it is little, in an unnamed file when it is much.
//!
//! Prints nothing before the end, so that errors in between do not tear the output.

use std::io::{self, BufRead, BufReader, Seek, Write};

use serde_json::Value;
use tempfile::SpooledTempFile;

use crate::cli::shape::Shape;
use crate::cli::{flush, json_line, put};
use crate::error::{Error, ErrorKind, Result};

/// How much of it is held in memory, in bytes.
const MOST_HELD: usize = 1 << 20;

/// The results so far.
#[derive(Debug)]
pub(super) struct Results {
    /// What is printed, without its end; `None` if only their number is needed.
    tape: Option<SpooledTempFile>,
    len: u64,
}

impl Results {
    /// Creates an empty list.
    pub(super) fn new(shape: Shape) -> Self {
        Results::with_most(shape, MOST_HELD)
    }

    fn with_most(shape: Shape, most: usize) -> Self {
        Results {
            tape: match shape {
                Shape::Json => Some(SpooledTempFile::new(most)),
                Shape::Text => None,
            },
            len: 0,
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds what was done with a file.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub(super) fn add(&mut self, result: &Value) -> Result<()> {
        if let Some(tape) = &mut self.tape {
            let before = match self.len {
                0 => "",
                _ => ",",
            };
            let text = format!("{before}{}", json_line(result));
            tape.write_all(text.as_bytes()).map_err(|e| unkept(&e))?;
        }
        self.len += 1;
        Ok(())
    }

    /// Prints all of them, if they are printed.
    ///
    /// # Errors
    /// If they cannot be read back from disk, or printed.
    pub(super) fn print(&mut self, out: &mut impl Write) -> Result<()> {
        let Some(tape) = &mut self.tape else {
            return Ok(());
        };
        tape.rewind().map_err(|e| unkept(&e))?;
        put(out, b"{\"files\":[")?;
        let mut tape = BufReader::new(tape);
        loop {
            let part = tape.fill_buf().map_err(|e| unkept(&e))?;
            if part.is_empty() {
                break;
            }
            put(out, part)?;
            let bytes = part.len();
            tape.consume(bytes);
        }
        put(out, b"]}\n")?;
        flush(out)
    }
}

fn unkept(error: &io::Error) -> Error {
    let message = format!("cannot keep results on the disk: {error}");
    Error::new(ErrorKind::Io, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn many_results_are_printed_as_few_are() {
        for count in [0_u64, 1, 2, 1_000] {
            let all: Vec<Value> = (0..count)
                .map(|n| json!({"file": format!("{n} \u{202e}\"ü"), "bytes": n}))
                .collect();
            for most in [0, 100, MOST_HELD] {
                let mut results = Results::with_most(Shape::Json, most);
                all.iter().for_each(|result| results.add(result).unwrap());
                assert_eq!(results.is_empty(), count == 0);
                let mut out = Vec::new();
                results.print(&mut out).unwrap();
                let whole = format!("{}\n", json_line(&json!({ "files": all })));
                assert_eq!(String::from_utf8(out).unwrap(), whole);
            }
            let mut results = Results::new(Shape::Text);
            all.iter().for_each(|result| results.add(result).unwrap());
            assert_eq!(results.is_empty(), count == 0);
            let mut out = Vec::new();
            results.print(&mut out).unwrap();
            assert!(out.is_empty());
        }
    }
}
