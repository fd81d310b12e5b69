use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{BuildFolders, Built, Dropped, build, culprits, write_compilable};
use crate::find::{self, Declarations};
use crate::mutation::{Kind, Mutation};
use crate::population::Population;
use crate::rewrite::{Rewritten, rewrite};
use crate::testing;

fn file(source: &str) -> BTreeMap<String, Rewritten> {
    let syntax = syn::parse_file(source).unwrap();
    let found = find::mutations(source, &syntax, &Declarations::default());
    let mutations: Vec<_> = (1..).zip(&found).collect();
    [("src/a.rs".to_owned(), rewrite(source, &mutations))].into()
}

fn span(files: &BTreeMap<String, Rewritten>, text: &str, is_primary: bool) -> Value {
    let start = files["src/a.rs"].text.find(text).unwrap();
    let end = start + text.len();
    json!({"file_name": "src/a.rs", "byte_start": start, "byte_end": end, "is_primary": is_primary})
}

fn blamed(files: &BTreeMap<String, Rewritten>, spans: &[Value]) -> Vec<u32> {
    let error = json!({"message": "mismatched types", "spans": spans});
    culprits(&[&error], files).into_keys().collect()
}

#[test]
fn an_error_in_a_replacement_blames_its_mutation() {
    let files = file("fn f() -> X { g(a < b) }");
    // 1 is the comparison, 2 the boundary inside it.
    assert_eq!(blamed(&files, &[span(&files, "(a) >= (b)", true)]), [1]);
    assert_eq!(blamed(&files, &[span(&files, "(a) <= (b)", true)]), [2]);
}

#[test]
fn an_error_elsewhere_blames_the_mutation_that_it_mentions() {
    // 1 removes the assignment, without which the variable may have no value.
    let files = file("fn f() -> X { a = b; g(a) }");
    let spans = [span(&files, "g(a)", true), span(&files, "!crate::mutation_switch::on(1)", false)];
    assert_eq!(blamed(&files, &spans), [1]);
}

#[test]
fn a_value_that_is_used_too_long_blames_the_removed_statement_that_consumed_it() {
    let files = file("fn f() -> X { let a = b(&c); a.push(d); e.extend(a.end()); g(h); i(c); }");
    // 1 removes the push, 2 the end of `a`, 3 and 4 what follows.
    let mut borrowed = span(&files, "&c", false);
    borrowed["label"] = "borrow of `c` occurs here".into();
    let start = files["src/a.rs"].text.rfind('c').unwrap();
    let moved =
        json!({"file_name": "src/a.rs", "byte_start": start, "byte_end": start + 1, "is_primary": true});
    let start = files["src/a.rs"].text.rfind('}').unwrap();
    let dropped = json!({"file_name": "src/a.rs", "byte_start": start, "byte_end": start + 1,
                         "is_primary": false, "label": "used here, when `a` is dropped"});
    let spans = [moved, borrowed, dropped];
    assert_eq!(blamed(&files, &spans), [2]);
}

#[test]
fn a_value_that_was_moved_blames_the_removed_statement_that_left_the_block() {
    let files = file("fn f() -> X { loop { if a { b(c); continue; } d(c); } }");
    // 1 negates the condition, 2 and 3 remove what follows it, 4 the use.
    let mut moved = span(&files, "b(c)", false);
    moved["label"] = "`c` is moved here".into();
    let start = files["src/a.rs"].text.rfind('c').unwrap();
    let used =
        json!({"file_name": "src/a.rs", "byte_start": start, "byte_end": start + 1, "is_primary": true});
    assert_eq!(blamed(&files, &[used, moved]), [3]);
}

#[test]
fn a_note_blames_the_removed_statement_that_it_points_to() {
    let files = file("fn f() -> X { loop { a.push(b); b = c; } }");
    // 1 removes the push, 2 the assignment.
    let start = files["src/a.rs"].text.find("b = c").unwrap();
    let skipped =
        json!({"file_name": "src/a.rs", "byte_start": start, "byte_end": start + 1, "is_primary": true});
    let note =
        json!({"level": "note", "message": "this reinitialization might get skipped", "spans": [skipped]});
    let start = files["src/a.rs"].text.find("(b)").unwrap() + 1;
    let moved =
        json!({"file_name": "src/a.rs", "byte_start": start, "byte_end": start + 1, "is_primary": true});
    let error = json!({"message": "use of moved value: `b`", "spans": [moved], "children": [note]});
    assert_eq!(culprits(&[&error], &files).into_keys().collect::<Vec<_>>(), [2]);
}

#[test]
fn an_error_in_original_text_blames_the_smallest_mutation_around_it() {
    let files = file("fn f() -> X { g(a.b == c); }");
    // 1 is the statement, 2 the comparison.
    let start = files["src/a.rs"].text.rfind("a.b").unwrap() + 2;
    let inside =
        json!({"file_name": "src/a.rs", "byte_start": start, "byte_end": start + 1, "is_primary": true});
    assert_eq!(blamed(&files, &[inside]), [2]);
}

