//! `dev feasibility`: compares the suite's feasibility check with a scheduler. A *pair* is a manifest and
//! nodes whose capacity is close to what the manifest requests. Each pair is a case with nodes of its own.
//! The manifest is submitted even if the check says that the pods do not fit.
//!
//! Then all hard gangs must be bound or, if the check says so, at least one must be incomplete after a full
//! pass of the scheduler. If the check cannot decide, there is no case.

use conformance_check::{Finding, binding, ensure, finding, violation};
use conformance_contract::violation::Code;
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::created_case::CreatedCase;
use conformance_driver::enrichment::Enrichment;
use conformance_driver::limits::SCHEDULING;
use conformance_expect::{Expected, Gang, Unit};
use conformance_facts::binding::not_fully_bound;
use conformance_fuzz::near_limit::{NAME, Pair, pair};
use conformance_history::{History, SharedMark};

use crate::feasibility::Feasibility;
use crate::node_templates::{TemplateError, Templates};
use crate::workload::{self, WorkloadError};

pub const GROUP: &str = "feasibility";

const WHOLE_WITHOUT_ROOM: Code = Code::new("bound-without-capacity");

#[derive(Debug)]
pub struct Judged {
    pub id: String,
    pub pair: Pair,
    pub feasibility: Feasibility,
    /// `None` if the check cannot decide.
    pub case: Option<&'static Case>,
}

/// These enrichments are left out, because the nodes have room for exactly what the manifest requests.
const EXACT: [(Enrichment, &str); 2] = [
    (Enrichment::Container, "its requests would not fit the nodes"),
    (Enrichment::InitContainers, "their requests would not fit the nodes"),
];

