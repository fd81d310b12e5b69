//! Architecture rules that Cargo does not enforce: the allowed dependencies between crates, direct and
//! indirect, and no cycle between the folders of a crate.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::visit::{self, Visit};

/// The lines of `cargo tree`. Cargo reads manifests and Cargo.lock, and downloads nothing.
fn tree(options: &[&str]) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--workspace", "--exclude=generate"])
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The direct dependencies of each package, without dev and build dependencies.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut above: Vec<String> = Vec::new();
    for line in tree(&["--prefix=depth", "--edges=normal", "--format= {p}"]) {
        // A line is `2 serde v1.0.0`, below its parent of depth 1. Cargo lists a package's dependencies once.
        let mut words = line.split(' ');
        let (Some(Ok(depth)), Some(name)) = (words.next().map(str::parse::<usize>), words.next()) else {
            continue;
        };
        above.truncate(depth);
        if let Some(parent) = above.last() {
            found.entry(parent.clone()).or_default().insert(name.to_owned());
        }
        above.push(name.to_owned());
        found.entry(name.to_owned()).or_default();
    }
    found
}

/// The packages with their features. `dev` in `edges` includes the dependencies of tests.
fn features(edges: &str) -> BTreeSet<String> {
    let lines = tree(&["--prefix=none", "--edges", edges, "--format={p} {f}"]);
    lines.iter().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

fn reach<'a>(packages: &'a BTreeMap<String, BTreeSet<String>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(package) = left.pop() {
        for next in packages.get(package).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                left.push(next);
            }
        }
    }
    seen
}

#[test]
fn the_suite_and_the_reference_implementation_are_independent() {
    let packages = packages();
    let reference = [
        "grove-api",
        "grove-backend-controller",
        "fake-gpu-plugin",
        "logging",
        "trainer-kai-plugin",
        "webhook-server",
    ];
    for package in packages.keys().filter(|package| package.starts_with("conformance-")) {
        let reached = reach(&packages, package);
        assert!(!reference.iter().any(|one| reached.contains(one)), "{package} reaches the reference");
    }
    for package in reference {
        let reached = reach(&packages, package);
        let suite: Vec<_> = reached.iter().filter(|one| one.starts_with("conformance-")).collect();
        assert!(suite.is_empty(), "{package} reaches {suite:?}");
    }
}

/// Checks and the page are functions of a history: no cluster, no runtime clock, no network.
#[rstest::rstest]
#[case("conformance-contract")]
#[case("conformance-history")]
#[case("conformance-expect")]
#[case("conformance-facts")]
#[case("conformance-check")]
#[case("conformance-page")]
fn checks_and_pages_reach_no_cluster(#[case] package: &str) {
    let packages = packages();
    let reached = reach(&packages, package);
    assert!(reach(&packages, "conformance-cluster").contains("hyper"), "nothing was read");
    for beyond in
        ["conformance-programs", "conformance-driver", "kube", "k8s-openapi", "tokio", "hyper", "rustls"]
    {
        assert!(!reached.contains(beyond), "{package} reaches {beyond}");
    }
}

/// A wait and a check about the same state use the same fact, so driver and checks do not depend on each
/// other. The crate of programs knows no clusters. Suites use driver and checks. Observations use no checks.
#[rstest::rstest]
#[case("programs", &["contract"])]
#[case("install", &["contract", "programs", "proxy"])]
#[case("cluster", &["contract", "install", "programs", "proxy"])]
#[case("facts", &["contract", "expect", "history"])]
#[case("check", &["contract", "expect", "facts", "history"])]
#[case("driver", &["cluster", "contract", "expect", "facts", "history", "install", "programs", "proxy"])]
#[case("cases", &["check", "cluster", "contract", "driver", "expect", "facts", "history", "install", "proxy"])]
#[case("plainpods", &["check", "contract", "driver", "expect", "history"])]
#[case("trainjobs", &["check", "contract", "driver", "expect", "facts", "history", "install", "proxy"])]
#[case("observe", &["contract", "driver", "expect", "history"])]
fn a_crate_uses_only_the_crates_below_it(#[case] name: &str, #[case] uses: &[&str]) {
    let packages = packages();
    let direct = &packages[&format!("conformance-{name}")];
    let direct = direct.iter().filter_map(|one| one.strip_prefix("conformance-"));
    assert_eq!(direct.collect::<Vec<_>>(), uses);
}

