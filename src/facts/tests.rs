//! What the tests of all facts share: transcripts, and the facts of their first conversation.

use super::*;
use crate::format::{Format, Warnings};
use crate::policy::preset;

/// The text of a result.
#[derive(Debug, Clone, Copy)]
pub(super) enum ResultText<'s> {
    Fine(&'s str),
    Failed(&'s str),
    /// There is none.
    Nothing,
}

/// A transcript for as long as the tests run.
pub(super) fn read_as(format: Format, lines: &str) -> Transcript<'static> {
    let bytes = lines.as_bytes().to_vec().leak();
    format.read(bytes, 1, &mut Warnings::default())
}

/// Calls as Anthropic writes them, by their tools and inputs, each on a line with its result on the next one.
pub(super) fn anthropic(calls: &[(&str, &str, ResultText<'_>)]) -> Transcript<'static> {
    let mut lines = String::new();
    for (number, (tool, input, said)) in calls.iter().enumerate() {
        let call = r#"{"type":"tool_use","id":"ID","name":"TOOL","input":INPUT}"#;
        let call = call
            .replace("ID", &format!("t{number}"))
            .replace("TOOL", tool);
        let call = call.replace("INPUT", input);
        lines += &format!("{{\"role\":\"assistant\",\"content\":[{call}]}}\n");
        let (said, failed) = match said {
            ResultText::Fine(said) => (said, false),
            ResultText::Failed(said) => (said, true),
            ResultText::Nothing => continue,
        };
        let said = serde_json::to_string(said).unwrap();
        lines += &format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{number}\",\"content\":{said},\"is_error\":{failed}}}]}}\n"
        );
    }
    read_as(Format::Anthropic, &lines)
}

/// The facts of the first conversation.
pub(super) fn in_main<F>(
    transcript: &Transcript<'_>,
    facts: impl Fn(&Transcript<'_>, &[Exchange]) -> F,
) -> F {
    let tools = preset("auto").unwrap().tools;
    facts(
        transcript,
        &exchanges(transcript, &transcript.conversations[0], &tools),
    )
}

#[test]
fn calls_find_their_results() {
    let lines = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}},{"type":"tool_use","id":"b","name":"Read","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"1"},{"type":"tool_result","tool_use_id":"nobody","content":"2"},{"type":"tool_result","tool_use_id":"b","content":"again"}]}
{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"Odd","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"3"},{"type":"tool_result","tool_use_id":"a","content":"4"}]}
"#;
    let transcript = read_as(Format::Anthropic, lines);
    let found = in_main(&transcript, |_, exchanges| exchanges.to_vec());
    let found: Vec<(String, Option<String>)> = found
        .iter()
        .map(|exchange| {
            let said = |place: FactLocation| {
                block_text(&transcript, transcript.block(place.block)).into_owned()
            };
            (
                exchange.tool(&transcript).into_owned(),
                exchange.result.map(said),
            )
        })
        .collect();
    let expected = [("Bash", "4"), ("Read", "1"), ("Odd", "3")];
    assert_eq!(
        found,
        expected.map(|(tool, said)| (tool.to_owned(), Some(said.to_owned())))
    );
}

#[test]
fn a_long_result_begins_as_all_of_it_does() {
    for (before, more) in [(0, 0), (1, 1), (2, 90), (200, 3), (300, 0)] {
        for letter in ["a", "\n", "\\", "世", "🎉", "\u{7}"] {
            let all = "\n".repeat(before) + "x " + &letter.repeat(200 + more);
            let transcript = anthropic(&[("Bash", "{}", ResultText::Fine(&all))]);
            let found = in_main(&transcript, |transcript, exchanges| {
                let result = exchanges[0].result.unwrap();
                beginning(transcript, transcript.block(result.block), 20).into_owned()
            });
            let expected: String = all.trim_start().chars().take(20).collect();
            assert_eq!(found, expected, "{before} {letter:?}");
        }
    }
}