#[test]
fn an_error_around_mutations_blames_all_of_them() {
    let files = file("fn f() -> X { if a.is_b() { c(); } }");
    // 1 is the condition, 2 the statement.
    let whole = span(&files, "fn f()", true);
    assert_eq!(blamed(&files, &[whole]), [0; 0]);
    let end = files["src/a.rs"].text.len();
    let whole = json!({"file_name": "src/a.rs", "byte_start": 0, "byte_end": end, "is_primary": true});
    assert_eq!(blamed(&files, &[whole]), [1, 2]);
}

#[test]
fn an_error_inside_a_macro_blames_the_mutation_of_its_call() {
    let files = file("fn f() -> X { json!({\"a\": b}) }");
    let call = span(&files, "::serde_json::json!(", true);
    let inside = json!({"file_name": "/rust/macros.rs", "byte_start": 0, "byte_end": 9, "is_primary": true,
                        "expansion": {"span": call}});
    assert_eq!(blamed(&files, &[inside]), [1]);
}

#[test]
fn a_kind_may_lose_a_quarter_and_a_build_has_a_digest() {
    let mutation = |number, kind| Mutation { kind, ..testing::mutation(number, "src/a.rs") };
    let dropped =
        |number, kind| Dropped { mutation: mutation(number, kind), error: "mismatched types".into() };
    let built = Built {
        program: "operator".into(),
        mutations: vec![
            mutation(1, Kind::Boolean),
            mutation(2, Kind::Boolean),
            mutation(3, Kind::Boolean),
            mutation(5, Kind::Boundary),
            mutation(6, Kind::Boundary),
        ],
        dropped: vec![dropped(4, Kind::Boolean), dropped(7, Kind::Boundary)],
    };
    assert_eq!(built.losses(), [(Kind::Boolean, (1, 4)), (Kind::Boundary, (1, 3))].into());
    assert_eq!(built.incomplete_kinds(), [Kind::Boundary]);
    let mut other = built.clone();
    assert_eq!(other.digest(), built.digest());
    other.mutations[0].number = 9;
    assert_ne!(other.digest(), built.digest());
}

/// Where tests build the whole operator: in `GROVE_MUTATION_COPY`, so that a second run is quick.
fn with_folders<T>(test: impl FnOnce(&Population, &BuildFolders<'_>) -> T) -> T {
    let temporary = tempfile::tempdir().unwrap();
    let copy = std::env::var_os("GROVE_MUTATION_COPY").map(PathBuf::from);
    let copy = copy.unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&copy).unwrap();
    let dependencies = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let root = crate::workspace();
    let folders = BuildFolders { root, copy: &copy, dependencies: dependencies.as_deref() };
    test(&Population::read(root).unwrap(), &folders)
}

#[test]
#[ignore = "checks the whole operator several times, which takes minutes"]
fn no_kind_loses_more_than_a_quarter_in_the_operator() {
    with_folders(|population, folders| {
        let log = folders.copy.join("attempts.txt");
        let mut attempts = String::new();
        let dropped = write_compilable(population, folders, |line| {
            attempts.push_str(&format!("{line}\n"));
            std::fs::write(&log, &attempts).unwrap();
        });
        let built = Built::of(population, dropped.unwrap(), PathBuf::new());
        let text = serde_json::to_string_pretty(&built).unwrap();
        std::fs::write(folders.copy.join("dropped.json"), text).unwrap();
        assert_eq!(built.incomplete_kinds(), [], "{:?}", built.losses());
    });
}

#[test]
#[ignore = "builds the whole operator, which takes minutes"]
fn the_operator_turns_on_one_mutation_and_records_what_it_executes() {
    with_folders(|population, folders| {
        let built = build(population, folders, |_| {}).unwrap();
        let in_print_crds =
            |one: &&Mutation| one.function == "print_crds" && one.kind == Kind::RemovedStatement;
        let number = built.mutations.iter().find(in_print_crds).unwrap().number;
        let sites = folders.copy.join("sites");
        let printed = |number: u32| {
            let _ = std::fs::remove_file(&sites);
            let mut program = std::process::Command::new(&built.program);
            program.arg("print-crds").env(crate::VARIABLE, number.to_string());
            let output = program.env(crate::SITES_VARIABLE, &sites).output().unwrap();
            assert!(output.status.success());
            assert!(crate::baseline::executed(&sites).contains(&number) || number == 0);
            output.stdout.len()
        };
        assert_ne!(printed(0), 0);
        assert_eq!(printed(number), 0);
        assert!(built.check_sources(population, folders.copy).is_ok());
    });
}
