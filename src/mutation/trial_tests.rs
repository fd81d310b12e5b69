//! Trials on a control plane of tables.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;

use futures::executor::block_on;

use super::*;
use crate::session::{Session, try_all};
use crate::testing;

#[derive(Default)]
struct Fake {
    ends: BTreeMap<(u32, &'static str), CaseEnd>,
    unstartable: BTreeSet<u32>,
    /// Cases that end only if they are cancelled.
    endless: BTreeSet<&'static str>,
    poisonous: Option<u32>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    active: u32,
    is_poisoned: bool,
    ran: Vec<(u32, String)>,
    running: usize,
    most_running: usize,
    cancelled: usize,
    renewed: usize,
}

impl Subject for Fake {
    async fn turn_on(&self, number: u32) -> Result<bool, Unusable> {
        let mut state = self.state.borrow_mut();
        state.active = number;
        state.is_poisoned |= self.poisonous == Some(number);
        Ok(!self.unstartable.contains(&number))
    }

    fn run(&self, case: &str, _: Duration) -> impl Future<Output = Result<CaseEnd, Unusable>> {
        let is_endless = self.endless.contains(case);
        let (active, cancelled) = {
            let mut state = self.state.borrow_mut();
            let (active, cancelled) = (state.active, state.cancelled);
            state.ran.push((active, case.to_owned()));
            state.running += 1;
            state.most_running = state.most_running.max(state.running);
            (active, cancelled)
        };
        let end = self.ends.iter().find(|((number, of), _)| *number == active && *of == case);
        let end = end.map(|(_, end)| end.clone()).unwrap_or_default();
        let end = if self.state.borrow().is_poisoned { killed(case) } else { end };
        poll_fn(move |context| {
            let mut state = self.state.borrow_mut();
            let is_cancelled = state.cancelled > cancelled;
            if is_endless && !is_cancelled {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            state.running -= 1;
            Poll::Ready(Ok(if is_cancelled { without_result() } else { end.clone() }))
        })
    }

    fn cancel(&self) {
        self.state.borrow_mut().cancelled += 1;
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
    CaseEnd { has_failed: true, kill: Some(kill), ..CaseEnd::default() }
}

fn without_result() -> CaseEnd {
    CaseEnd { has_no_result: true, ..timed_out() }
}

fn timed_out() -> CaseEnd {
    CaseEnd { has_failed: true, ..CaseEnd::default() }
}

fn mutation(number: u32) -> Mutation {
    testing::mutation(number, "a.rs")
}

/// Ten cases. All execute mutation 1, the first three mutation 2, and none mutation 3.
fn baseline() -> Baseline {
    let case = |number: u32| BaselineCase {
        id: format!("a/{number}"),
        operator: String::new(),
        seconds: f64::from(number),
        passed: true,
        executed: if number < 3 { [1, 2].into() } else { [1].into() },
    };
    Baseline { cases: (0..10).map(case).collect() }
}

const OPTIONS: TrialOptions = TrialOptions { side_by_side: 2, most_cases: None };

fn tried(fake: &Fake, number: u32, options: TrialOptions) -> Trial {
    block_on(try_mutation(fake, &mutation(number), &baseline(), &Killers::default(), options)).unwrap()
}

#[test]
fn no_case_starts_after_the_first_kill() {
    let fake = Fake { ends: [((2, "a/1"), killed("a/1"))].into(), ..Fake::default() };
    let trial = tried(&fake, 2, TrialOptions { side_by_side: 1, ..OPTIONS });
    assert_eq!((trial.verdict, trial.cases), (TrialVerdict::Killed, 2));
    assert_eq!(trial.kill.unwrap().case, "a/1");
    assert_eq!(fake.state.borrow().ran.len(), 2);
}

#[test]
fn the_first_kill_ends_the_other_cases() {
    let ends = [((2, "a/1"), killed("a/1"))].into();
    let fake = Fake { ends, endless: ["a/0", "a/2"].into(), ..Fake::default() };
    let trial = tried(&fake, 2, TrialOptions { side_by_side: 3, ..OPTIONS });
    assert_eq!((trial.verdict, trial.cases, trial.timeouts), (TrialVerdict::Killed, 1, 0));
    assert_eq!(fake.state.borrow().ran.len(), 3);
}

#[test]
fn a_few_cases_start_at_once_and_more_after_some_have_ended() {
    let fake = Fake::default();
    tried(&fake, 1, TrialOptions { side_by_side: 6, ..OPTIONS });
    assert_eq!(fake.state.borrow().most_running, 6);
    let endless: BTreeSet<_> = ["a/1", "a/2", "a/3", "a/4"].into();
    let fake = Fake { ends: [((2, "a/0"), killed("a/0"))].into(), endless, ..Fake::default() };
    assert_eq!(tried(&fake, 2, TrialOptions { side_by_side: 6, ..OPTIONS }).cases, 1);
    assert_eq!(fake.state.borrow().most_running, 4);
}

#[test]
fn a_case_that_exceeds_its_limit_decides_nothing() {
    let fake = Fake { ends: [((2, "a/1"), without_result())].into(), ..Fake::default() };
    let trial = tried(&fake, 2, TrialOptions { most_cases: Some(3), ..OPTIONS });
    assert_eq!((trial.verdict, trial.cases, trial.timeouts), (TrialVerdict::Survived, 2, 1));
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
    let trial = tried(&fake, 2, TrialOptions { most_cases: Some(5), ..OPTIONS });
    assert_eq!((trial.verdict, trial.cases, trial.left_out), (TrialVerdict::Survived, 3, 0));
}

#[test]
fn a_survivor_of_a_part_of_the_cases_is_tried_again_on_more() {
    let fake = Fake::default();
    let trial = tried(&fake, 1, TrialOptions { most_cases: Some(4), ..OPTIONS });
    assert_eq!((trial.verdict, trial.cases, trial.left_out), (TrialVerdict::Survived, 4, 6));
    assert!(!trial.is_incomplete(Some(4)));
    assert!(trial.is_incomplete(Some(5)) && trial.is_incomplete(None));
    assert!(!tried(&fake, 1, OPTIONS).is_incomplete(None));
    let killing = Fake { ends: [((1, "a/0"), killed("a/0"))].into(), ..Fake::default() };
    let trial = tried(&killing, 1, TrialOptions { most_cases: Some(4), ..OPTIONS });
    assert_eq!((trial.verdict, trial.left_out), (TrialVerdict::Killed, 0));
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
    let fake = [fake];
    let session = Session { mutations: &mutations, baseline: &baseline, earlier: &[], options: OPTIONS };
    let all = try_all(&fake, session, |trials| {
        finished.extend(trials.to_vec());
        Ok::<_, Unusable>(())
    });
    block_on(all).unwrap();
    let verdicts: Vec<_> = finished.iter().map(|trial| (trial.number, trial.verdict)).collect();
    assert_eq!(verdicts, [(1, TrialVerdict::Trivial), (2, TrialVerdict::Survived)]);
    assert_eq!(fake[0].state.borrow().renewed, 2);
}

#[test]
fn several_control_planes_share_the_mutations() {
    let fakes = [Fake::default(), Fake::default()];
    let mutations: Vec<_> = (1..=2).cycle().take(20).map(mutation).collect();
    let baseline = baseline();
    let session = Session { mutations: &mutations, baseline: &baseline, earlier: &[], options: OPTIONS };
    let mut finished = 0;
    let all = try_all(&fakes, session, |trials| {
        finished += trials.len();
        Ok::<_, Unusable>(())
    });
    block_on(all).unwrap();
    assert_eq!(finished, mutations.len());
    assert!(fakes.iter().all(|fake| !fake.state.borrow().ran.is_empty()));
}

#[test]
fn a_kill_by_a_case_that_fails_without_a_mutation_does_not_count() {
    let ends = [((1, "a/1"), killed("a/1")), ((0, "a/1"), killed("a/1"))].into();
    let fake = [Fake { ends, ..Fake::default() }];
    let (mutations, baseline) = ([mutation(1)], baseline());
    let session = Session { mutations: &mutations, baseline: &baseline, earlier: &[], options: OPTIONS };
    let mut finished = Vec::new();
    let all = try_all(&fake, session, |trials| {
        finished.extend(trials.to_vec());
        Ok::<_, Unusable>(())
    });
    block_on(all).unwrap();
    assert_eq!(finished.iter().map(|trial| trial.verdict).collect::<Vec<_>>(), [TrialVerdict::Survived]);
    let trial = &finished[0];
    assert_eq!(trial.cases + trial.left_out, 10, "the kill ended the other cases: {trial:?}");
}
