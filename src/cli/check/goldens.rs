//! Goldens of figures: what a report must say, and what `--update` writes.
//!
//! A golden lists the keys that must match; other keys of a report may have any value. A figure may be a limit, like `"<= 9000"`.
//! Reads and writes no file.

use serde_json::{Map, Value, json};

use super::limit::Limit;
use crate::cli::json_line;
use crate::scan::{Anomalies, Cursor, Kind, Parse};
use crate::text::printable;

/// Adds to `mismatches` what is in `listed` but not in `stats`.
pub(super) fn check_subset(listed: &Value, stats: &Value, path: &str, mismatches: &mut String) {
    match (listed, stats) {
        (Value::Object(listed), Value::Object(stats)) => {
            for (key, value) in listed {
                let key_shown = printable(key);
                if value.is_null() && !stats.contains_key(key) {
                    mismatches.push_str(&format!("  {path}.{key_shown}: there is no such key\n"));
                    continue;
                }
                check_subset(
                    value,
                    stats.get(key).unwrap_or(&Value::Null),
                    &format!("{path}.{key_shown}"),
                    mismatches,
                );
            }
        }
        (Value::Array(listed), Value::Array(stats)) if listed.len() == stats.len() => {
            for (i, (listed, stats)) in listed.iter().zip(stats).enumerate() {
                check_subset(listed, stats, &format!("{path}[{i}]"), mismatches);
            }
        }
        (Value::Array(listed), Value::Array(stats)) => {
            mismatches.push_str(&format!(
                "  {path}: expected {} entries, got {}\n",
                listed.len(),
                stats.len()
            ));
        }
        (Value::String(text), Value::Number(number)) if Limit::signed(text).is_some() => {
            let holds = |limit: Limit| number.as_f64().is_some_and(|number| limit.holds(number));
            if !Limit::signed(text).is_some_and(holds) {
                mismatches.push_str(&format!(
                    "  {path}: expected {}, got {number}\n",
                    printable(text)
                ));
            }
        }
        _ if listed == stats => {}
        _ => {
            let [listed, stats] = [listed, stats].map(json_line);
            mismatches.push_str(&format!("  {path}: expected {listed}, got {stats}\n"));
        }
    }
}

/// Whether an object in a JSON value has a key twice.
pub(super) fn repeats_a_key(json: &[u8]) -> bool {
    fn value(c: &mut Cursor<'_>) -> Parse<()> {
        match c.kind()? {
            Kind::Object => c.object(|_, c| value(c)).map(drop),
            Kind::Array => c.array(value).map(drop),
            Kind::String | Kind::Number | Kind::Bool | Kind::Null => c.skip().map(drop),
        }
    }
    let mut cursor = Cursor::new(json);
    value(&mut cursor).is_ok() && cursor.anomalies.contains(Anomalies::DUPLICATE_KEY)
}

/// Whether every report would match the list. That there is one input is true of every report.
pub(super) fn lists_nothing(listed: &Value) -> bool {
    let Value::Object(listed) = listed else {
        return false;
    };
    listed.iter().all(|(key, value)| match value {
        Value::Array(files) if key == "files" && files.len() == 1 => {
            files.iter().all(lists_nothing)
        }
        value => lists_nothing(value),
    })
}

/// `listed` with the values of `stats`, and no other keys. A limit was written on purpose: it stays, even if what it limited no
/// longer exists. Entries of a list that was empty have the keys that they have in `fresh`, the expectations of a new case, so that
/// what an update writes does not depend on what was there before.
pub(super) fn merge_update(listed: &Value, stats: &Value, fresh: &Value) -> Value {
    match (listed, stats) {
        (Value::Object(listed), Value::Object(stats)) => {
            let renew = |(key, value): (&String, &Value)| {
                let new = match stats.get(key) {
                    Some(new) => merge_update(value, new, &fresh[key]),
                    None => limits(value)?,
                };
                Some((key.clone(), new))
            };
            Value::Object(listed.iter().filter_map(renew).collect::<Map<_, _>>())
        }
        (Value::Array(listed), Value::Array(stats)) => match listed.last() {
            Some(last) => {
                // New entries list the same keys as the last of the old ones.
                let all = listed.iter().chain(std::iter::repeat(last));
                let entries = all.zip(stats).enumerate();
                let entries =
                    entries.map(|(i, (listed, stats))| merge_update(listed, stats, &fresh[i]));
                let gone = listed.iter().skip(stats.len());
                entries.chain(gone.filter_map(limits)).collect()
            }
            None if fresh.is_array() => fresh.clone(),
            None => stats.clone().into(),
        },
        // The limit is on a number, or on one that no longer exists.
        (Value::String(_), Value::String(_)) => stats.clone(),
        _ => limits(listed).unwrap_or_else(|| stats.clone()),
    }
}

