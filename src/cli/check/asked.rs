//! What a case asks for: its expectations, and the command that is run.

use super::cases::{Case, Part};
use super::expect::{CaseCommand, Expect};
use crate::error::{Error, ErrorKind, Result};
use crate::store::read_regular;

/// The size limit of `expect.toml`, in bytes.
const MAX_EXPECT_BYTES: u64 = 1 << 20;

/// The contents of its `expect.toml`, if there is one.
pub(super) fn expectations(case: &Case) -> Result<Option<Expect>> {
    if !case.has(Part::Expect) {
        return Ok(None);
    }
    let path = case.file(Part::Expect);
    let text = String::from_utf8(read_regular(&path, MAX_EXPECT_BYTES)?)
        .map_err(|_| Error::new(ErrorKind::Config, "not Unicode text").at(&path))?;
    let expect = Expect::parse(&text, &path)?;
    if expect.all.is_empty() && expect.command.is_none() {
        return Err(Error::new(ErrorKind::Config, "expects nothing")
            .at(&path)
            .hint("write below [expect] what must hold, or remove the file"));
    }
    Ok(Some(expect))
}

/// The command to run: the one in `expect.toml`, or else the one that the goldens belong to.
pub(super) fn command(case: &Case, expect: Option<&Expect>) -> Result<CaseCommand> {
    let of = [
        (CaseCommand::Compact, Part::Expected),
        (CaseCommand::Compact, Part::Stats),
        (CaseCommand::Replay, Part::Replay),
        (CaseCommand::Stats, Part::Counts),
    ];
    let said = expect.and_then(|expect| Some((expect.command?, Part::Expect)));
    let there = of.into_iter().filter(|(_, part)| case.has(*part));
    let mut asked = said.into_iter().chain(there);
    let (command, first) = asked
        .next()
        .unwrap_or((CaseCommand::Compact, Part::Expected));
    if let Some((_, part)) = asked.find(|(other, _)| *other != command) {
        let [first, part] = [first, part].map(Part::name);
        let message = format!("{first} and {part} belong to different commands");
        return Err(Error::new(ErrorKind::Config, message)
            .at(case.path())
            .hint("a case runs one command: make two cases of it"));
    }
    let only_compacted =
        expect.filter(|expect| command != CaseCommand::Compact && !expect.all.is_empty());
    if let Some(expectation) = only_compacted.and_then(|expect| expect.all.first()) {
        let message = "[expect] is about compactions alone";
        return Err(Error::new(ErrorKind::Config, message)
            .at(case.file(Part::Expect))
            .on_line(expectation.line)
            .hint("a figure in expected.replay.json or expected.counts.json can be a limit, like \"<= 9000\""));
    }
    Ok(command)
}
