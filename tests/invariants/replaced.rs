//! Finds what was done to results by comparing a file with its output.

use std::collections::BTreeMap;

use ctxpack::format::{Format, Layout};
use ctxpack::plan::kind_of;
use ctxpack::policy::Substitutions;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::case::{Case, Kept, Run, offload_path, split};
use super::json::Node;
use super::view::{LineView, ResultView, is_all_text, result_text, view};

/// A result whose content was replaced.
#[derive(Debug)]
pub(super) struct Changed {
    /// Its line, from 0.
    pub line: usize,
    /// Its number among the results of its line, from 0.
    pub at: usize,
    pub id: String,
    /// Its old text.
    pub before: Vec<u8>,
    /// The size of the first line of its new text as a JSON string, in bytes.
    pub first_line: usize,
    /// Which of the policy's texts it now has, if it is one of them.
    pub replaced: Option<Replaced>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced {
    Cleared,
    Demoted,
    Superseded,
}

/// The results that a run changed, in the order of the file.
pub(super) fn changed_results(case: &Case, run: &Run) -> Vec<Changed> {
    let Some((format, _)) = run.detected else {
        return Vec::new();
    };
    let tools = Tools::of(case, run);
    let mut changed = Vec::new();
    for Kept {
        line,
        before,
        after,
    } in run.kept(&case.bytes)
    {
        if before.0 == after.0 {
            continue;
        }
        let (Some(old), Some(new)) = (view(format, before.0), view(format, after.0)) else {
            continue;
        };
        for (at, (old, new)) in old.results.iter().zip(&new.results).enumerate() {
            let (Some(was), Some(is)) = (&old.content, &new.content) else {
                continue;
            };
            if was.of(before.0) == is.of(after.0) {
                continue;
            }
            let now = result_text(after.0, is);
            let first_line = now.split(|b| *b == b'\n').next().unwrap_or_default();
            let first_line = String::from_utf8_lossy(first_line);
            let first_line = first_line.strip_suffix('\r').unwrap_or(&first_line);
            let is_text = is_all_text(before.0, was);
            let was = result_text(before.0, was);
            changed.push(Changed {
                line,
                at,
                id: old.id.clone(),
                first_line: serde_json::to_string(first_line).unwrap().len(),
                replaced: tools
                    .names(line, old)
                    .iter()
                    .find_map(|tool| replaced(case, tool, &was, &now))
                    .filter(|replaced| *replaced != Replaced::Demoted || is_text),
                before: was,
            });
        }
    }
    changed
}

/// Which of the policy's texts replaced the result of this tool.
fn replaced(case: &Case, tool: &str, before: &[u8], after: &[u8]) -> Option<Replaced> {
    let policy = &case.policy;
    let text = String::from_utf8_lossy(before);
    let demoted = Substitutions {
        name: &offload_path(before),
        tool,
        preview: &text
            .chars()
            .take(policy.demote.preview_chars as usize)
            .collect::<String>(),
        summary: "",
    };
    let cleared = Substitutions {
        tool,
        ..Substitutions::default()
    };
    if policy.clear.placeholder.render(&cleared).as_bytes() == after {
        Some(Replaced::Cleared)
    } else if policy.demote.text.render(&demoted).as_bytes() == after {
        Some(Replaced::Demoted)
    } else if policy.superseded.placeholder.render(&cleared).as_bytes() == after {
        Some(Replaced::Superseded)
    } else {
        None
    }
}

/// The tools of a file's calls, by the calls' ids.
pub(super) struct Tools {
    layout: Layout,
    /// One map per file, or one per line that is a conversation.
    names: BTreeMap<(usize, String), Vec<String>>,
}

impl Tools {
    pub(super) fn of(case: &Case, run: &Run) -> Tools {
        let (format, layout) = run.detected.unwrap_or((case.format, case.layout));
        let mut tools = Tools {
            layout,
            names: BTreeMap::new(),
        };
        for (number, (line, _)) in split(&case.bytes).1.into_iter().enumerate() {
            let calls = view(format, line).map(|view| view.calls);
            for (id, name) in calls.unwrap_or_default() {
                tools
                    .names
                    .entry((tools.scope(number), id))
                    .or_default()
                    .push(name);
            }
        }
        tools
    }

