//! No two files need each other, however many stand between them. A `mod.rs` and the files below it are one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::sources;

/// The path of a module from the root of the crate.
type Module = Vec<String>;

/// Which files each file names, where a name that a `mod.rs` hands on counts for the file that has it.
struct Graph(BTreeMap<Module, BTreeSet<Module>>);

impl Graph {
    fn of(files: &BTreeMap<Module, String>) -> Self {
        let paths: BTreeMap<&Module, Vec<Module>> = files
            .iter()
            .map(|(module, text)| (module, named(module, text)))
            .collect();
        // What a module hands on: `use child::Name` makes `module::Name` a name of the child.
        let mut handed_on: BTreeMap<Module, Module> = BTreeMap::new();
        for (module, paths) in &paths {
            for path in paths {
                let is_childs = path.len() > module.len() + 1 && path.starts_with(module);
                if is_childs && files.contains_key(&path[..=module.len()]) {
                    let mut name = (*module).clone();
                    name.extend(path.last().cloned());
                    handed_on.insert(name, path[..=module.len()].to_vec());
                }
            }
        }
        let file_of = |path: &Module| {
            let file = (1..=path.len())
                .rev()
                .find(|len| files.contains_key(&path[..*len]))?;
            let handed_on = path.get(..=file).and_then(|name| handed_on.get(name));
            Some(handed_on.cloned().unwrap_or(path[..file].to_vec()))
        };
        let edges = paths.iter().map(|(module, paths)| {
            let is_other = |file: &Module| !file.starts_with(module) && !module.starts_with(file);
            let files = paths.iter().filter_map(file_of).filter(is_other);
            ((*module).clone(), files.collect())
        });
        Graph(edges.collect())
    }

    /// Files that need each other, each circle once, from its first file on.
    fn circles(&self) -> Vec<String> {
        let mut circles = BTreeSet::new();
        for start in self.0.keys() {
            let mut from: BTreeMap<&Module, &Module> = BTreeMap::new();
            let mut next: Vec<&Module> = vec![start];
            while let Some(file) = next.pop() {
                for other in self.0.get(file).into_iter().flatten() {
                    if from.contains_key(other) {
                        continue;
                    }
                    from.insert(other, file);
                    next.push(other);
                }
            }
            if !from.contains_key(start) {
                continue;
            }
            let mut circle = vec![start];
            let mut at = from[start];
            while at != start {
                circle.push(at);
                at = from[at];
            }
            // The same circle is found from each of its files.
            if circle.iter().min() == Some(&start) {
                let names = circle.iter().rev().map(|module| module.join("::"));
                circles.insert(names.collect::<Vec<_>>().join(" -> "));
            }
        }
        circles.into_iter().collect()
    }
}

/// The paths that a file names, from the root of the crate.
fn named(module: &Module, text: &str) -> Vec<Module> {
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    for item in code.split(';') {
        let Some(at) = item.rfind("use ") else {
            continue;
        };
        let before = &item[..at];
        let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if !is_word {
            let mut tree: String = item[at + 4..].split_whitespace().collect();
            tree = tree.replace("self::", "");
            expand(&tree, &mut Vec::new(), &mut paths);
        }
    }
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let path = code[at..].split(|c: char| !is_part(c)).next().unwrap();
            let path = path.trim_end_matches(':').split("::").map(str::to_owned);
            if !code[..at].ends_with("::") {
                paths.push(path.collect());
            }
        }
    }
    paths
        .into_iter()
        .filter_map(|path| absolute(module, &path))
        .collect()
}

/// The paths of `a::{b, c::{d, e}}`.
fn expand(tree: &str, before: &mut Module, paths: &mut Vec<Module>) {
    let (head, rest) = match tree.split_once('{') {
        Some((head, rest)) => (head, Some(rest.strip_suffix('}').unwrap_or(rest))),
        None => (tree, None),
    };
    let len = before.len();
    let names = head.split("::").filter(|name| !name.is_empty());
    before.extend(names.map(str::to_owned));
    match rest {
        None => paths.push(before.clone()),
        Some(list) => {
            let (mut depth, mut start) = (0, 0);
            for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        let item = list[start..at].trim();
                        if !item.is_empty() {
                            expand(item, before, paths);
                        }
                        start = at + 1;
                    }
                    _ => {}
                }
            }
        }
    }
    before.truncate(len);
}

/// A path from the root of the crate; none for one of another crate.
fn absolute(module: &Module, path: &Module) -> Option<Module> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let mut whole = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "super" => module[..module.len().checked_sub(ups)?].to_vec(),
        // What begins with a name is a child's, or another crate's, which no file here is called.
        _ => module.clone(),
    };
    let skipped = usize::from(path[0] == "crate") + ups;
    whole.extend(path[skipped..].iter().cloned());
    Some(whole)
}

/// The module that a file is.
fn module_of(file: &Path) -> Module {
    let mut names: Module = file
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_str().unwrap().to_owned())
        .collect();
    names.pop_if(|name| name == "mod");
    names
}

#[test]
fn no_two_files_need_each_other() {
    let files: BTreeMap<Module, String> = sources()
        .into_iter()
        .filter(|(_, module, _)| !matches!(module.as_str(), "main" | "lib"))
        .map(|(file, _, text)| (module_of(&file), text))
        .collect();
    let graph = Graph::of(&files);
    assert_eq!(graph.circles(), Vec::<String>::new());
    let edges: usize = graph.0.values().map(BTreeSet::len).sum();
    assert!(edges > 500, "{edges}");
}

#[test]
fn the_test_sees_circles() {
    let file = |name: &str, text: &str| {
        let module = name.split("::").map(str::to_owned).collect();
        (module, text.to_owned())
    };
    let circles =
        |files: &[(Module, String)]| Graph::of(&files.iter().cloned().collect()).circles();
    // By a name that the folder hands on, and by one that stands in the code.
    let knot = [
        file("a", "mod b;\nmod c;\npub use b::{One, Two};\nuse c::Three;"),
        file("a::b", "use super::Three;"),
        file("a::c", "fn f() { super::One::new() }"),
    ];
    assert_eq!(circles(&knot), ["a::c -> a::b"]);
    // Of three, over two folders.
    let long = [
        file("a", "mod b;"),
        file("a::b", "use crate::{c::d, text};"),
        file("c::d", "use crate::e::{\n    f::{self, G},\n};"),
        file("e::f", "pub(crate) use crate::a::b;"),
    ];
    assert_eq!(circles(&long).len(), 1);
    let none = [
        file("a", "mod b;\nuse b::One;\nfn f() {}"),
        file(
            "a::b",
            "use super::f;\nuse crate::c::Name;\n// use crate::d;",
        ),
        file("c", "use std::fmt;"),
        file("d", "use crate::a::One;"),
    ];
    assert_eq!(circles(&none), Vec::<String>::new());
}