/// One list registers the suites, and no suite depends on another.
#[rstest::rstest]
#[case("conformance-cases", "conformance-run")]
#[case("conformance-plainpods", "conformance-run")]
#[case("conformance-trainjobs", "conformance-run")]
#[case("conformance-observe", "conformance-cli")]
fn a_suite_has_one_user(#[case] suite: &str, #[case] wanted: &str) {
    let packages = packages();
    let users = packages.iter().filter(|(_, direct)| direct.contains(suite)).map(|(user, _)| user.as_str());
    assert_eq!(users.collect::<Vec<_>>(), [wanted]);
}

#[test]
fn the_crates_about_pod_clique_sets_name_no_train_job() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for folder in ["cases", "check", "driver", "expect", "facts"] {
        for file in rust_files(&source.join(folder)) {
            let code = std::fs::read_to_string(&file).unwrap().to_lowercase();
            let found = ["trainjob", "train_job", "jobset"].into_iter().find(|word| code.contains(word));
            assert_eq!(found, None, "{}: move it to src/trainjobs", file.display());
        }
    }
}

/// If tests enabled more features of a package, `cargo test` after `cargo run` would compile the package and
/// its dependents again. Macros and build scripts have separate features.
#[test]
fn tests_enable_no_further_features_of_the_programs_dependencies() {
    let (of_programs, of_tests) = (features("normal,build"), features("normal,build,dev"));
    assert!(of_programs.iter().any(|package| package.starts_with("tokio v")), "{of_programs:?}");
    let recompiled: Vec<_> = of_programs.difference(&of_tests).collect();
    assert!(recompiled.is_empty(), "tests compile these with more features: {recompiled:#?}");
}

#[test]
fn programs_do_not_depend_on_test_crates() {
    for (package, needed) in packages() {
        let of_tests = ["insta", "libtest-mimic", "rstest", "tower-test"].map(str::to_owned);
        let needed: Vec<_> = of_tests.into_iter().filter(|crate_| needed.contains(crate_)).collect();
        assert!(needed.is_empty(), "{package} needs {needed:?}: make them dev-dependencies");
    }
}

/// The description of a cluster is data and needs no client.
#[rstest::rstest]
#[case("conformance-programs", false)]
#[case("conformance-install", false)]
#[case("conformance-cluster", true)]
fn only_the_cluster_crate_depends_on_a_client(#[case] package: &str, #[case] has_client: bool) {
    assert_eq!(packages()[package].contains("kube"), has_client);
}

#[test]
fn reports_know_the_contract_only() {
    let packages = packages();
    let reached = reach(&packages, "conformance-report");
    let suite: BTreeSet<_> = reached.into_iter().filter(|one| one.starts_with("conformance-")).collect();
    assert_eq!(suite, BTreeSet::from(["conformance-contract"]));
}

/// The folders below a crate's root, each with the folders that its files use.
fn folders(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut graph = BTreeMap::new();
    for folder in entries(root).filter(|path| path.is_dir()) {
        let mut used = BTreeSet::new();
        for file in rust_files(&folder) {
            let module = module_of(root, &file);
            let parsed = syn::parse_file(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let mut paths = Paths { module, found: BTreeSet::new() };
            paths.visit_file(&parsed);
            used.extend(paths.found);
        }
        graph.insert(name(&folder), used);
    }
    let known: BTreeSet<String> = graph.keys().cloned().collect();
    for (folder, used) in &mut graph {
        used.retain(|one| known.contains(one) && one != folder);
    }
    graph
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let (folders, files): (Vec<_>, Vec<_>) = entries(folder).partition(|path| path.is_dir());
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rs");
    files.into_iter().filter(is_rust).chain(folders.iter().flat_map(|inner| rust_files(inner))).collect()
}

fn module_of(root: &Path, file: &Path) -> Vec<String> {
    let below = file.strip_prefix(root).unwrap().with_extension("");
    let mut module: Vec<_> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| last == "mod");
    module
}

