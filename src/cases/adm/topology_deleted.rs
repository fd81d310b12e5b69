//! PodCliqueSet `held` has 2 pods in one rack of a topology that only this case uses. The case removes the
//! level of racks from the topology, and then deletes the topology. Volcano has only one topology, which all
//! cases share, so the case about a closed queue replaces this case there. If the target does not declare
//! required topology levels, this case deletes no topology.

use conformance_check::admission;
use conformance_check::topology_condition::{self, Topology};
use conformance_driver::admission_attempts::template;
use conformance_driver::test_cluster::binding;
use conformance_facts::topology::BINDING;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Metadata edits and deletion are admitted after the workload's topology is deleted")
        .clauses(&[ADM_08, ADM_16, TOPO_20])
        .nodes(&[nodes(1).rack("r")])
        .with(&[Property::SeveralTopologies]);

marks! {
    WITH_LEVELS = "topology with all levels reported";
    WITHOUT_LEVEL = "missing level reported";
    DELETED = "deleted topology reported";
}

const REPORTS: [(MarkName, Topology); 3] =
    [(WITH_LEVELS, Topology::HasLevels), (WITHOUT_LEVEL, Topology::LacksLevel), (DELETED, Topology::Deleted)];

const KNOWN: &[Attempt] = &[admitted("a PodCliqueSet in the existing topology", |_| {})];

const NEW: &[Attempt] = &[refused("a new PodCliqueSet in the deleted topology", &[], |_| {})];

const EDITS: &[Attempt] = &[
    admitted("a label added", |pcs| pcs["metadata"]["labels"]["example.com/team"] = "inference".into()),
    admitted("an annotation added", |pcs| pcs["metadata"]["annotations"]["example.com/note"] = "kept".into()),
    admitted("a finalizer added", add_finalizer),
    admitted("the label changed", |pcs| pcs["metadata"]["labels"]["example.com/team"] = "training".into()),
    admitted("label and annotation removed", |pcs| {
        for (field, key) in [("labels", "example.com/team"), ("annotations", "example.com/note")] {
            if let Some(keys) = pcs["metadata"][field].as_object_mut() {
                keys.remove(key);
            }
        }
    }),
    admitted("the finalizer removed", remove_finalizer),
];

const HOLD: &[Attempt] = &[admitted("a finalizer added before the deletion", add_finalizer)];
const BACKGROUND: Attempt = admitted("deleted in the background", |_| {});
const RELEASE: &[Attempt] =
    &[admitted("the finalizer removed from the terminating PodCliqueSet", remove_finalizer)];
const FOREGROUND: Attempt = admitted("deleted in the foreground", |_| {});

fn add_finalizer(pcs: &mut Value) {
    match pcs["metadata"]["finalizers"].as_array_mut() {
        Some(finalizers) => finalizers.push(FINALIZER.into()),
        None => pcs["metadata"]["finalizers"] = json!([FINALIZER]),
    }
}

fn remove_finalizer(pcs: &mut Value) {
    if let Some(finalizers) = pcs["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|finalizer| finalizer != FINALIZER);
    }
}

const FINALIZER: &str = "example.com/hold";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if !test.target.declares(Feature::TopologyRequired) {
        let mut held = test.manifest("held")?;
        template(&mut held)["topologyConstraint"] = Value::Null;
        submit_two(test, held).await?;
        return edit_and_delete(test, "held").await;
    }
    let topology = test.domain("topology");
    test.create(BINDING, &binding(&topology, &[("rack", names::RACK)])).await?;
    let mut held = test.manifest("held")?;
    template(&mut held)["topologyConstraint"]["topologyName"] = topology.clone().into();
    test.retry_creates_until(&held, KNOWN, limits::REACTION).await?;
    submit_two(test, held.clone()).await?;
    let with_levels = until_reported(test, REPORTS[0]).await?;
    let without_racks = binding(&topology, &[("block", names::BLOCK)])["spec"].clone();
    test.patch(BINDING, &topology, json!({"spec": without_racks})).await?;
    let without_level = until_reported(test, REPORTS[1]).await?;
    test.delete(BINDING, &topology).await?;
    test.retry_creates_until(&held, NEW, limits::REACTION).await?;
    let deleted = until_reported(test, REPORTS[2]).await?;
    edit_and_delete(test, "held").await?;
    with_levels.and(without_level).and(deleted)
}

/// ADM-08 and ADM-16 do not depend on the report.
async fn until_reported(
    test: &TestContext,
    (mark, topology): (MarkName, Topology),
) -> Result<Result<(), Stop>, Stop> {
    let condition =
        Awaited::demanded_by(TOPO_20, format!("the state of the topology reported: {topology:?}"));
    let is_reported = |live: &Live| topology_condition::reports(live, "held", topology).is_ok();
    let reported = test.continue_after_timeout(test.until(condition, REACTION, is_reported).await)?;
    if reported.is_ok() {
        test.mark(mark, Value::Null);
    }
    Ok(reported)
}

pub(super) async fn submit_two(test: &mut TestContext, pcs: Value) -> Result<(), Stop> {
    let mut other = pcs.clone();
    other["metadata"]["name"] = in_foreground(pcs["metadata"]["name"].as_str().unwrap_or_default()).into();
    test.submit_value(pcs).await?;
    test.submit_value(other).await?;
    test.until_bound(4).await
}

