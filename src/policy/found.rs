//! What a policy file may not say that was found in a folder rather than named: it may have come with somebody else's
//! repository.
//!
//! It may choose how a transcript is compacted. It may not have files read from outside of its own folder, transcripts sent
//! to anybody, or the environment's texts written into outputs. Pure: whether a folder is a link is for the caller to see.

use std::path::{Component, Path};

use serde_json::Value;

use super::takes::Takes;
use super::{Source, env, keys, read};
use crate::error::{Error, ErrorKind, Result};
use crate::text::printable;

/// Keys of a found file that are more than a way to compact.
const ROOT: &str = "restore.root";
const SOURCE: &str = "summary.source";
const BASE_URL: &str = "summary.base_url";

/// Whether a policy file may be used that nobody named.
///
/// # Errors
/// [`ErrorKind::Config`], with the line: what it may not say; and what [`super::parse`] says of it.
pub fn check_found(text: &str) -> Result<()> {
    for given in read::read(text)? {
        let on_line = |error: Error| error.on_line(read::line(text, given.at));
        match &given.value {
            Value::String(value) => check_value(given.key, value).map_err(on_line)?,
            Value::Object(names) if given.key == keys::ENV => {
                for (name, spec) in names {
                    let spec = spec.as_str().unwrap_or_default();
                    check_name(name, spec).map_err(on_line)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_value(key: &str, value: &str) -> Result<()> {
    let why = match key {
        ROOT if !is_inside(value) => "would read files from outside of the folder that it is in",
        BASE_URL if !value.is_empty() => "would say where transcripts are sent",
        SOURCE if is_provider(value) => "would send transcripts to a provider",
        _ => return Ok(()),
    };
    Err(refused(format!("{key} {why}")))
}

fn check_name(name: &str, spec: &str) -> Result<()> {
    let name = printable(name);
    for (key, fixed) in env::targets(spec)? {
        if [ROOT, SOURCE, BASE_URL].contains(&key) {
            return Err(refused(format!("{name} would set {key}")));
        }
        let takes = keys::find(key).map(|(_, takes)| takes);
        if let (None, Some(Takes::Text | Takes::Texts | Takes::Template { .. })) = (fixed, takes) {
            let what = format!("{key} would put the text of {name} into outputs");
            return Err(refused(what));
        }
    }
    Ok(())
}

fn refused(what: String) -> Error {
    let message = format!("{what}, and nobody named this file");
    Error::new(ErrorKind::Config, message)
        .hint("name the file with --policy if you trust it; --isolated ignores it")
}

fn is_inside(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn is_provider(source: &str) -> bool {
    let source = serde_json::from_value::<Source>(Value::from(source));
    source.is_ok_and(|source| match source {
        Source::Anthropic | Source::Openai => true,
        Source::Extractive | Source::Scripted => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_found_file_may_say_how_a_transcript_is_compacted() {
        let text = "extends = \"layered\"\n[clear]\nkeep = 3\n[restore]\nroot = \"./src/../.\"\n";
        assert!(check_found(&text.replace("/..", "")).is_ok());
        assert!(check_found(text).is_err());
        let text = "[summary]\nsource = \"extractive\"\nbase_url = \"\"\ninstructions = \"the parser\"\n\
                    [env]\nWINDOW = \"window.context\"\nOFF = \"summary.when=never!\"\nACK = \"summary.ack=Yes.\"\n";
        assert!(check_found(text).is_ok());
    }

    #[test]
    fn it_may_not_reach_out_of_its_folder_nor_read_texts_of_the_environment() {
        for (text, what) in [
            (
                "[restore]\nroot = \"..\"",
                "restore.root would read files from outside of the folder that it is in",
            ),
            (
                "[restore]\nroot = \"/etc\"",
                "restore.root would read files from outside of the folder that it is in",
            ),
            (
                "[summary]\nsource = \"anthropic\"",
                "summary.source would send transcripts to a provider",
            ),
            (
                "[summary]\nsource = \"openai\"",
                "summary.source would send transcripts to a provider",
            ),
            (
                "[summary]\nbase_url = \"http://localhost\"",
                "summary.base_url would say where transcripts are sent",
            ),
            (
                "[env]\nHOME = \"restore.root\"",
                "HOME would set restore.root",
            ),
            (
                "[env]\nPATH = \"summary.source=anthropic\"",
                "PATH would set summary.source",
            ),
            (
                "[env]\nKEY = \"summary.ack\"",
                "summary.ack would put the text of KEY into outputs",
            ),
            (
                "[env]\nKEY = \"clear.placeholder!\"",
                "clear.placeholder would put the text of KEY into outputs",
            ),
            (
                "[env]\nKEY = \"tools.read\"",
                "tools.read would put the text of KEY into outputs",
            ),
        ] {
            let error = check_found(text).unwrap_err();
            assert_eq!(
                error.message,
                format!("{what}, and nobody named this file"),
                "{text}"
            );
            assert!(error.line.is_some() && error.hint.is_some());
        }
    }
}
