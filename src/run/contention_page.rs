//! Which case judges a clause about contention on which target, and its page, which `UPDATE_DOCS=1` writes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use conformance_contract::clauses::{CLAUSES, Clause, Feature};
use conformance_contract::target::{TARGETS, Target};

use crate::{deviations, suites};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contract/contention.md");

fn clauses() -> impl Iterator<Item = &'static Clause> {
    let is_about_contention =
        |clause: &&Clause| clause.group().is_some_and(|group| ["PRE", "WAKE"].contains(&group.id));
    CLAUSES.iter().filter(is_about_contention)
}

fn targets() -> impl Iterator<Item = Target> {
    TARGETS.into_iter().filter(|target| *target != Target::EXTERNAL)
}

fn judging(clause: &'static Clause, target: Target) -> Vec<&'static str> {
    let cases = suites::covering(clause.id).filter(|case| case.is_for(target) && target.owes(clause));
    cases.map(|case| case.id).collect()
}

fn link(clause: &Clause) -> String {
    let id = clause.id.to_lowercase();
    format!("{}.md#{id}", id.split_once('-').unwrap().0)
}

fn cell(clause: &'static Clause, target: Target) -> String {
    if !target.is_subject_to(clause) {
        return "does not apply".to_owned();
    }
    if target.undeclared(clause).is_some() {
        return "[unsupported](#unsupported)".to_owned();
    }
    let named =
        judging(clause, target).into_iter().map(|case| match deviations::of(case, clause.id, target) {
            Some(_) => format!("`{case}` ([known deviation]({}))", link(clause)),
            None => format!("`{case}`"),
        });
    named.collect::<Vec<_>>().join(", ")
}

/// An address in parentheses becomes a link.
fn linked(reason: &str) -> String {
    let Some((before, rest)) = reason.split_once("(https://") else { return reason.to_owned() };
    let (address, after) = rest.split_once(')').unwrap();
    format!("{before}([the product's text](https://{address})){after}")
}

fn unsupported(target: Target) -> impl Iterator<Item = (Feature, Vec<&'static str>)> {
    let lacks = move |clause: &Clause, feature: Feature| {
        target.is_subject_to(clause) && target.undeclared(clause) == Some(feature)
    };
    let all = Feature::ALL.into_iter().map(move |feature| {
        let lacking = clauses().filter(|clause| lacks(clause, feature));
        (feature, lacking.map(|clause| clause.id).collect::<Vec<_>>())
    });
    all.filter(|(_, clauses)| !clauses.is_empty())
}

fn page() -> String {
    let mut page = "<!-- Generated from contract/, targets and known deviations by src/run/contention_page.rs. -->\n\
         # Contention by scheduler\n\n\
         The cases that judge the clauses of [preemption and reclaim](pre.md) and of [waking up](wake.md) on each target.\n\
         The [decision on the wake-up time](../decisions/wake-up-time.md) has the limit of WAKE.\n\n"
        .to_owned();
    let names: Vec<_> = targets().map(|target| target.to_string()).collect();
    writeln!(page, "| clause | level | {} |\n|---|---|{}", names.join(" | "), "---|".repeat(names.len()))
        .unwrap();
    for clause in clauses() {
        let cells: Vec<_> = targets().map(|target| cell(clause, target)).collect();
        let (id, title, level) = (clause.id, clause.title, clause.level);
        writeln!(page, "| [{id}]({}): {title} | {level} | {} |", link(clause), cells.join(" | ")).unwrap();
    }
    page.push_str("\n## Unsupported\n\n| target | feature | clauses | why |\n|---|---|---|---|\n");
    for target in targets() {
        for (feature, clauses) in unsupported(target) {
            let why = linked(&target.why_not(feature));
            writeln!(page, "| {target} | {feature} | {} | {why} |", clauses.join(", ")).unwrap();
        }
    }
    page
}

#[test]
fn the_page_matches_the_contract() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(PAGE).unwrap_or_default(), page, "UPDATE_DOCS=1 writes it");
}

#[test]
fn preemption_is_judged_on_three_schedulers() {
    for id in ["PRE-01", "PRE-02", "PRE-03", "PRE-06", "PRE-10", "PRE-11", "PRE-12"] {
        let clause = clauses().find(|clause| clause.id == id).unwrap();
        let judged = targets().filter(|target| !judging(clause, *target).is_empty());
        let schedulers: BTreeSet<_> = judged.map(Target::scheduler).collect();
        assert!(schedulers.len() >= 3, "{id}: {schedulers:?}");
    }
}

#[test]
fn a_scheduler_without_preemption_has_a_link_to_its_own_text() {
    for target in targets() {
        for feature in [Feature::Preemption, Feature::Reclaim] {
            let why = target.why_not(feature);
            assert!(target.declares(feature) || linked(&why).contains("](https://"), "{target}: {why}");
        }
    }
}
