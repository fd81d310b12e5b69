//! Trials on a control plane of tables.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use futures::executor::block_on;

use super::*;
use crate::baseline::BaselineCase;
use crate::session::try_all;

#[derive(Default)]
struct Fake {
    ends: BTreeMap<(u32, &'static str), CaseEnd>,
    unstartable: BTreeSet<u32>,
    poisonous: Option<u32>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    active: u32,
    is_poisoned: bool,
    ran: Vec<(u32, String)>,
    renewed: usize,
}

impl Subject for Fake {
    async fn turn_on(&self, number: u32) -> Result<bool, Unusable> {
        let mut state = self.state.borrow_mut();
        state.active = number;
        state.is_poisoned |= self.poisonous == Some(number);
        Ok(!self.unstartable.contains(&number))
    }

    async fn run(&self, case: &str) -> Result<CaseEnd, Unusable> {
        let mut state = self.state.borrow_mut();
        let active = state.active;
        state.ran.push((active, case.to_owned()));
        if state.is_poisoned {
            return Ok(killed(case));
        }
        let end = self.ends.iter().find(|((number, of), _)| *number == active && *of == case);
        Ok(end.map(|(_, end)| end.clone()).unwrap_or_default())
    }

    async fn renew(&self) -> Result<(), Unusable> {
        let mut state = self.state.borrow_mut();
        state.is_poisoned = false;
        state.renewed += 1;
        Ok(())
    }
}

fn killed(case: &str) -> CaseEnd {
    let kill = Kill { case: case.into(), clause: "AON-02".into(), code: "AON-02/bound-in-part".into() };
    CaseEnd { has_failed: true, kill: Some(kill), operator_ended: false }
}

fn timed_out() -> CaseEnd {
    CaseEnd { has_failed: true, ..CaseEnd::default() }
}

fn mutation(number: u32) -> Mutation {
    Mutation {
        number,
        id: format!("a.rs:f:boolean:{number}"),
        file: "a.rs".into(),
        function: "f".into(),
        kind: Kind::Boolean,
        line: 1,
        change: String::new(),
    }
}

/// Ten cases. All execute mutation 1, the first three mutation 2, and none mutation 3.
fn baseline() -> Baseline {
    let case = |number: u32| BaselineCase {
        id: format!("a/{number}"),
        seconds: f64::from(number),
        passed: true,
        executed: if number < 3 { [1, 2].into() } else { [1].into() },
    };
    Baseline { cases: (0..10).map(case).collect() }
}

const OPTIONS: TrialOptions = TrialOptions { side_by_side: 2, whole: true };

fn tried(fake: &Fake, number: u32, options: TrialOptions) -> Trial {
    block_on(try_mutation(fake, &mutation(number), &baseline(), options)).unwrap()
}

#[test]
fn no_case_starts_after_the_first_kill() {
    let fake = Fake { ends: [((2, "a/1"), killed("a/1"))].into(), ..Fake::default() };
    let trial = tried(&fake, 2, OPTIONS);
    assert_eq!((trial.verdict, trial.cases), (TrialVerdict::Killed, 2));
    assert_eq!(trial.kill.unwrap().case, "a/1");
}

#[test]
fn a_failure_without_a_code_is_no_kill() {
    let fake = Fake { ends: [((2, "a/1"), timed_out())].into(), ..Fake::default() };
    assert_eq!(tried(&fake, 2, OPTIONS).verdict, TrialVerdict::Survived);
}

#[test]
fn a_survivor_sees_all_cases() {
    let fake = Fake::default();
    let trial = tried(&fake, 2, OPTIONS);
    assert_eq!((trial.verdict, trial.cases), (TrialVerdict::Survived, 10));
    let trial = tried(&fake, 2, TrialOptions { whole: false, ..OPTIONS });
    assert_eq!((trial.verdict, trial.cases), (TrialVerdict::Survived, 3));
}

#[test]
fn a_mutation_that_no_case_executes_is_not_tried() {
    let fake = Fake::default();
    assert_eq!(tried(&fake, 3, OPTIONS).verdict, TrialVerdict::NotExecuted);
    assert!(fake.state.borrow().ran.is_empty());
}

#[test]
fn a_mutation_that_ends_the_operator_is_trivial() {
    let fake = Fake { unstartable: [1].into(), ..Fake::default() };
    assert_eq!(tried(&fake, 1, OPTIONS).verdict, TrialVerdict::Trivial);
    let ended = CaseEnd { operator_ended: true, ..killed("a/0") };
    let fake = Fake { ends: [((1, "a/0"), ended)].into(), ..Fake::default() };
    let trial = tried(&fake, 1, OPTIONS);
    assert_eq!((trial.verdict, trial.kill), (TrialVerdict::Trivial, None));
}

#[test]
fn a_mutation_that_makes_most_cases_fail_is_trivial() {
    let cases = ["a/0", "a/1", "a/2", "a/3", "a/4"];
    let ends = |count: usize, number| {
        cases[..count].iter().map(|case| ((number, *case), killed(case))).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(
        tried(&Fake { ends: ends(3, 1), ..Fake::default() }, 1, OPTIONS).verdict,
        TrialVerdict::Trivial
    );
    assert_eq!(
        tried(&Fake { ends: ends(2, 1), ..Fake::default() }, 1, OPTIONS).verdict,
        TrialVerdict::Killed
    );
    // Three of ten cases execute it, so most cases pass.
    assert_eq!(
        tried(&Fake { ends: ends(3, 2), ..Fake::default() }, 2, OPTIONS).verdict,
        TrialVerdict::Killed
    );
}

#[test]
fn trials_after_a_mutation_that_breaks_the_control_plane_are_repeated() {
    let fake = Fake { poisonous: Some(1), ..Fake::default() };
    let mutations = [mutation(1), mutation(2)];
    let baseline = baseline();
    let mut finished = Vec::new();
    let all = try_all(&fake, &mutations, &baseline, OPTIONS, |trials| {
        finished.extend(trials.to_vec());
        Ok::<_, Unusable>(())
    });
    block_on(all).unwrap();
    let verdicts: Vec<_> = finished.iter().map(|trial| (trial.number, trial.verdict)).collect();
    assert_eq!(verdicts, [(1, TrialVerdict::Trivial), (2, TrialVerdict::Survived)]);
    assert_eq!(fake.state.borrow().renewed, 2);
}
