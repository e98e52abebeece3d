//! Restrictions on a policy file that was found in a folder rather than named: it may have come with somebody else's repository.
//!
//! It may choose how a transcript is compacted. It may not cause files to be read, transcripts to be sent, secrets to pass
//! unmasked, or environment values to be written into outputs, unless the user's own flags or environment ask for it. Each key's
//! declaration states what is allowed. Pure.

use serde_json::Value;

use super::domain::Domain;
use super::key::{Found, Key};
use super::{env, read};
use crate::error::{Error, ErrorKind, Result};
use crate::text::printable;

/// Checks a policy file that the user did not name; `file` is its name for the hint.
///
/// # Errors
/// [`ErrorKind::Config`], with the line: a setting that it may not make, or an error of [`super::parse`].
pub fn check_found(text: &str, file: &str) -> Result<()> {
    for given in read::read(text)? {
        let refused = |what: String, at: usize| {
            let message = format!("{what}, and this file was found, not named");
            Error::new(ErrorKind::Config, message)
                .on_line(read::line(text, at))
                .hint(format!(
                    "--policy {} allows it, if you trust the file; --isolated ignores it",
                    printable(file)
                ))
        };
        if let Some(why) = forbidden(given.key, &given.value) {
            return Err(refused(why, given.at));
        }
        let (Value::Object(names), Domain::TextTable) = (&given.value, given.key.domain) else {
            continue;
        };
        for (name, spec) in names {
            let at = given.at_entry(name);
            let on_line = |error: Error| error.on_line(read::line(text, at));
            let targets = env::targets(spec.as_str().unwrap_or_default()).map_err(on_line)?;
            for (key, fixed) in targets {
                if let Some(what) = forbidden_variable(name, key, fixed) {
                    return Err(refused(what, at));
                }
            }
        }
    }
    Ok(())
}

/// The forbidden effect of a key's value in a found file, if any.
fn forbidden(key: &Key, value: &Value) -> Option<String> {
    let name = key.name;
    match key.found {
        Found::Any => None,
        Found::Empty(why) => {
            let is_empty = value == "" || value.as_object().is_some_and(|fields| fields.is_empty());
            (!is_empty).then(|| format!("{name} {why}"))
        }
        Found::Except(words, why) => {
            let word = value.as_str().filter(|value| words.contains(value))?;
            Some(format!("{name} = \"{word}\" {why}"))
        }
        Found::OneOfItsWords(why) => {
            let is_listed = key.domain.words().any(|word| value == word);
            (!is_listed).then(|| format!("{name} {why}"))
        }
        Found::AtMost(most) => {
            let is_more = value.as_u64().is_some_and(|value| value > most);
            is_more.then(|| format!("{name} is over {most}"))
        }
    }
}

/// The forbidden effect of a variable listed in a found file, if any; `fixed` is the value that it sets the key to, regardless of
/// its own value.
fn forbidden_variable(variable: &str, key: &Key, fixed: Option<&str>) -> Option<String> {
    let (name, variable) = (key.name, printable(variable));
    if let Some(value) = fixed {
        let why = forbidden(key, &key.domain.fit_text(value)?)?;
        return Some(format!("{variable} would set {name}: {why}"));
    }
    match key.found {
        Found::Any => key
            .domain
            .is_text()
            .then(|| format!("{name} would put the text of {variable} into outputs")),
        Found::Empty(_) | Found::Except(..) | Found::OneOfItsWords(_) | Found::AtMost(_) => {
            Some(format!("{variable} would set {name}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::*;

    #[test]
    fn a_found_file_may_say_how_a_transcript_is_compacted() {
        for text in [
            "extends = \"layered\"\n[clear]\nkeep = 3\n[restore]\nfiles = 2\nroot = \"\"\n",
            "redact = \"outputs\"\n[summary]\ntries = 10\nwait_ms = 60000\n",
            "[summary]\nsource = \"extractive\"\nbase_url = \"\"\nmodel = \"\"\ninstructions = \"the parser\"\n\
             [env]\nWINDOW = \"window.context\"\nOFF = \"summary.when=never!\"\nACK = \"summary.ack=Yes.\"\n\
             MASK = \"redact=outputs\"\n",
        ] {
            check_found(text, "ctxpack.toml").unwrap();
        }
    }

    #[test]
    fn each_preset_may_be_extended() {
        for preset in crate::policy::presets().unwrap() {
            check_found(&preset.starter().unwrap(), "ctxpack.toml").unwrap();
            // Nor does one say more than a found file may, but for the model that its system is known to ask.
            let json = preset.to_json().unwrap();
            for key in keys::all().filter(|key| key.name != "summary.model") {
                let forbidden = forbidden(key, key.get(&json));
                assert_eq!(forbidden, None, "{} {}", preset.name, key.name);
            }
        }
    }

    #[test]
    fn it_may_not_read_send_let_secrets_through_nor_take_texts_of_the_environment() {
        for (text, what) in [
            (
                "redact = \"never\"",
                "redact = \"never\" would send secrets to a server that writes summaries",
            ),
            (
                "[restore]\nroot = \"..\"",
                "restore.root would read files from a folder",
            ),
            (
                "[restore]\nroot = \"/etc\"",
                "restore.root would read files from a folder",
            ),
            (
                "[restore]\nroot = \"src\"",
                "restore.root would read files from a folder",
            ),
            (
                "[summary]\nsource = \"anthropic\"",
                "summary.source = \"anthropic\" would replace the built-in summariser",
            ),
            (
                "[summary]\nsource = \"openai\"",
                "summary.source = \"openai\" would replace the built-in summariser",
            ),
            (
                "[summary]\nsource = \"scripted\"",
                "summary.source = \"scripted\" would replace the built-in summariser",
            ),
            (
                "[summary]\nbase_url = \"http://localhost\"",
                "summary.base_url would say where transcripts are sent",
            ),
            (
                "[summary]\nmodel = \"big\"",
                "summary.model would choose the model that transcripts are sent to",
            ),
            (
                "[summary]\nprompt = \"file:prompt.md\"",
                "summary.prompt would choose what a provider is told",
            ),
            (
                "[summary]\nprompt = \"text:Say nothing.\"",
                "summary.prompt would choose what a provider is told",
            ),
            ("[summary]\ntries = 11", "summary.tries is over 10"),
            (
                "[summary]\nwait_ms = 60001",
                "summary.wait_ms is over 60000",
            ),
            (
                "[summary]\ndrop_rounds = 11",
                "summary.drop_rounds is over 10",
            ),
            (
                "[env]\nHOME = \"restore.root\"",
                "HOME would set restore.root",
            ),
            ("[env]\nHOME = \"redact\"", "HOME would set redact"),
            (
                "[env]\nHOME = \"redact=never!\"",
                "HOME would set redact: redact = \"never\" would send secrets to a server that writes summaries",
            ),
            (
                "[env]\nPATH = \"summary.source=anthropic\"",
                "PATH would set summary.source: summary.source = \"anthropic\" would replace the built-in summariser",
            ),
            (
                "[env]\nTIMES = \"summary.tries\"",
                "TIMES would set summary.tries",
            ),
            (
                "[env]\nX = \"clear.keep|summary.tries\"",
                "X would set summary.tries",
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
            let error = check_found(text, "../ctxpack.toml").unwrap_err();
            assert_eq!(
                error.message,
                format!("{what}, and this file was found, not named"),
                "{text}"
            );
            assert!(error.line.is_some());
            let hint =
                "--policy ../ctxpack.toml allows it, if you trust the file; --isolated ignores it";
            assert_eq!(error.hint.as_deref(), Some(hint));
        }
    }
}
