//! Finds what a model has invented: a summary may omit things, and must not add any.
//!
//! PURE. A name or a figure that the model was not given cannot come from the transcript, however plausible it looks.

use std::borrow::Cow;

use memchr::memmem;

use super::extractive::names;

/// The names and figures in `summary` that occur in none of the texts its writer was given.
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
    fn names_and_figures_that_were_not_given_are_found() {
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
