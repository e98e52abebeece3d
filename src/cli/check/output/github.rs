//! The result of a check as annotations of GitHub Actions, one for each case that is not as expected.

use std::io::{self, Write};

use crate::cli::check::verdict::Checked;
use crate::outcome::path_text;
use crate::text::printable;

impl Checked {
    /// Errors are those of the writer.
    pub(super) fn write_github(&self, out: &mut dyn Write) -> io::Result<()> {
        for wrong in self.wrong() {
            writeln!(
                out,
                "::error file={}{},title={}::{}",
                property(&path_text(&wrong.file)),
                wrong
                    .line
                    .map_or(String::new(), |line| format!(",line={line}")),
                property(&format!("ctxpack check: {}", path_text(wrong.case.path()))),
                data(wrong.text.trim_end())
            )?;
        }
        Ok(())
    }
}

/// The text of a workflow command: its lines, made safe for a log.
fn data(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| printable(line).replace('%', "%25"))
        .collect();
    lines.join("%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_to_github_is_escaped() {
        assert_eq!(data("50%\r\n:,"), "50%25 %0A:,");
        assert_eq!(
            data("\u{1b}[2J\u{9b}2J\u{202e}"),
            "\\u{1b}[2J\\u{9b}2J\\u{202e}"
        );
        assert_eq!(property("a%b:c,d\n"), "a%25b%3Ac%2Cd%0A");
    }
}
