use std::collections::BTreeSet;

use crate::find::{self, Declarations};
use crate::mutation::{Found, Kind, numbered};
use crate::population::Population;
use crate::rewrite::rewrite;

fn found(source: &str) -> Vec<Found> {
    let file = syn::parse_file(source).unwrap();
    find::mutations(source, &file, &Declarations::of([&file]))
}

/// The source with the mutations of one kind. `on(N)` stands for the switch.
fn rewritten(source: &str, kind: Kind) -> String {
    rewritten_with(source, |one| one.kind == kind)
}

fn rewritten_with(source: &str, is_wanted: impl Fn(&Found) -> bool) -> String {
    let found = found(source);
    let wanted = found.iter().filter(|one| is_wanted(one));
    let mutations: Vec<_> = (1..).zip(wanted).collect();
    rewrite(source, &mutations).text.replace("crate::mutation_switch::", "")
}

fn body(kind: Kind, body: &str) -> String {
    let text = rewritten(&format!("fn f() -> X {{ {body} }}"), kind);
    text.strip_prefix("fn f() -> X { ").and_then(|rest| rest.strip_suffix(" }")).unwrap().to_owned()
}

#[rstest::rstest]
#[case::equal(Kind::Comparison, "a == b", "(if on(1) { (a) != (b) } else { a == b })")]
#[case::less(Kind::Comparison, "a.x < 3", "(if on(1) { (a.x) >= (3) } else { a.x < 3 })")]
#[case::less_or_equal(Kind::Boundary, "a < b", "(if on(1) { (a) <= (b) } else { a < b })")]
#[case::more(Kind::Boundary, "a >= b", "(if on(1) { (a) > (b) } else { a >= b })")]
#[case::equal_has_no_boundary(Kind::Boundary, "a == b", "a == b")]
#[case::and(
    Kind::Boolean,
    "a && b",
    "(if on(1) { (a) || (b) } else { (if on(2) { !(a) } else { a }) && (if on(3) { !(b) } else { b }) })"
)]
#[case::not(Kind::Boolean, "!a", "(if on(1) { a } else { !a })")]
#[case::literal(Kind::Boolean, "true", "(if on(1) { false } else { true })")]
#[case::condition(
    Kind::Boolean,
    "if a { b } else { c }",
    "if (if on(1) { !(a) } else { a }) { b } else { c }"
)]
#[case::predicate(Kind::Boolean, "g(x.is_some())", "g((if on(1) { !(x.is_some()) } else { x.is_some() }))")]
#[case::negated_predicate_once(
    Kind::Boolean,
    "!x.is_some()",
    "(if on(1) { x.is_some() } else { !x.is_some() })"
)]
#[case::closure(Kind::Boolean, "x.retain(|a| a.b)", "x.retain(|a| (if on(1) { !(a.b) } else { a.b }))")]
#[case::matches(Kind::Boolean, "matches!(x, A)", "(if on(1) { !(matches!(x, A)) } else { matches!(x, A) })")]
#[case::add(Kind::Arithmetic, "a + 1", "(if on(1) { (a) - (1) } else { a + 1 })")]
#[case::text_is_no_number(Kind::Arithmetic, "a + \"b\" + &c", "a + \"b\" + &c")]
#[case::minimum(Kind::Arithmetic, "a.min(b)", "(if on(1) { a.max(b) } else { a.min(b) })")]
#[case::add_assign(Kind::Arithmetic, "a += b;", "(if on(1) { a -= b } else { a += b });")]
#[case::removed(Kind::RemovedStatement, "a.push(b); c", "if !on(1) { a.push(b); } c")]
#[case::removed_return(Kind::RemovedStatement, "if a { return b; } c", "if a { if !on(1) { return b; } } c")]
#[case::removed_unused(Kind::RemovedStatement, "let _ = g(); c", "if !on(1) { let _ = g(); } c")]
#[case::value_is_kept(Kind::RemovedStatement, "let a = g(); a", "let a = g(); a")]
#[case::leaving_a_value(
    Kind::RemovedStatement,
    "let a = if b { return c; } else { d }; a",
    "let a = if b { return c; } else { d }; a"
)]
#[case::diverging(
    Kind::RemovedStatement,
    "let Some(a) = b else { g(); return c; };",
    "let Some(a) = b else { if !on(1) { g(); } return c; };"
)]
#[case::field(
    Kind::DefaultValue,
    "A { b: c.d, e: None }",
    "A { b: (if on(1) { Default::default() } else { c.d }), e: None }"
)]
#[case::short_field(Kind::DefaultValue, "A { b }", "A { b: (if on(1) { Default::default() } else { b }) }")]
#[case::json(
    Kind::DefaultValue,
    "json!({\"a\": b})",
    "json!({\"a\": (if on(1) { ::serde_json::Value::Null } else { ::serde_json::json!(b) })})"
)]
#[case::loop_skips(
    Kind::SkippedElement,
    "for a in &b { c(a) }",
    "for a in (&b).into_iter().skip(usize::from(on(1))) { c(a) }"
)]
#[case::chain_skips(
    Kind::SkippedElement,
    "a.iter().map(b).collect()",
    "a.iter().map(b).skip(usize::from(on(1))).collect()"
)]
#[case::text_is_no_iterator(Kind::SkippedElement, "text.find('a')", "text.find('a')")]
#[case::chain_ends(Kind::FirstOnly, "a.iter().any(b)", "a.iter().take(at_most(on(1))).any(b)")]
#[case::one_is_first_anyway(Kind::FirstOnly, "a.iter().next()", "a.iter().next()")]
fn an_expression_is_mutated(#[case] kind: Kind, #[case] source: &str, #[case] expected: &str) {
    assert_eq!(body(kind, source), expected);
}

