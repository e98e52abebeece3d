//! The same command five times: the first changes what it may, and the others change nothing, whatever the target is.

use super::harness::{Place, anthropic, anthropic_of, claude_code, openai};

/// Conversations: with many results, and with one that alone is larger than any share, of which no summary tells.
fn inputs() -> [(&'static str, String); 4] {
    let alone = "the gauge at alder-quay lags by an hour; ".repeat(4_000);
    [
        ("anthropic", anthropic(24, 0)),
        ("openai", openai(24, 0)),
        ("claude-code", claude_code(24, 0)),
        ("one output", anthropic_of([alone])),
    ]
}

#[test]
fn the_same_command_again_changes_nothing() {
    for flags in [
        "--target 5%",
        "--target 50% --summarize always",
        "--target 5% --summarize always",
        "--target 5% --set target.kind=aim",
        "--target 800 --summarize always",
        "--summarize always",
    ] {
        for policy in [
            "auto",
            "layered",
            "offload-first",
            "reset",
            "boundary",
            "turns",
        ] {
            let inputs = inputs().map(|(name, text)| (format!("in/{name}.jsonl"), text));
            let place =
                Place::in_memory().and(&inputs.each_ref().map(|(name, text)| (&name[..], text)));
            let texts = || inputs.each_ref().map(|(name, _)| place.text(name));
            let command = format!("compact --in-place in --no-report --policy {policy} {flags}");
            place.run(&command);
            let once = texts();
            for time in 2..=5 {
                place.run(&command);
                for (((name, _), again), once) in inputs.iter().zip(texts()).zip(&once) {
                    assert!(
                        again == *once,
                        "{name}, {policy} {flags}: time {time}: {} bytes, then {}",
                        once.len(),
                        again.len()
                    );
                }
            }
        }
    }
}

#[test]
fn a_share_is_one_of_the_original() {
    let place = Place::with(&[("in.jsonl", anthropic(24, 0))]);
    let tokens = |name: &str| {
        place.json(name)["files"][0]["conversations"][0]["target"]["tokens"]
            .as_u64()
            .unwrap()
    };
    place.run("compact in.jsonl --target 20% --summarize always");
    let first = tokens("in.compact.stats.json");
    assert!(first > 100, "{first}");
    // The summary says how large it was, also where nobody has a record.
    let summary = place.read("in.compact.jsonl");
    let elsewhere = Place::with(&[("out.jsonl", summary)]);
    elsewhere.run("compact out.jsonl --target 20% --summarize always");
    let report = elsewhere.json("out.compact.stats.json");
    assert_eq!(
        report["files"][0]["conversations"][0]["target"]["tokens"],
        first
    );
    assert_eq!(report["files"][0]["status"], "unchanged");
    // Half of what is asked for now is a half of it, too.
    elsewhere.run("compact out.jsonl --target 10% --summarize always --overwrite");
    let report = elsewhere.json("out.compact.stats.json");
    assert_eq!(
        report["files"][0]["conversations"][0]["target"]["tokens"],
        first / 2
    );
}
