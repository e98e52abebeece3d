//! Rendered texts that are recognised, and texts that are not.

use proptest::prelude::*;

use super::*;

fn template(source: &str) -> Template {
    Template::from(source.to_owned())
}

fn values<'a>(
    name: &'a str,
    tool: &'a str,
    preview: &'a str,
    summary: &'a str,
) -> Substitutions<'a> {
    Substitutions {
        name,
        tool,
        preview,
        summary,
    }
}

#[test]
fn a_long_text_is_taken_apart_in_no_time() {
    let two = template("[{preview}] and {summary} end");
    let text = format!("[{}", "é ".repeat(1_000_000));
    let start = std::time::Instant::now();
    assert_eq!(two.matches(&format!("{text} end")), None);
    let whole = format!("{text}] and b end");
    let found = two.matches(&whole);
    assert_eq!(found.map(|found| found.summary), Some("b"));
    let own = template("{preview}aa{summary}b");
    assert_eq!(own.matches("aaab"), Some(values("", "", "", "a")));
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn braces_around_anything_else_are_text() {
    let odd = template("{{tool}} {other} {name {summary}}");
    let all = values("n", "t", "p", "s");
    assert_eq!(odd.render(&all), "{t} {other} {name s}");
    assert_eq!(
        odd.matches("{t} {other} {name s}"),
        Some(values("", "t", "", "s"))
    );
    assert_eq!(odd.as_str(), "{{tool}} {other} {name {summary}}");
}

#[test]
fn the_whole_text_must_be_covered() {
    let cleared = template("[Previous: used {tool}]");
    assert_eq!(
        cleared.matches("[Previous: used bash]"),
        Some(values("", "bash", "", ""))
    );
    for other in [
        "[Previous: used bash] and more",
        " [Previous: used bash]",
        "[Previous: used ]",
        "[Previous: used bash\nls]",
        "[Previous: used ",
        "",
    ] {
        assert_eq!(cleared.matches(other), None, "{other}");
    }
}

#[test]
fn a_text_without_substitutions_matches_itself_and_an_empty_one_nothing() {
    let fixed = template("[Output compacted - re-read if needed]");
    assert_eq!(
        fixed.matches("[Output compacted - re-read if needed]"),
        Some(Substitutions::default())
    );
    assert_eq!(fixed.matches("[Output compacted - re-read if needed"), None);
    assert_eq!(template("").matches(""), None);
}

#[test]
fn the_last_text_stands_at_the_end_even_where_a_value_repeats_it() {
    let demoted = template("Saved to: {name}\nPreview:\n{preview}...");
    let text = "Saved to: a\nPreview:\nwait.....\nPreview:\n...";
    assert_eq!(
        demoted.matches(text),
        Some(values("a", "", "wait.....\nPreview:\n", ""))
    );
}

#[test]
fn a_substitution_made_twice_has_one_value() {
    let twice = template("{tool} ran; run {tool} again");
    assert_eq!(
        twice.matches("a ran; run a ran; run a again"),
        None,
        "the first could be \"a\" or \"a ran; run a\", the second only the rest"
    );
    assert_eq!(
        twice.matches("ls ran; run ls again"),
        Some(values("", "ls", "", ""))
    );
}

#[test]
fn what_cannot_be_told_apart_is_not_recognisable() {
    let verdicts = [
        "",
        " ",
        "{tool}",
        "{name}{tool} x",
        "{tool}\n{name}",
        "x {tool} {name}",
    ]
    .map(|source| template(source).is_recognisable());
    assert_eq!(verdicts, [false, false, false, false, false, true]);
}

#[test]
fn the_prefix_ends_at_the_first_substitution() {
    assert_eq!(
        template("[COMPACTED_CONTEXT]{summary}").prefix(),
        "[COMPACTED_CONTEXT]"
    );
    assert_eq!(template("{summary} x").prefix(), "");
    assert_eq!(template("fixed").prefix(), "fixed");
}

/// A template as a user might write it, from few characters, so that texts and values look alike.
fn any_template() -> impl Strategy<Value = Template> {
    let slot = prop::sample::select(Slot::ALL.map(Slot::written).to_vec());
    let part = prop_oneof!["[ab.{}\n]{1,3}", slot.prop_map(str::to_owned)];
    prop::collection::vec(part, 1..6).prop_map(|parts| template(&parts.concat()))
}

proptest! {
    /// The shipped forms: names of one line come back whatever they hold.
    #[test]
    fn recognises_what_it_rendered(
        name in "[^\n]{1,20}", tool in "[^\n]{1,20}", preview in "(?s).{0,40}", summary in "(?s).{0,40}",
    ) {
        let all = values(&name, &tool, &preview, &summary);
        for (source, found) in [
            ("Output too large. Saved to: {name}\nPreview:\n{preview}...", values(&name, "", &preview, "")),
            ("[Output of {tool} cleared - run it again if needed]", values("", &tool, "", "")),
            ("Tool result is at: {name}", values(&name, "", "", "")),
            ("[Conversation compressed. Transcript: {name}]\n\n{summary}", values(&name, "", "", &summary)),
            ("[对话摘要]\n{summary}\n[摘要结束]", values("", "", "", &summary)),
        ] {
            let text = template(source).render(&all);
            prop_assert_eq!(template(source).matches(&text), Some(found));
        }
    }

    /// Any template recognises its own output; if it matches in two ways, both render it.
    #[test]
    fn a_match_renders_the_text_again(
        template in any_template(), name in "[ab.]{1,3}", tool in "[ab.]{1,3}", preview in "[ab.\n]{0,3}", summary in "[ab.\n]{0,3}",
    ) {
        let text = template.render(&values(&name, &tool, &preview, &summary));
        let found = template.matches(&text).map(|found| template.render(&found));
        prop_assert_eq!(found, Some(text));
    }

    /// Texts that it did not render are either rejected or matched completely.
    #[test]
    fn a_match_covers_any_text(template in any_template(), text in "[ab.\n]{0,8}") {
        if let Some(found) = template.matches(&text) {
            prop_assert_eq!(template.render(&found), text);
        }
    }
}
