//! `held`, 2 pods in one rack of a topology of the case's own. The topology is deleted while they run. A
//! second PodCliqueSet like it is deleted in the foreground. Volcano supports only one topology, which all
//! cases share, so a queue is closed instead. For an operator that declares no topology constraints, nothing
//! is deleted.

use conformance_check::admission;
use conformance_contract::clauses::Feature;
use conformance_driver::admission_attempts::template;
use conformance_driver::test_cluster::binding;
use conformance_facts::topology::BINDING;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Metadata edits and deletion are admitted after the workload's topology is deleted")
        .clauses(&[ADM_08, ADM_16])
        .nodes(&[nodes(1).rack("r")])
        .only(&[
            Target::KUBE_POD_GROUP,
            Target::KUBE_POD_GANG,
            Target::KUBE_TREE,
            Target::KOORDINATOR,
            Target::KAI,
        ]);

/// Shows that admission has seen the topology created.
const KNOWN: &[Attempt] = &[admitted("a PodCliqueSet in the existing topology", |_| {})];

/// Shows that admission has seen the topology deleted.
const NEW: &[Attempt] =
    &[refused("a new PodCliqueSet in the deleted topology", &["ClusterTopologyBinding"], |_| {})];

/// Updates that are never blocked, before the deletion.
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

/// The finalizer keeps the deleted PodCliqueSet until it is removed.
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
    test.creates_until(&held, KNOWN, limits::REACTION).await?;
    submit_two(test, held.clone()).await?;
    test.delete(BINDING, &topology).await?;
    test.creates_until(&held, NEW, limits::REACTION).await?;
    edit_and_delete(test, "held").await
}

/// Submits a PodCliqueSet of 2 pods and another like it, and waits for their pods.
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
    test.updates(name, EDITS).await?;
    test.updates(name, HOLD).await?;
    test.deletes(name, &BACKGROUND, "Background").await?;
    test.updates(name, RELEASE).await?;
    let other = in_foreground(name);
    test.deletes(&other, &FOREGROUND, "Foreground").await?;
    let gone = format!("PodCliqueSets {name} and {other} deleted");
    let is_gone = |live: &Live| [name, &other].iter().all(|set| live.get("PodCliqueSet", set).is_none());
    test.until(&gone, limits::CLEANUP, is_gone).await
}

fn judge(history: &History) -> Vec<Finding> {
    let topology_is_gone = || {
        if history.header.target.declares(Feature::TopologyRequired) { answers(history, NEW) } else { Ok(()) }
    };
    vec![
        finding(ADM_08, || {
            topology_is_gone()?;
            deletion_never_blocked(history, "held")
        }),
        finding(ADM_16, || {
            topology_is_gone()?;
            edits_never_blocked(history)
        }),
    ]
}

pub(super) fn edits_never_blocked(history: &History) -> Ruling {
    answers(history, &[EDITS, HOLD].concat())
}

pub(super) fn deletion_never_blocked(history: &History, name: &str) -> Ruling {
    // Without its finalizer, the PodCliqueSet is gone before the finalizer can be removed.
    premise(ADM_16, answers(history, HOLD))?;
    answers(history, &[RELEASE, &[BACKGROUND, FOREGROUND]].concat())?;
    [name, &in_foreground(name)].iter().try_for_each(|set| admission::deleted(history, "PodCliqueSet", set))
}

#[cfg(test)]
mod tests {
    use conformance_contract::ruling::Broken;
    use conformance_history::testing::{Story, object};
    use rstest::rstest;

    use super::*;
    use crate::adm::answered::{Otherwise, answered};

    /// Rulings on deletion and on updates. All PodCliqueSets except `left` are deleted; all answers except
    /// `otherwise` are as expected.
    fn rulings(left: &str, otherwise: &[Otherwise<'_>]) -> [Ruling; 2] {
        let sets = ["held", "held-foreground"].map(|name| object("PodCliqueSet", name));
        let there = Story::flat().all_added(sets.clone());
        let gone = sets.into_iter().filter(|set| set["metadata"]["name"] != left);
        let story = gone.fold(there, |story, set| story.deleted(set));
        let asked = [NEW, EDITS, HOLD, &[BACKGROUND], RELEASE, &[FOREGROUND]].concat();
        let found = judge(&answered(story, &asked, otherwise).end()).into_iter();
        found.map(|finding| finding.ruling).collect::<Vec<_>>().try_into().unwrap()
    }

    fn with_rejected(attempt: &Attempt) -> [Ruling; 2] {
        rulings("", &[(attempt.title, 422, "the topology is gone")])
    }

    #[test]
    fn each_edit_and_each_deletion_is_asked_for() {
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
    fn where_no_finalizer_can_be_added_nothing_is_known_of_its_removal() {
        let [deletion, edits] = with_rejected(&HOLD[0]);
        assert!(matches!(deletion, Err(Broken::Premise { clause: "ADM-16", .. })), "{deletion:?}");
        assert!(matches!(edits, Err(Broken::Violated(_))), "{edits:?}");
    }

    #[rstest]
    #[case::held_by_its_finalizer("held")]
    #[case::in_the_foreground("held-foreground")]
    fn one_that_is_still_there_was_blocked(#[case] left: &str) {
        let [deletion, edits] = rulings(left, &[]);
        assert!(matches!(deletion, Err(Broken::Violated(_))), "{deletion:?}");
        assert_eq!(edits, Ok(()));
    }
}
