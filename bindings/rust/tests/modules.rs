//! Checks the uses between modules of the crate: there are no cycles, and `ffi` uses no other module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The path of a module, such as `["value", "view"]`; empty for `lib.rs`.
type Module = Vec<String>;
type Graph = BTreeMap<Module, BTreeSet<Module>>;

fn module(file: &str) -> Module {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { Module::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// Returns the words and symbols of a file, without comments and tests.
fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    for line in text.lines().map(|line| line.split("//").next().unwrap()) {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let end = if first.is_alphanumeric() || first == '_' {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            found.push(rest[..end].to_owned());
            rest = rest[end..].trim_start();
        }
    }
    found
}

/// Adds the paths that continue `path` from token `at` on, and returns the index of the token after them.
fn paths(tokens: &[String], mut at: usize, mut path: Module, found: &mut Vec<Module>) -> usize {
    let sign = |at: usize| tokens.get(at).map_or("", String::as_str);
    if sign(at) == "{" {
        while sign(at) != "}" && at < tokens.len() {
            at = paths(tokens, at + 1, path.clone(), found);
        }
        return at + 1;
    }
    while !["}", ",", ""].contains(&sign(at)) {
        path.push(sign(at).to_owned());
        at += 1;
        if sign(at) != "::" {
            break;
        }
        at += 1;
        if sign(at) == "{" {
            return paths(tokens, at, path, found);
        }
    }
    found.push(path);
    // In a list, an alias may follow.
    while sign(at) == "as" {
        at += 2;
    }
    at
}

/// Returns the modules that a file uses, by paths that begin with `crate`, `self`, `super` or a module below it.
fn used(of: &Module, text: &str, known: &BTreeSet<Module>) -> BTreeSet<Module> {
    let tokens = tokens(text);
    let below = |word: &str| known.contains(&[of.as_slice(), &[word.to_owned()]].concat());
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let begins = ["crate", "self", "super"].contains(&tokens[at].as_str()) || below(&tokens[at]);
        if begins && tokens.get(at + 1).is_some_and(|t| t == "::") && (at == 0 || tokens[at - 1] != "::") {
            paths(&tokens, at, Module::new(), &mut found);
        }
    }
    let mut modules: BTreeSet<Module> = found.iter().map(|path| resolved(of, path, known)).collect();
    modules.remove(of);
    modules
}

fn resolved(of: &Module, path: &[String], known: &BTreeSet<Module>) -> Module {
    let mut reached = of.clone();
    for part in path {
        match part.as_str() {
            "crate" => reached.clear(),
            "super" => drop(reached.pop()),
            "self" => {}
            name => {
                reached.push(name.to_owned());
                if !known.contains(&reached) {
                    reached.pop();
                    break;
                }
            }
        }
    }
    reached
}

fn graph(files: &[(String, String)]) -> Graph {
    let known: BTreeSet<Module> = files.iter().map(|(file, _)| module(file)).collect();
    files.iter().map(|(file, text)| (module(file), used(&module(file), text, &known))).collect()
}

/// Returns modules that use each other in a cycle.
fn circle(graph: &Graph) -> Option<Vec<Module>> {
    fn walk(graph: &Graph, way: &mut Vec<Module>, done: &mut BTreeSet<Module>) -> Option<Vec<Module>> {
        let last = way.last().unwrap().clone();
        for next in &graph[&last] {
            if let Some(start) = way.iter().position(|one| one == next) {
                return Some(way[start..].to_vec());
            }
            if !done.contains(next) {
                way.push(next.clone());
                if let Some(found) = walk(graph, way, done) {
                    return Some(found);
                }
                way.pop();
            }
        }
        done.insert(last);
        None
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| walk(graph, &mut vec![start.clone()], &mut done))
}

/// Returns the uses of modules outside `ffi` by modules inside.
fn upward(graph: &Graph) -> Vec<(&Module, &Module)> {
    let raw = |module: &Module| module.first().is_some_and(|first| first == "ffi");
    graph.iter().filter(|(of, _)| raw(of)).flat_map(|(of, all)| all.iter().map(move |one| (of, one))).filter(|(_, one)| !raw(one)).collect()
}

