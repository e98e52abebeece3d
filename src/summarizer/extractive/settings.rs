//! The numeric settings of a call: how long it may run, how much it may print, where it begins to read.
//!
//! Found by their form, a key and a number, in JSON and in code alike. Does not know what they mean.

/// The minimum number of digits: shorter numbers are not names.
const DIGITS: usize = 3;

/// Calls `found` with each key and its number in a call's input, repeated ones included.
pub(super) fn settings<'t>(input: &'t str, mut found: impl FnMut(&'t str, &'t str)) {
    for (at, _) in input.match_indices(':') {
        let (before, after) = (&input[..at], input[at + 1..].trim_ascii_start());
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let ends = after.as_bytes().get(digits);
        let is_alone = ends.is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b',' | b'}'));
        // `a:100` is one word, and may be a place in a file.
        let is_apart = before.ends_with('"') || input[at + 1..].starts_with(' ');
        if digits < DIGITS || !is_alone || !is_apart {
            continue;
        }
        let before = before.trim_end_matches(['"', '\\']);
        let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (lead, key) = before.split_at(before.trim_end_matches(is_of_key).len());
        // In a sentence, it may be a value that was not to be set.
        let lead = lead.trim_end_matches(['"', '\\']).trim_ascii_end();
        let is_member = lead.ends_with(['{', ',']);
        // The id of a session or a process is not a setting: results name those that still exist.
        let is_id = ["_id", "Id", "ID"].iter().any(|end| key.ends_with(end));
        if is_member && !is_id && key.starts_with(|c: char| c.is_ascii_alphabetic()) {
            found(key, &after[..digits]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_numbers_are_found_in_json_and_in_code() {
        let of = |input| {
            let mut all = Vec::new();
            settings(input, |key, number| all.push(format!("{key} {number}")));
            all
        };
        assert_eq!(
            of(
                r#"{"command":"date +%H:%M; curl localhost:8080","timeout":120000,"n":12,"at":"10:300"}"#
            ),
            ["timeout 120000"]
        );
        assert_eq!(
            of(
                "await tools.exec_command({cmd: 'ls', yield_time_ms: 30000, max_output_tokens: 4000 })"
            ),
            ["yield_time_ms 30000", "max_output_tokens 4000"]
        );
        assert!(of(r#"{"session_id":34270,"taskId":4711}"#).is_empty());
        assert!(of(r#"{"x":1000.5,"3":400} {y:1000}"#).is_empty());
        assert!(of(r#"{"prompt":"Do not set timeout: 5000, nor\nlimit: 300"}"#).is_empty());
    }
}
