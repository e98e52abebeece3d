//! Small valid and invalid histories, in one table per format; and the comparison of findings.

mod ai_sdk;
mod anthropic;
mod claude_code;
mod openai;
mod pi;

use super::*;
use crate::format::{Format, Warnings};

/// The findings in a file of these lines: severity, rule, line and id of each, in order.
fn found(format: Format, lines: &[String]) -> Vec<String> {
    let text = lines.join("\n");
    let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
    format
        .verify(&transcript)
        .iter()
        .map(|f| {
            let severity = match f.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            format!("{severity} {} {} {}", f.rule.name(), f.line, f.id)
        })
        .collect()
}

/// A claim, a history, and its exact findings.
type Case<'a> = (&'a str, Vec<String>, &'a [&'a str]);

fn check(format: Format, cases: &[Case<'_>]) {
    for (claim, lines, expected) in cases {
        assert_eq!(found(format, lines), *expected, "{claim}");
    }
}

const ALL: [Rule; 32] = [
    Rule::MissingResult,
    Rule::OrphanResult,
    Rule::DuplicateCall,
    Rule::DuplicateResult,
    Rule::InvalidId,
    Rule::ResultsNotFirst,
    Rule::MissingServerResult,
    Rule::OrphanServerResult,
    Rule::ArgumentsNotString,
    Rule::MalformedCall,
    Rule::MisplacedBlock,
    Rule::EmptyText,
    Rule::EmptyMessage,
    Rule::UnsignedThinking,
    Rule::ThinkingLast,
    Rule::ThinkingNotFirst,
    Rule::FirstNotUser,
    Rule::LastNotUser,
    Rule::MisplacedSystem,
    Rule::InvalidJson,
    Rule::NoConversation,
    Rule::ChainParentMissing,
    Rule::ChainBroken,
    Rule::BoundaryAlone,
    Rule::SummaryNotSent,
    Rule::SummaryMalformed,
    Rule::PreservedMissing,
    Rule::DuplicateUuid,
    Rule::LeafMissing,
    Rule::HeaderMissing,
    Rule::ContentNotList,
    Rule::UsageMissing,
];

#[test]
fn the_name_of_a_rule_is_its_own_in_kebab_case() {
    for rule in ALL {
        let mut kebab = String::new();
        for c in format!("{rule:?}").chars() {
            if c.is_uppercase() && !kebab.is_empty() {
                kebab.push('-');
            }
            kebab.extend(c.to_lowercase());
        }
        assert_eq!(rule.name(), kebab);
    }
}

#[test]
fn a_finding_says_where_and_what_in_the_words_of_the_provider() {
    let line =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]}"#;
    let lines = format!(
        "{{\"role\":\"user\",\"content\":\"go\"}}\n{line}\n{{\"role\":\"user\",\"content\":\"no\"}}"
    );
    let transcript = Format::Anthropic.read(lines.as_bytes(), 1, &mut Warnings::default());
    assert_eq!(
        Format::Anthropic.verify(&transcript),
        [Finding {
            rule: Rule::MissingResult,
            severity: Severity::Error,
            line: 2,
            conversation: "main".into(),
            id: "t1".to_owned(),
            message: "`tool_use` ids were found without `tool_result` blocks immediately after: t1"
                .to_owned(),
        }]
    );
    assert_eq!(
        Rule::MissingResult.wording(Provider::OpenAi),
        Some(
            "An assistant message with 'tool_calls' must be followed by tool messages \
             responding to each 'tool_call_id'"
        )
    );
    assert_eq!(Rule::ChainBroken.wording(Provider::Anthropic), None);
}

fn finding(rule: Rule, severity: Severity, line: u64, id: &str) -> Finding {
    Finding {
        rule,
        severity,
        line,
        conversation: "main".into(),
        id: id.to_owned(),
        message: String::new(),
    }
}

#[test]
fn only_errors_that_were_not_there_before_are_new() {
    use Rule::{DuplicateCall, EmptyText, MissingResult, OrphanResult};
    use Severity::{Error, Warning};
    let before = [
        finding(MissingResult, Error, 9, "a"),
        finding(EmptyText, Error, 3, ""),
        finding(EmptyText, Error, 4, ""),
        finding(DuplicateCall, Warning, 5, "w"),
    ];
    let after = [
        finding(EmptyText, Error, 1, ""),
        // The same rule with another id, and the same id with another rule.
        finding(MissingResult, Error, 2, "b"),
        finding(OrphanResult, Error, 2, "a"),
        // Known before, although its line has moved.
        finding(MissingResult, Error, 2, "a"),
        finding(EmptyText, Error, 5, ""),
        // One more of a kind than before.
        finding(EmptyText, Error, 6, ""),
        // A warning does not count, and an earlier warning does not account for an error.
        finding(OrphanResult, Warning, 7, "c"),
        finding(DuplicateCall, Error, 8, "w"),
    ];
    assert_eq!(
        new_findings(&before, &after),
        [&after[1], &after[2], &after[5], &after[7]]
    );
    assert_eq!(new_findings(&before, &before), Vec::<&Finding>::new());
    assert_eq!(new_findings(&after, &[]), Vec::<&Finding>::new());
}

#[test]
fn no_input_is_too_odd_to_be_checked() {
    let text = [
        r#"{"type":"user","uuid":"u","parentUuid":null,"isSidechain":true,"message":{"role":"user","content":[1,"a",null]}}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":"b","compactMetadata":{"preservedMessages":{"uuids":["u",1,"x"]}}}"#,
        r#"{"type":"user","uuid":"s","parentUuid":"b","isCompactSummary":true,"message":{"role":"user","content":[{"type":"tool_result"}]}}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use"},{"type":"web_search_tool_result"},{"type":"text"}],"tool_calls":[1,{}]}"#,
        r#"{"role":"tool","content":{"a":"\ud800"}}"#,
        r#"{"messages":[]}"#,
    ]
    .join("\n");
    for format in Format::ALL {
        for end in 0..=text.len() {
            let transcript = format.read(&text.as_bytes()[..end], 1, &mut Warnings::default());
            let findings = format.verify(&transcript);
            assert_eq!(new_findings(&findings, &findings), Vec::<&Finding>::new());
        }
    }
}
