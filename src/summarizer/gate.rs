//! Whether what a model wrote can stand: it may leave out, and must not make up.
//!
//! PURE. A name or a figure that the model was never shown did not come from the transcript, whatever it looks like.

use std::borrow::Cow;

use memchr::memmem;

use super::extractive::names;

/// The names and figures of `summary` that stand in none of the texts that its writer was given.
pub fn invented<'s>(summary: &'s str, given: &[Cow<'_, str>]) -> Vec<&'s str> {
    let is_given = |name: &str| {
        let finder = memmem::Finder::new(name.as_bytes());
        given
            .iter()
            .any(|text| finder.find(text.as_bytes()).is_some())
    };
    let mut names = names(summary);
    names.retain(|name| !is_given(name));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_said_is_found() {
        let given = [
            "Read src/parse.rs: parse_line fails at 4711".into(),
            "fix it".into(),
        ];
        let summary = "Fixed parse_line in src/parse.rs (4711). See src/lexer.rs, parse_word and 815, src/lexer.rs.";
        assert_eq!(
            invented(summary, &given),
            ["src/lexer.rs", "parse_word", "815"]
        );
        assert!(invented("The user wants the tests to pass.", &given).is_empty());
    }
}