    fn scope(&self, line: usize) -> usize {
        match self.layout {
            Layout::File => 0,
            Layout::Line => line,
        }
    }

    /// The names that the tool of a result may have: several only where an id occurs twice.
    pub(super) fn names(&self, line: usize, result: &ResultView) -> Vec<String> {
        let called = self.names.get(&(self.scope(line), result.id.clone()));
        let mut names = match called {
            Some(names) if !result.id.is_empty() => names.clone(),
            Some(_) | None => Vec::new(),
        };
        // A call in another conversation of the file, or on a dead line, does not belong to this result.
        names.push(result.tool.clone());
        for name in &mut names {
            if name.is_empty() {
                "unknown".clone_into(name);
            }
        }
        names
    }

    /// Whether a result is one of the kinds that the policy clears.
    pub(super) fn is_of_policy(&self, case: &Case, line: usize, result: &ResultView) -> bool {
        let kinds = &case.policy.clear.tools;
        let name = &self.names(line, result)[0];
        kinds.is_empty() || kinds.contains(&kind_of(name, &case.policy.tools))
    }
}

/// Two lines differ only in the contents of results, which keep their shape, in strings and lists that repeat a result, in
/// links to other lines and in the figures that a provider counted.
pub(super) fn same_but_for_results(format: Format, before: &[u8], after: &[u8]) -> TestCaseResult {
    let (Some(old), Some(new)) = (view(format, before), view(format, after)) else {
        return Err(TestCaseError::fail("a line without an object was edited"));
    };
    let (old, new) = (holes(old), holes(new));
    prop_assert_eq!(old.len(), new.len());
    let (mut at, mut at_after) = (0, 0);
    for ((old, hole), (new, _)) in old.into_iter().zip(new) {
        prop_assert_eq!(
            &before[at..old.span.start],
            &after[at_after..new.span.start]
        );
        (at, at_after) = (old.span.end, new.span.end);
        if old.of(before) == new.of(after) {
            continue;
        }
        match hole {
            Hole::Link => {
                let is_link = new.is_text() || new.of(after) == b"null";
                prop_assert!(old.is_text() && is_link);
                continue;
            }
            Hole::Figure => {
                prop_assert!(new.number(after) < old.number(before));
                prop_assert!(new.number(after).is_some());
                continue;
            }
            Hole::Content | Hole::Mirror => {}
        }
        let becomes_list = new.is_list()
            && match hole {
                Hole::Content => new.list().len() == 1 && is_all_text(after, &new),
                Hole::Mirror | Hole::Link | Hole::Figure => new.list().is_empty(),
            };
        prop_assert!(
            (old.is_text() || old.is_json()) && new.is_text() || old.is_list() && becomes_list,
            "{} became {}",
            old.of(before).escape_ascii(),
            new.of(after).escape_ascii()
        );
    }
    prop_assert_eq!(&before[at..], &after[at_after..]);
    Ok(())
}

/// What may change on a line.
#[derive(Debug, Clone, Copy)]
enum Hole {
    Content,
    Mirror,
    Link,
    Figure,
}

/// The values that may change, in the order of the line.
fn holes(view: LineView) -> Vec<(Node, Hole)> {
    let contents = view.results.into_iter().filter_map(|result| result.content);
    let contents = contents.map(|content| (content, Hole::Content));
    let mirrors = view
        .mirrors
        .into_iter()
        .map(|mirror| (mirror.node, Hole::Mirror));
    let links = view.link.into_iter().map(|node| (node, Hole::Link));
    let figures = view.figures.into_iter().map(|node| (node, Hole::Figure));
    let sums = view.sums.into_iter().map(|node| {
        let hole = if node.is_text() {
            Hole::Link
        } else {
            Hole::Figure
        };
        (node, hole)
    });
    let holes = contents.chain(mirrors).chain(links).chain(figures);
    let holes = holes.chain(sums);
    let mut holes: Vec<(Node, Hole)> = holes.collect();
    holes.sort_by_key(|(node, _)| node.span.start);
    holes
}
