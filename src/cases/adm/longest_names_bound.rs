//! The names `a-set-of-the-longest-name-admitted`, `model` and `worker` have 45 characters together, the
//! maximum. PodCliqueSet `counts-left-out` omits all counts, so each defaults to 1. Both PodCliqueSets get
//! all their pods, 1 + 1 each. ADM-15 does not cover whether the scheduler binds them.

use conformance_facts::cliques::cliques_lacking_pods;

use crate::prelude::*;

const REFUSED: Code = Code::new("valid-set-refused");
const PODS_MISSING: Code = Code::new("admitted-without-pods");

pub(crate) const CASE: Case =
    case!("PodCliqueSets with the longest names, or without counts, get all pods if they are admitted")
        .clauses(&[ADM_15])
        .nodes(&[nodes(1)]);

const SETS: [&str; 2] = ["a-set-of-the-longest-name-admitted", "counts-left-out"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (set, pods) in SETS.into_iter().zip([2, 4]) {
        let gangs = test.submit(set).await?;
        let what = format!("every pod of PodCliqueSet {set}");
        test.until(Awaited::demanded_by(ADM_15, what), SCHEDULING, |live| {
            cliques_lacking_pods(live, &gangs).is_empty()
        })
        .await?;
        test.until_bound(pods).await?;
    }
    Ok(())
}

fn was_admitted(history: &History, set: &str) -> Ruling {
    history.submitted(set)?;
    ensure(history.named("PodCliqueSet", set).next().is_some(), || {
        violation(REFUSED, format!("PodCliqueSet {set} was refused, want it admitted"))
    })
}

fn check(history: &History) -> Vec<Finding> {
    let has_pods = |set: &str| {
        precondition(ADM_04, was_admitted(history, set))?;
        let lacking = cliques_lacking_pods(&history.end(), &history.gangs(set)?);
        none(
            lacking
                .into_iter()
                .map(|lack| violation(PODS_MISSING, format!("PodCliqueSet {set} was admitted, but {lack}"))),
        )
    };
    vec![finding(ADM_15, || all(SETS.map(has_pods)))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets() -> Vec<Value> {
        grove_yaml::documents(crate::manifest("adm/longest-names-bound")).unwrap()
    }

    #[test]
    fn the_manifest_has_the_longest_names_and_a_pod_clique_set_without_counts() {
        let sets = sets();
        let named: Vec<_> = sets.iter().map(|set| set["metadata"]["name"].clone()).collect();
        assert_eq!(named, SETS);
        assert_eq!(SETS[0].len() + "model".len() + "worker".len(), 45);
        let template = sets[1]["spec"]["template"].to_string();
        assert!(!template.contains("replicas") && !template.contains("minAvailable"), "{template}");
        for set in &sets {
            let gangs = conformance_expect::gangs(set);
            let counts: Vec<_> = gangs[0].groups.iter().map(|group| (group.min, group.replicas)).collect();
            assert_eq!((gangs.len(), counts), (1, vec![(1, 1), (1, 1)]));
        }
    }

    fn ruling(admitted: usize, pods: usize) -> Ruling {
        let story = sets().into_iter().fold(Story::flat(), Story::submitted);
        let story = sets().into_iter().take(admitted).fold(story, Story::added);
        let cliques = SETS.map(|set| [format!("{set}-0-model-0-worker"), format!("{set}-0-router")]).concat();
        let created = cliques.iter().take(pods).map(|clique| {
            let mut pod = object("Pod", clique);
            pod["metadata"]["labels"] = json!({names::POD_CLIQUE: clique});
            pod
        });
        check(&story.all_added(created).end()).remove(0).ruling
    }

    #[test]
    fn a_refused_pod_clique_set_violates_the_admission_clauses_and_not_the_clause_about_pods() {
        let refused = ruling(0, 0);
        assert!(matches!(refused, Err(Broken::Precondition { clause: ADM_04, .. })), "{refused:?}");
    }

    #[test]
    fn a_missing_pod_is_a_violation_and_an_unbound_one_is_not() {
        assert_eq!(ruling(2, 4), Ok(()));
        for (admitted, pods) in [(1, 1), (2, 3)] {
            let ruling = ruling(admitted, pods);
            assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}");
        }
    }
}
