//! Detects what an input is while it is being read.
//!
//! Reads no more of it than necessary for the answer; decides nothing about what becomes of it.

use super::input::Input;
use crate::error::Result;
use crate::format::{Detected, Detector, Format, may_be_document};
use crate::scan::Strings;

/// What an input is, and what speaks against the format that the user named.
pub(super) struct Recognised {
    pub(super) detected: Detected,
    pub(super) doubt: Option<String>,
    /// The long strings that were found along the way.
    pub(super) strings: Strings,
}

/// What is not settled after this many bytes will not be before the end, as a rule.
const BEGINNING: usize = 8 << 20;

/// Detects what an input is, from all of it, or from as much as is sufficient. A format that the user named wins.
pub(super) fn detect(input: &mut Input<'_>, named: Option<Format>) -> Result<Recognised> {
    let mut detector = Detector::default();
    let mut seen = 0;
    if may_be_document(&input.buffer) {
        input.rest()?;
    }
    loop {
        let whole = match memchr::memrchr(b'\n', &input.buffer[seen..]) {
            _ if input.is_at_end() => input.buffer.len(),
            Some(n) => seen + n + 1,
            None => seen,
        };
        detector.look(&input.buffer[seen..whole]);
        seen = whole;
        if detector.is_settled() {
            break;
        }
        if input.is_large() && seen >= BEGINNING {
            input.rest()?;
            while detector.look_on(&input.buffer) {
                input.go_on()?;
            }
            break;
        }
        // How far reading would have to continue is unknown.
        input.make_room()?;
        if !input.more()? && seen == input.buffer.len() {
            break;
        }
    }
    Ok(Recognised {
        detected: named.map_or_else(|| detector.decide(), |format| detector.given(format)),
        doubt: named.and_then(|format| detector.doubt(format)),
        strings: detector.into_strings(),
    })
}