#[derive(Debug, thiserror::Error)]
pub enum InvalidPair {
    #[error("its manifest: {0}")]
    Manifest(#[from] WorkloadError),
    #[error("its nodes: {0}")]
    Nodes(#[from] TemplateError),
}

impl Judged {
    pub fn of(seed: u32, number: u32) -> Result<Self, InvalidPair> {
        let pair = pair(seed, number);
        let id = format!("{GROUP}/{seed}-{number}");
        let nodes = Templates::read(&pair.nodes, "nodes.yaml")?.nodes();
        let feasibility = workload::feasibility(&pair.manifest, &nodes)?;
        let base = match feasibility {
            Feasibility::Fits => Some((
                "AON-01",
                Case::new(
                    "Pods that fit their nodes exactly are bound",
                    |test| Box::pin(drive_until_bound(test)),
                    all_are_bound,
                ),
            )),
            Feasibility::Infeasible(_) => Some((
                "AON-02",
                Case::new(
                    "Gangs whose nodes are one pod short are not all bound",
                    |test| Box::pin(drive_until_tried(test)),
                    not_all_are_bound,
                ),
            )),
            Feasibility::Undecided(_) => None,
        };
        let case = base.map(|(clause, base)| {
            let (id, manifest) = (id.clone(), pair.manifest.clone());
            CreatedCase { id, manifest, clauses: vec![clause], nodes }.case(base.leaving_out(&EXACT))
        });
        Ok(Self { id, pair, feasibility, case })
    }

    pub fn is_as_drawn(&self) -> bool {
        match self.feasibility {
            Feasibility::Fits => self.pair.fits,
            Feasibility::Infeasible(_) => !self.pair.fits,
            Feasibility::Undecided(_) => false,
        }
    }
}

pub fn parsed(id: &str) -> Option<(u32, u32)> {
    let (seed, number) = id.strip_prefix(GROUP)?.strip_prefix('/')?.split_once('-')?;
    Some((seed.parse().ok()?, number.parse().ok()?))
}

pub fn replayed(id: &str) -> Option<&'static Case> {
    let (seed, number) = parsed(id)?;
    Judged::of(seed, number).ok()?.case
}

async fn drive_until_bound(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(NAME).await?;
    let units: Vec<Unit> = gangs.iter().flat_map(|gang| gang.units(test.target)).collect();
    test.until("every hard gang bound", SCHEDULING, |live| not_fully_bound(live, &units).next().is_none())
        .await
}

async fn drive_until_tried(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(NAME).await?;
    for gang in gangs.iter().filter(|gang| gang.is_base) {
        test.until_released(gang).await?;
    }
    test.scheduler_passes().await?;
    // The operator releases the scaled PodGangs of a replica when the base PodGang is bound.
    let mut are_more_released = false;
    for scaled in gangs.iter().filter(|gang| !gang.is_base) {
        let is_its_base = |gang: &&Gang| gang.is_base && gang.replica == scaled.replica;
        let bases = gangs.iter().filter(is_its_base);
        let units: Vec<Unit> = bases.flat_map(|base| base.units(test.target)).collect();
        if test.look(|live| not_fully_bound(live, &units).next().is_none()) {
            test.until_released(scaled).await?;
            are_more_released = true;
        }
    }
    if are_more_released {
        test.canaries().await?;
    }
    // The canaries of hundreds of pairs would fill their node.
    test.delete_canaries().await
}

fn all_are_bound(history: &History) -> Vec<Finding> {
    vec![finding("AON-01", || binding::whole(&history.end(), &history.units(NAME)?))]
}

fn not_all_are_bound(history: &History) -> Vec<Finding> {
    vec![finding("AON-02", || {
        let (first, _) = history.reached(SharedMark::SchedulerPassed)?;
        let barrier = history.marks(SharedMark::SchedulerPassed).last().map_or(first, |(index, _)| index);
        let units = history.units(NAME)?;
        ensure(binding::whole(&history.before(barrier), &units).is_err(), || {
            violation(
                WHOLE_WITHOUT_ROOM,
                "every hard gang is bound, but the feasibility check says that the pods do not fit",
            )
        })
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_fuzz::near_limit::Shape;
    use conformance_history::testing::{Story, one_clique};
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_check_decides_pairs_as_they_were_drawn() {
        for number in 0..12 * Shape::ALL.len() as u32 {
            let judged = Judged::of(7, number).unwrap();
            let Judged { pair, feasibility, .. } = &judged;
            assert!(
                judged.is_as_drawn(),
                "{}, {}, drawn to fit: {}, but {feasibility:?}\n{}---\n{}",
                judged.id,
                pair.shape,
                pair.fits,
                pair.manifest,
                pair.nodes
            );
        }
    }

    #[test]
    fn a_pair_is_found_by_the_id_of_its_case() {
        let judged = Judged::of(4, 17).unwrap();
        assert_eq!((judged.id.as_str(), parsed(&judged.id)), ("feasibility/4-17", Some((4, 17))));
        let again = replayed(&judged.id).unwrap();
        let case = judged.case.unwrap();
        assert_eq!((again.id, again.manifest, again.clauses), (case.id, case.manifest, case.clauses));
        assert!(replayed("feasibility/4").is_none() && replayed("aon/one-pod-short").is_none());
    }

    #[test]
    fn a_pair_that_fits_but_is_not_bound_is_a_violation() {
        let ruling = |bound: usize| {
            let story = Story::whole().submitted(one_clique(NAME, 2)).workers(NAME, 2, bound);
            all_are_bound(&story.end()).pop().unwrap().ruling
        };
        assert_eq!(ruling(2), Ok(()));
        assert!(!codes(ruling(1)).is_empty());
    }

    #[test]
    fn a_pair_that_does_not_fit_but_is_bound_is_a_violation() {
        let ruling = |bound: usize| {
            let story = Story::whole().submitted(one_clique(NAME, 2)).workers(NAME, 2, bound);
            let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
            not_all_are_bound(&history).pop().unwrap().ruling
        };
        assert_eq!(ruling(1), Ok(()));
        assert_eq!(codes(ruling(2)), ["bound-without-capacity"]);
    }

    #[test]
    fn nothing_is_decided_before_the_scheduler_has_made_a_pass() {
        let history = Story::whole().submitted(one_clique(NAME, 2)).workers(NAME, 2, 1).end();
        let ruling = not_all_are_bound(&history).pop().unwrap().ruling;
        assert!(matches!(ruling, Err(conformance_check::Broken::NotReached(_))), "{ruling:?}");
    }
}
