//! The header of an output: when the command ran, how long it took, how it ended.
//!
//! Codex writes a few lines of its own before a command's output, separated from it by `Output:`. These lines are kept when the
//! output is removed: they show that the command ran, and how it ended. Older versions wrote a JSON object in a string, which has
//! no such header.

use crate::scan::Text;
use crate::transcript::Outcome;

/// The beginnings of header lines.
const BEGINNINGS: [&[u8]; 4] = [b"Chunk ID: ", b"Wall time: ", b"Exit code: ", b"Script "];
/// The end of a header, as written in a JSON string.
const END: &[u8] = b"\\nOutput:\\n";
/// The maximum length of a header, in bytes.
const LONGEST: usize = 600;

/// The text before an exit status.
const STATUS: [&[u8]; 2] = [b"Process exited with code ", b"Exit code: "];
/// The same in an older output, where the quotes are escaped.
const OLD_STATUS: &[u8] = b"\\\"exit_code\\\":";

/// How many bytes of the string `raw` (as written between its quotes) precede the output itself.
pub(super) fn header(raw: &[u8]) -> usize {
    if !BEGINNINGS.iter().any(|begin| raw.starts_with(begin)) {
        return 0;
    }
    let near = &raw[..raw.len().min(LONGEST)];
    memchr::memmem::find(near, END).map_or(0, |at| at + END.len())
}

/// The agent's answers to calls that it did not carry out.
const NOT_DONE: [&[u8]; 13] = [
    b"unsupported call: ",
    b"unsupported custom tool call: ",
    b"execution error: ",
    b"aborted by user",
    b"exec_command failed for `",
    b"exec_command failed: CreateProcess { message: ",
    b"Command blocked by PreToolUse hook: ",
    b"This action was rejected due to unacceptable risk.",
    b"failed in sandbox",
    b"failed to parse function arguments: ",
    b"apply_patch verification failed: ",
    b"write_stdin failed: ",
    b"invalid agent id ",
];

/// What it writes for a call that never got an output.
const NO_OUTPUT: &[u8] = b"aborted";

/// Whether an output shows that its command failed.
pub(super) fn outcome(raw: &[u8], header: usize) -> Outcome {
    if raw == NO_OUTPUT || NOT_DONE.iter().any(|begin| raw.starts_with(begin)) {
        return Outcome::Failed;
    }
    let status = match header {
        0 if raw.starts_with(b"{\\\"output\\\":") => {
            let found = memchr::memmem::rfind(raw, OLD_STATUS);
            found.map(|at| &raw[at + OLD_STATUS.len()..])
        }
        header => STATUS.iter().find_map(|before| {
            let at = memchr::memmem::find(&raw[..header], before)?;
            Some(&raw[at + before.len()..])
        }),
    };
    let is_sign = |byte: &&u8| byte.is_ascii_digit() || **byte == b'-';
    let status = status.unwrap_or_default().trim_ascii_start();
    let mut digits = status.iter().take_while(is_sign);
    // A missing status counts as zero.
    if digits.any(|digit| !matches!(digit, b'0' | b'-')) {
        Outcome::Failed
    } else {
        Outcome::Fine
    }
}

/// The text without its first `header` bytes.
pub(super) fn body(text: Text, line: &[u8], header: usize) -> Text {
    if header == 0 {
        return text;
    }
    text.without_start(line, header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_with_its_last_line() {
        let raw = br"Chunk ID: 30d4c1\nWall time: 0.0 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\n1\nOutput:\n2";
        assert_eq!(&raw[header(raw)..], br"1\nOutput:\n2");
        let raw = br"Exit code: 1\nWall time: 2 seconds\nOutput:\nno";
        assert_eq!(&raw[header(raw)..], b"no");
        for other in [
            &b"execution error: Io"[..],
            b"Chunk ID: 1",
            br"a\nOutput:\nb",
            b"",
        ] {
            assert_eq!(header(other), 0);
        }
    }

    #[test]
    fn a_status_other_than_zero_is_a_failure() {
        let of = |raw: &[u8]| outcome(raw, header(raw));
        for failed in [
            &b"Command blocked by PreToolUse hook: no. Command: rm a"[..],
            br"This action was rejected due to unacceptable risk.\nReason: x",
            br#"exec_command failed: CreateProcess { message: \"Rejected(\\\"no\\\")\" }"#,
            br"Exit code: 101\nWall time: 1 seconds\nOutput:\nx",
            br"Chunk ID: a\nProcess exited with code -1\nOutput:\nx",
            br#"{\"output\":\"exit_code\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}"#,
            b"unsupported call: shell",
            b"aborted",
            b"failed to parse function arguments: missing field `step`",
            b"exec_command failed for `/bin/zsh -lc 'rm a'`: CreateProcess { message: \\\"Rejected(\\\"",
            b"failed in sandbox None with execution error: command timed out",
            b"apply_patch verification failed: Failed to find expected lines in /w/a.py:",
            b"write_stdin failed: Unknown process id 1",
            b"invalid agent id x: Error(ParseChar)",
        ] {
            assert_eq!(of(failed), Outcome::Failed);
        }
        for fine in [
            &br"Exit code: 0\nWall time: 1 seconds\nOutput:\nExit code: 1"[..],
            br"Chunk ID: a\nProcess running with session ID 7\nOutput:\nx",
            br#"{\"output\":\"\",\"metadata\":{\"exit_code\":0}}"#,
            b"Exit code: 1",
        ] {
            assert_eq!(of(fine), Outcome::Fine);
        }
    }

    #[test]
    fn a_body_is_as_long_as_what_follows() {
        let line = r#""Exit code: 0\nOutput:\né🎉""#.as_bytes();
        let text = crate::scan::Cursor::new(line).string().unwrap();
        let rest = body(text, line, header(text.span.of(line)));
        assert_eq!(rest.span.of(line), "é🎉".as_bytes());
        assert_eq!((rest.scalars, rest.astral), (2, 1));
        // Invalid UTF-8 and a lone surrogate in the header.
        let line = b"\"Exit code: 0 \x9f\x9f\xff\\ud83d\\nOutput:\\nok\xf0\x9f\x8e\x89\"";
        let text = crate::scan::Cursor::new(line).string().unwrap();
        let rest = body(text, line, header(text.span.of(line)));
        assert_eq!((rest.scalars, rest.astral), (3, 1));
    }
}