/// The limits in what is listed, if there are any.
fn limits(listed: &Value) -> Option<Value> {
    match listed {
        Value::String(text) => Limit::signed(text).map(|_| listed.clone()),
        Value::Object(all) => {
            let kept = all
                .iter()
                .filter_map(|(key, one)| Some((key.clone(), limits(one)?)));
            let kept: Map<_, _> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        // Each entry keeps its place.
        Value::Array(all) => all
            .iter()
            .any(|one| limits(one).is_some())
            .then(|| listed.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// What the expectations of a new case list: the numbers and actions that a reader can check by hand.
pub(super) fn key_figures(stats: &Value) -> Value {
    let file = &stats["files"][0];
    let conversations: Vec<Value> = file["conversations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|source| {
            let actions = source["actions"].as_array().into_iter().flatten();
            let actions: Vec<Value> = actions
                .map(|action| {
                    pick(
                        action,
                        &[
                            "kind",
                            "line",
                            "message",
                            "tool",
                            "tokens_before",
                            "tokens_after",
                        ],
                    )
                })
                .collect();
            let mut conversation = pick(
                source,
                &[
                    "id",
                    "tokens_before",
                    "tokens_after",
                    "messages_before",
                    "messages_after",
                ],
            );
            let summary = &source["summary"];
            if summary.is_object() {
                conversation["summary"] = pick(
                    summary,
                    &[
                        "source",
                        "success",
                        "messages",
                        "preserved_messages",
                        "fallback",
                        "cut_moved",
                        "user_verbatim",
                        "user_clipped",
                    ],
                );
            }
            for key in ["target", "restored"] {
                let is_there = match &source[key] {
                    Value::Array(entries) => !entries.is_empty(),
                    value => !value.is_null(),
                };
                if is_there {
                    conversation[key] = source[key].clone();
                }
            }
            conversation["actions"] = actions.into();
            conversation
        })
        .collect();
    let warnings: Vec<Value> = file["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|warning| json!({"kind": warning["kind"], "line": warning["line"]}))
        .collect();
    let mut key_figures = json!({
        "format": file["format"], "status": file["status"],
        "findings_before": file["findings_before"], "findings_after": file["findings_after"],
        "warnings": warnings, "conversations": conversations,
    });
    if file["degraded"] != json!([]) {
        key_figures["degraded"] = file["degraded"].clone();
    }
    json!({"files": [key_figures]})
}

/// The same for a new case of `stats`.
pub(super) fn key_figures_of_counts(counts: &Value) -> Value {
    let file = &counts["files"][0];
    let conversations = file["conversations"].as_array().into_iter().flatten();
    let conversations: Vec<Value> = conversations
        .map(|one| pick(one, &["id", "messages", "turns", "tokens"]))
        .collect();
    let mut key_figures = pick(
        file,
        &["format", "status", "live", "dead", "roles", "tools"],
    );
    key_figures["conversations"] = conversations.into();
    json!({"estimator": counts["estimator"], "files": [key_figures]})
}

/// The same for a new case of `replay`.
pub(super) fn key_figures_of_replay(replay: &Value) -> Value {
    let file = &replay["files"][0];
    let sessions = file["sessions"].as_array().into_iter().flatten();
    let sessions: Vec<Value> = sessions
        .map(|session| {
            let policies = session["policies"].as_array().into_iter().flatten();
            let policies = policies.map(|one| pick(one, &["compactions", "edits", "own", "steps"]));
            json!({"policies": policies.collect::<Vec<_>>()})
        })
        .collect();
    json!({"files": [{"status": file["status"], "sessions": sessions}]})
}

fn pick(value: &Value, keys: &[&str]) -> Value {
    let there = keys
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), value.get(*key)?.clone())));
    Value::Object(there.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_may_be_a_limit() {
        let listed = json!({"tokens": "<= 9", "name": "<= 9", "kept": [1]});
        let mut mismatches = String::new();
        check_subset(
            &listed,
            &json!({"tokens": 9, "name": "<= 9", "kept": [1]}),
            "r",
            &mut mismatches,
        );
        assert_eq!(mismatches, "");
        let got = json!({"tokens": 10, "name": "<= 9", "kept": [2]});
        check_subset(&listed, &got, "r", &mut mismatches);
        assert_eq!(
            mismatches,
            "  r.tokens: expected <= 9, got 10\n  r.kept[0]: expected 1, got 2\n"
        );
        // It stays when the rest is written again.
        let merge_update = merge_update(&listed, &got, &Value::Null);
        assert_eq!(
            merge_update,
            json!({"tokens": "<= 9", "name": "<= 9", "kept": [2]})
        );
    }

    #[test]
    fn what_every_report_is_like_is_nothing() {
        for nothing in [json!({}), json!({"files": [{}]}), json!({"totals": {}})] {
            assert!(lists_nothing(&nothing), "{nothing}");
        }
        for something in [
            json!({"files": [{"status": "replayed"}]}),
            json!({"files": [{"sessions": []}]}),
            json!({"totals": {"files": null}}),
            json!([]),
        ] {
            assert!(!lists_nothing(&something), "{something}");
        }
    }

    #[test]
    fn a_limit_stays_where_there_is_nothing_to_limit() {
        let listed = json!({"name": "x", "summary": {"tokens": "<= 9", "source": "a"}, "files": [{"n": 1}, {"n": "> 2", "m": 3}]});
        assert_eq!(
            merge_update(
                &listed,
                &json!({"name": "y", "files": [{"n": 7, "m": 1}]}),
                &Value::Null
            ),
            json!({"name": "y", "summary": {"tokens": "<= 9"}, "files": [{"n": 7}, {"n": "> 2"}]})
        );
        assert_eq!(
            merge_update(
                &listed,
                &json!({"name": "y", "summary": null, "files": []}),
                &Value::Null
            ),
            json!({"name": "y", "summary": {"tokens": "<= 9"}, "files": [{"n": "> 2"}]})
        );
    }
}