#[rstest::rstest]
#[case::condition("bool", " if on(1) { return false; } if on(2) { return true; }")]
#[case::optional("Option<A>", " if on(1) { return None; }")]
#[case::result("Result<Vec<A>, E>", " if on(1) { return Ok(Default::default()); }")]
#[case::number("(usize, i32)", " if on(1) { return (0, 0); }")]
#[case::text("&str", " if on(1) { return \"\"; }")]
#[case::unknown_type("A", "")]
#[case::without_known_value("Result<A, E>", "")]
#[case::derived("B", " if on(1) { return Default::default(); }")]
fn a_function_returns_the_default_of_its_type(#[case] of: &str, #[case] expected: &str) {
    let source = format!("#[derive(Default)] struct B;\nfn f() -> {of} {{ g(h) }}");
    let (_, function) = source.split_once('\n').unwrap();
    let text = rewritten(&source, Kind::DefaultValue);
    let expected = function.replace("{ g(h)", &format!("{{{expected} g(h)"));
    assert_eq!(text.split_once('\n').unwrap().1, expected);
}

#[test]
fn arguments_of_one_type_change_places() {
    let source = "struct A; impl A { fn of(a: &str, b: u8, c: &'static str) {} fn g(&self, a: u8, b: i8) {} }
fn f() { A::of(x, y, z); a.g(x, y) }";
    let text = rewritten(source, Kind::SwappedArguments);
    assert!(
        text.ends_with("fn f() { (if on(1) { A::of(z, y, x) } else { A::of(x, y, z) }); a.g(x, y) }"),
        "{text}"
    );
    // Two functions of one name with different arguments: their types are unknown.
    let ambiguous =
        format!("{source} impl B {{ fn of(a: u8) {{}} }} fn of(a: u8, b: u8) {{}} fn g() {{ of(x, y) }}");
    assert_eq!(rewritten(&ambiguous, Kind::SwappedArguments).matches("on(").count(), 1);
}

#[test]
fn a_field_without_a_default_is_kept() {
    let source = "struct A { a: &'static B, b: Vec<B> } fn f() -> A { A { a: x(), b: y() } }";
    let text = rewritten(source, Kind::DefaultValue);
    assert!(text.ends_with("A { a: x(), b: (if on(1) { Default::default() } else { y() }) } }"), "{text}");
}

#[test]
fn nested_mutations_are_independent() {
    let source = "fn f() -> X { if a == b && c { d.push(e < f); } }";
    let text = rewritten_with(source, |_| true);
    assert_eq!(
        text,
        "fn f() -> X { if (if on(1) { (a == b) || (c) } else { (if on(2) { (a) != (b) } else { a == b }) && \
         (if on(3) { !(c) } else { c }) }) { if !on(4) { d.push((if on(5) { (e) >= (f) } else { \
         (if on(6) { (e) <= (f) } else { e < f }) })); } } }"
    );
    assert!(syn::parse_file(&text).is_ok());
}

