//! The kinds of tools, by their names in the known agents.

use std::sync::LazyLock;

use super::input::Input;
use super::shape::kind_by_shape;
use crate::format::{Format, ToolNames};
use crate::ids::{IdMap, IdSet};
use crate::policy::{ToolKind, Tools};

/// The kind of the tool of that name; names in the policy take precedence.
///
/// A transcript may have tools of any agent, whatever its format: agents can use each other's tools.
pub fn kind_of(name: &str, added: &Tools) -> ToolKind {
    let own = [
        (ToolKind::Shell, &added.shell),
        (ToolKind::Read, &added.read),
        (ToolKind::Write, &added.write),
        (ToolKind::Edit, &added.edit),
        (ToolKind::Search, &added.search),
        (ToolKind::Web, &added.web),
    ];
    let own = own
        .iter()
        .find(|(_, names)| names.iter().any(|n| n == name));
    own.map(|(kind, _)| *kind)
        .or_else(|| THEIRS.get(name).copied())
        .unwrap_or(ToolKind::Other)
}

/// The kinds of the known agents' tools: built once, since they are needed for every call.
static THEIRS: LazyLock<IdMap<&str, ToolKind>> = LazyLock::new(|| {
    let names = Format::ALL.iter().map(|format| format.dialect().tools());
    names.flat_map(named).collect()
});

/// The tools with which the known agents steer themselves.
static STEERING: LazyLock<IdSet<&str>> = LazyLock::new(|| {
    let names = Format::ALL.iter().map(|format| format.dialect().tools());
    names.flat_map(|names| names.steering).copied().collect()
});

/// The kind of a call: that of its tool or, for an unlisted tool, what its name and `input` (JSON) suggest.
pub fn kind_of_call(name: &str, input: &[u8], added: &Tools) -> ToolKind {
    recognised(name, || Input::in_json(input), added).0
}

/// How the kind of a call is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// A list names its tool.
    Listed,
    /// The words of its name and the keys of its input fit. How such a tool writes its results is not known.
    Shape,
}

/// The kind of a call, and how it is known. The input is only read if no list names the tool.
pub(super) fn recognised<'i>(
    name: &str,
    input: impl FnOnce() -> Input<'i>,
    added: &Tools,
) -> (ToolKind, Basis) {
    match kind_of(name, added) {
        ToolKind::Other if !steers(name) => (kind_by_shape(name, &input()), Basis::Shape),
        kind => (kind, Basis::Listed),
    }
}

/// Whether the tool with this name steers the agent.
pub(super) fn steers(name: &str) -> bool {
    STEERING.contains(name)
}

/// The tools of an agent, each with its kind.
fn named(names: ToolNames) -> impl Iterator<Item = (&'static str, ToolKind)> {
    let kinds = [
        (ToolKind::Shell, names.shell),
        (ToolKind::Read, names.read),
        (ToolKind::Write, names.write),
        (ToolKind::Edit, names.edit),
        (ToolKind::Search, names.search),
        (ToolKind::Web, names.web),
    ];
    let kinds = kinds.into_iter();
    kinds.flat_map(|(kind, names)| names.iter().map(move |name| (*name, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_of_two_kinds() {
        for (name, kind) in Format::ALL
            .into_iter()
            .flat_map(|format| named(format.dialect().tools()))
        {
            assert_eq!(kind_of(name, &Tools::default()), kind, "{name}");
        }
        assert_eq!(kind_of("mcp__x__bash", &Tools::default()), ToolKind::Other);
    }
}
