//! Checks that a normal build contains no faults. The program `grove-conformance` contains the same library,
//! but cannot be searched for the names of faults, because its tables of mutants contain them.

use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_grove-backend-controller");

#[test]
fn the_program_contains_no_name_of_a_fault() {
    let program = std::fs::read(PROGRAM).unwrap();
    let text = String::from_utf8_lossy(&program);
    assert!(text.contains("pod-gang-names"), "the program lacks the name of its own flag");
    let listed = include_str!("../src/faults.txt").lines().filter_map(|line| line.split_once(": "));
    let found: Vec<_> = listed.map(|(name, _)| name).filter(|name| text.contains(*name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_fault_on_the_command_line_is_a_usage_error() {
    let args = ["run", "--config=none", "--fault=early-ungate"];
    let ended = Command::new(PROGRAM).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("unexpected argument '--fault'"), "{said}");
    assert_eq!(ended.status.code(), Some(2));
}