#[test]
fn all_mutations_of_one_piece_are_independent() {
    let source = "fn f() -> bool { for a in b { c(); } }";
    let text = rewritten_with(source, |_| true);
    assert_eq!(
        text,
        "fn f() -> bool { if on(1) { return false; } if on(2) { return true; } for a in ((b).into_iter()\
         .take(at_most(on(4)))).into_iter().skip(usize::from(on(3))) { if !on(5) { c(); } } }"
    );
}

#[rstest::rstest]
#[case::tests("#[cfg(test)] mod tests { fn f() -> bool { a == b } }")]
#[case::a_test("#[test] fn f() { g(a == b); }")]
#[case::faults("#[cfg(mutants)] fn f() -> bool { a == b }")]
#[case::without_faults("#[cfg(not(mutants))] fn f() -> bool { a == b }")]
#[case::a_statement_of_faults("fn f() -> X { #[cfg(mutants)] g(a == b); }")]
#[case::constants("const A: bool = a == b; static B: X = X { a: 1 + 2 };")]
#[case::constant_functions("const fn f() -> bool { a == b }")]
#[case::types_and_patterns("fn f(a: [u8; 1 + 2]) -> X { match a { 1 => b, _ => c } }")]
#[case::logs("fn f() -> X { tracing::info!(ready = a == b, \"more than {}\", 1 + 2); }")]
#[case::texts("fn f() -> X { format!(\"{}\", a == b) }")]
#[case::a_fault("fn f() -> X { if fault!(\"a\") { b } else { c } }")]
#[case::no_fault("fn f() -> X { !fault!(\"a\") }")]
#[case::a_condition_with_let("fn f() -> X { if let Some(a) = b { c } }")]
#[case::macros("macro_rules! m { () => { a == b } }")]
fn these_are_not_mutated(#[case] source: &str) {
    assert_eq!(found(source), []);
}

#[test]
fn a_let_in_a_condition_is_kept() {
    let text = rewritten("fn f() -> X { if let Some(a) = b && c { d } }", Kind::Boolean);
    assert_eq!(text, "fn f() -> X { if let Some(a) = b && (if on(1) { !(c) } else { c }) { d } }");
}

#[test]
fn an_id_names_file_function_kind_and_ordinal() {
    let source = "struct A; impl A { fn f() -> X { g(a == b, c == d) } }\n\nfn f() -> X { a == b }";
    let found = found(source);
    let all = numbered([("src/a.rs", found.as_slice()), ("src/b.rs", found.as_slice())]);
    let ids: Vec<_> = all.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(
        ids[..3],
        ["src/a.rs:A::f:comparison:1", "src/a.rs:A::f:comparison:2", "src/a.rs:f:comparison:1"]
    );
    let numbers: Vec<_> = all.iter().map(|one| one.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    assert_eq!((all[2].line, all[2].change.as_str()), (3, "(a) != (b) instead of a == b"));
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>().len(), 6);
}

#[test]
fn multibyte_letters_do_not_shift_positions() {
    let text = rewritten("// … ü\nfn f() -> X { g(\"…\", a == b) }", Kind::Comparison);
    assert_eq!(text, "// … ü\nfn f() -> X { g(\"…\", (if on(1) { (a) != (b) } else { a == b })) }");
}

#[test]
fn the_operator_has_mutations_of_every_kind_and_each_file_stays_rust() {
    let population = Population::read(crate::workspace()).unwrap();
    for kind in Kind::ALL {
        let count = population.mutations.iter().filter(|one| one.kind == kind).count();
        assert!(count >= 20, "{}: {count}", kind.name());
    }
    let ids: BTreeSet<_> = population.mutations.iter().map(|one| &one.id).collect();
    assert_eq!(ids.len(), population.mutations.len());
    for (file, rewritten) in population.rewritten(&BTreeSet::new()) {
        let parsed = syn::parse_file(&rewritten.text);
        assert!(parsed.is_ok(), "{file}: {:?}", parsed.err());
        assert!(!file.contains("tests"), "{file}");
    }
}