fn read(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    for entry in folder.read_dir().unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{name}/"), found);
        } else {
            found.push((name, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

fn of_the_crate() -> Graph {
    let mut files = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    graph(&files)
}

#[test]
fn modules_have_no_cycles() {
    let graph = of_the_crate();
    let count: usize = graph.values().map(BTreeSet::len).sum();
    assert!(graph.len() > 25 && count > 100, "{} modules with {count} uses are too few", graph.len());
    assert_eq!(circle(&graph), None);
}

#[test]
fn ffi_uses_no_module_above_it() {
    let graph = of_the_crate();
    assert!(graph.keys().filter(|module| module.first().is_some_and(|first| first == "ffi")).count() > 10);
    assert_eq!(upward(&graph), []);
}

/// Returns the uses of modules in a higher row of a table, and the modules that are missing in the table.
fn against(table: &str, graph: &Graph) -> Vec<(Module, Module)> {
    let cells = table.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').nth(1).unwrap());
    let rows: Vec<BTreeSet<&str>> = cells.map(|cell| cell.split('`').collect()).collect();
    let row = |module: &Module| module.first().map_or(Some(0), |first| rows.iter().position(|row| row.contains(first.as_str())));
    let uses = graph.iter().flat_map(|(of, all)| all.iter().chain([of]).map(move |one| (of.clone(), one.clone())));
    uses.filter(|(of, one)| row(one).is_none() || row(one) < row(of)).collect()
}

#[test]
fn modules_match_the_table_of_the_readme() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let table = readme.split_once("## Source").unwrap().1;
    assert_eq!(against(table, &of_the_crate()), []);
    let files = [("a.rs", "use crate::b::X;"), ("b.rs", "use crate::c::X;"), ("c.rs", "")];
    let graph = graph(&files.map(|(file, text)| (file.to_owned(), text.to_owned())));
    assert_eq!(against("| `a` | |\n| `b`, `c` | |", &graph), []);
    assert_eq!(against("| `b`, `c` | |\n| `a` | |", &graph), [(vec!["a".to_owned()], vec!["b".to_owned()])]);
    assert_eq!(against("| `a`, `b` | |", &graph).len(), 2);
}

/// Checks that all ways to write a cycle, or a use of a higher module, are found.
#[test]
fn all_forms_of_uses_are_found() {
    let ways = [
        "use crate::a::X;",
        "use crate::{b, a::X};",
        "use crate::{b::{self, Y}, a as other};",
        "use super::super::a::X;",
        "fn f() { crate::a::g() }",
        "macro_rules! m { () => { $crate::a::g() } }",
        "impl crate::a::X for Y {}",
        "use self::super::super::a;",
    ];
    for way in ways {
        let files = [("a.rs", "use crate::ffi::c::Z;"), ("b.rs", ""), ("ffi/mod.rs", "pub(crate) use c::Z;"), ("ffi/c.rs", way)];
        let graph = graph(&files.map(|(file, text)| (file.to_owned(), text.to_owned())));
        assert_eq!(circle(&graph).map(|found| found.len()), Some(2), "not found: {way}");
        assert!(upward(&graph).iter().any(|(_, one)| **one == ["a"]), "not found: {way}");
    }
    let fine = [
        ("a.rs", "use crate::ffi::Z; // crate::lib"),
        ("ffi/mod.rs", "pub(crate) use c::Z;"),
        ("ffi/c.rs", "use std::fmt;"),
        ("lib.rs", "use a::X;"),
    ];
    let graph = graph(&fine.map(|(file, text)| (file.to_owned(), text.to_owned())));
    assert_eq!((circle(&graph), upward(&graph)), (None, Vec::new()));
    assert_eq!(graph.values().map(BTreeSet::len).sum::<usize>(), 3);
}
