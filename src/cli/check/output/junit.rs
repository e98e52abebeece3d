//! The result of a check in JUnit's XML: `testsuites`, one `testsuite`, a `testcase` for each case.

use std::io::{self, Write};

use crate::cli::check::verdict::{Checked, Verdict};
use crate::outcome::{FaultKind, path_text};
use crate::text::printable;

impl Checked {
    /// Errors are those of the writer.
    pub(super) fn write_junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let [_, _, differ, failed] = self.numbers();
        let numbers = format!(
            "tests=\"{}\" failures=\"{differ}\" errors=\"{failed}\"",
            self.cases.len()
        );
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(out, "<testsuites {numbers}>")?;
        writeln!(out, "  <testsuite name=\"ctxpack check\" {numbers}>")?;
        for (case, verdict) in &self.cases {
            let path = path_text(case.path());
            let (class, name) = path.rsplit_once('/').unwrap_or(("ctxpack", &path));
            write!(
                out,
                "    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
                xml(class),
                xml(name)
            )?;
            let (what, message, text) = match verdict {
                Verdict::Same | Verdict::Updated => {
                    writeln!(out, "/>")?;
                    continue;
                }
                Verdict::Differs(difference) => {
                    let first = difference.first_line().to_owned();
                    ("failure", first, difference.how.clone())
                }
                Verdict::Failed(error) => ("error", error.message.clone(), error.to_string()),
            };
            let kind = match verdict {
                Verdict::Failed(error) => FaultKind::Error(error.kind).to_string(),
                Verdict::Same | Verdict::Updated | Verdict::Differs(_) => "differs".to_owned(),
            };
            writeln!(
                out,
                ">\n      <{what} message=\"{}\" type=\"{kind}\">{}</{what}>\n    </testcase>",
                xml(&message),
                xml(&text)
            )?;
        }
        writeln!(out, "  </testsuite>\n</testsuites>")
    }
}

/// Text that is safe in elements and attributes; characters that XML does not allow are shown as on a terminal.
fn xml(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| {
            printable(line)
                // Besides control characters, the only ones that a text can contain and XML cannot.
                .replace('\u{fffe}', "\\u{fffe}")
                .replace('\u{ffff}', "\\u{ffff}")
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&quot;")
        })
        .collect();
    lines.join("\n")
}