struct Paths {
    module: Vec<String>,
    found: BTreeSet<String>,
}

impl Paths {
    fn add(&mut self, path: &[String]) {
        let ups = path.iter().take_while(|segment| *segment == "super").count();
        let absolute: Vec<String> = match path.first().map(String::as_str) {
            Some("crate") => path[1..].to_vec(),
            Some("super") => {
                let kept = self.module.len().saturating_sub(ups);
                self.module[..kept].iter().chain(&path[ups..]).cloned().collect()
            }
            _ => return,
        };
        self.found.extend(absolute.into_iter().next());
    }

    fn tree(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) => self.add(&[before.clone(), vec![name.ident.to_string()]].concat()),
            syn::UseTree::Rename(name) => self.add(&[before.clone(), vec![name.ident.to_string()]].concat()),
            syn::UseTree::Glob(_) => self.add(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(before, item)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&mut Vec::new(), &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&segments);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.content.is_some() {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }
}

fn cycle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn walk(graph: &BTreeMap<String, BTreeSet<String>>, path: &mut Vec<String>) -> Option<Vec<String>> {
        let last = path.last().cloned().unwrap_or_default();
        for next in graph.get(&last).into_iter().flatten() {
            if let Some(begin) = path.iter().position(|one| one == next) {
                return Some(path[begin..].to_vec());
            }
            path.push(next.clone());
            if let Some(found) = walk(graph, path) {
                return Some(found);
            }
            path.pop();
        }
        None
    }
    graph.keys().find_map(|begin| walk(graph, &mut vec![begin.clone()]))
}

#[test]
fn a_cycle_is_found() {
    let graph = |edges: &[(&str, &str)]| {
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in edges {
            graph.entry((*from).into()).or_default().insert((*to).into());
        }
        graph
    };
    assert_eq!(cycle(&graph(&[("a", "b"), ("b", "c")])), None);
    assert_eq!(cycle(&graph(&[("a", "b"), ("b", "c"), ("c", "b")])), Some(vec!["b".into(), "c".into()]));
}

#[test]
fn folders_inside_a_crate_form_no_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suite = entries(&root.join("src")).filter(|path| path.is_dir());
    let reference = entries(&root.join("reference")).map(|path| path.join("src"));
    let mut edges = 0;
    for path in suite.chain(reference) {
        let graph = folders(&path);
        edges += graph.values().map(BTreeSet::len).sum::<usize>();
        assert_eq!(cycle(&graph), None, "in {}: {graph:#?}", path.display());
    }
    assert!(edges > 0, "no folder uses another: nothing was read");
}

/// The examples that a doctest would compile.
fn examples(code: &str) -> Vec<&str> {
    let marks = code.lines().map(str::trim_start).filter_map(|line| {
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        text.trim().strip_prefix("```")
    });
    // Every second fence closes the one before it.
    let opening = marks.enumerate().filter(|(place, _)| place % 2 == 0).map(|(_, mark)| mark);
    opening.filter(|mark| !["yaml", "json", "text", "sh"].contains(mark)).collect()
}

#[test]
fn an_example_is_found() {
    assert_eq!(
        examples("/// ```yaml\n/// a: 1\n/// ```\nfn f() {}\n    //! ```\n    //! f()\n    //! ```"),
        [""]
    );
}

/// Doctests are off: rustdoc needs longer to find them than all unit tests take. So examples are not allowed.
#[test]
fn documentation_has_no_examples_that_are_not_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["src", "reference"].iter().flat_map(|folder| rust_files(&root.join(folder))) {
        let code = std::fs::read_to_string(&file).unwrap();
        assert!(examples(&code).is_empty(), "{}: write it as a unit test", file.display());
    }
}