fn in_foreground(name: &str) -> String {
    format!("{name}-foreground")
}

pub(super) async fn edit_and_delete(test: &TestContext, name: &str) -> Result<(), Stop> {
    test.attempt_updates(name, EDITS).await?;
    test.attempt_updates(name, HOLD).await?;
    test.attempt_delete(name, &BACKGROUND, "Background").await?;
    test.attempt_updates(name, RELEASE).await?;
    let other = in_foreground(name);
    test.attempt_delete(&other, &FOREGROUND, "Foreground").await?;
    let deleted = format!("PodCliqueSets {name} and {other} deleted");
    let is_deleted = |live: &Live| [name, &other].iter().all(|set| live.get("PodCliqueSet", set).is_none());
    test.until(&deleted, limits::CLEANUP, is_deleted).await
}

fn check(history: &History) -> Vec<Finding> {
    // If the new PodCliqueSet is admitted, the operator does not know yet that the topology is deleted.
    let topology_is_deleted = || {
        if history.header.target.declares(Feature::TopologyRequired) {
            precondition(ADM_07, answers(history, NEW))
        } else {
            Ok(())
        }
    };
    vec![
        finding(ADM_08, || {
            topology_is_deleted()?;
            deletion_never_blocked(history, "held")
        }),
        finding(ADM_16, || {
            topology_is_deleted()?;
            edits_never_blocked(history)
        }),
        finding(TOPO_20, || {
            REPORTS.into_iter().try_for_each(|(mark, topology)| {
                let reported = |place| topology_condition::reports(&history.before(place), "held", topology);
                history.at(mark, reported)
            })
        }),
    ]
}

pub(super) fn edits_never_blocked(history: &History) -> Ruling {
    answers(history, &[EDITS, HOLD].concat())
}

pub(super) fn deletion_never_blocked(history: &History, name: &str) -> Ruling {
    // If the finalizer was not added, the PodCliqueSet is deleted before the case can remove the finalizer.
    precondition(ADM_16, answers(history, HOLD))?;
    answers(history, &[RELEASE, &[BACKGROUND, FOREGROUND]].concat())?;
    [name, &in_foreground(name)].iter().try_for_each(|set| admission::deleted(history, "PodCliqueSet", set))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(left: &str, overrides: &[Override<'_>]) -> [Ruling; 2] {
        let sets = ["held", "held-foreground"].map(|name| object("PodCliqueSet", name));
        let existing = Story::flat().all_added(sets.clone());
        let deleted = sets.into_iter().filter(|set| set["metadata"]["name"] != left);
        let story = deleted.fold(existing, |story, set| story.deleted(set));
        let asked = [NEW, EDITS, HOLD, &[BACKGROUND], RELEASE, &[FOREGROUND]].concat();
        let found = check(&answered(story, &asked, overrides).end()).into_iter().take(2);
        found.map(|finding| finding.ruling).collect::<Vec<_>>().try_into().unwrap()
    }

    fn with_rejected(attempt: &Attempt) -> [Ruling; 2] {
        rulings("", &[(attempt.title, 422, "the topology is gone")])
    }

    #[test]
    fn each_refused_edit_or_deletion_breaks_its_clause() {
        assert_eq!(rulings("", &[]), [Ok(()), Ok(())]);
        for attempt in EDITS {
            let [deletion, edits] = with_rejected(attempt);
            assert_eq!(deletion, Ok(()), "{}", attempt.title);
            assert!(matches!(edits, Err(Broken::Violated(_))), "{}: {edits:?}", attempt.title);
        }
        for attempt in [RELEASE, &[BACKGROUND, FOREGROUND]].concat() {
            let [deletion, edits] = with_rejected(&attempt);
            assert!(matches!(deletion, Err(Broken::Violated(_))), "{}: {deletion:?}", attempt.title);
            assert_eq!(edits, Ok(()), "{}", attempt.title);
        }
    }

    #[test]
    fn a_refused_finalizer_breaks_the_precondition_of_deletion() {
        let [deletion, edits] = with_rejected(&HOLD[0]);
        assert!(matches!(deletion, Err(Broken::Precondition { clause: "ADM-16", .. })), "{deletion:?}");
        assert!(matches!(edits, Err(Broken::Violated(_))), "{edits:?}");
    }

    #[test]
    fn an_admitted_new_pod_clique_set_breaks_the_precondition_of_both() {
        for ruling in rulings("", &[(NEW[0].title, 201, "")]) {
            assert!(matches!(ruling, Err(Broken::Precondition { clause: "ADM-07", .. })), "{ruling:?}");
        }
    }

    #[rstest]
    #[case::held_by_its_finalizer("held")]
    #[case::in_the_foreground("held-foreground")]
    fn a_pod_clique_set_that_still_exists_is_a_violation(#[case] left: &str) {
        let [deletion, edits] = rulings(left, &[]);
        assert!(matches!(deletion, Err(Broken::Violated(_))), "{deletion:?}");
        assert_eq!(edits, Ok(()));
    }
}
