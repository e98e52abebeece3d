//! The kinds of tools, by their names in the known agents.

use crate::format::{Format, ToolNames};
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
    let theirs = || {
        Format::ALL
            .iter()
            .find_map(|format| named(name, format.dialect().tools()))
    };
    own.map(|(kind, _)| *kind)
        .or_else(theirs)
        .unwrap_or(ToolKind::Other)
}

/// Whether it is known what a call of the tool of that name does.
pub(super) fn understands(name: &str, added: &Tools) -> bool {
    let steers = |format: &Format| format.dialect().tools().steering.contains(&name);
    kind_of(name, added) != ToolKind::Other || Format::ALL.iter().any(steers)
}

fn named(name: &str, names: ToolNames) -> Option<ToolKind> {
    let kinds = [
        (ToolKind::Shell, names.shell),
        (ToolKind::Read, names.read),
        (ToolKind::Write, names.write),
        (ToolKind::Edit, names.edit),
        (ToolKind::Search, names.search),
        (ToolKind::Web, names.web),
    ];
    let mut kinds = kinds.into_iter();
    kinds
        .find(|(_, names)| names.contains(&name))
        .map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_of_two_kinds() {
        let tools = Format::ALL.map(|format| format.dialect().tools());
        let all = |names: ToolNames| {
            [
                names.shell,
                names.read,
                names.write,
                names.edit,
                names.search,
                names.web,
            ]
            .concat()
        };
        for name in tools.into_iter().flat_map(all) {
            let kinds: Vec<_> = tools
                .iter()
                .filter_map(|names| named(name, *names))
                .collect();
            assert!(kinds.windows(2).all(|two| two[0] == two[1]), "{name}");
            assert_eq!(kind_of(name, &Tools::default()), kinds[0]);
        }
        assert_eq!(kind_of("mcp__x__bash", &Tools::default()), ToolKind::Other);
    }
}
