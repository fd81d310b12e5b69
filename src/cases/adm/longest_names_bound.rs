//! The names `a-set-of-the-longest-name-admitted`, `model` and `worker` have 45 characters together, the most
//! that admission accepts. PodCliqueSet `counts-left-out` omits all counts, so each defaults to 1. Both
//! PodCliqueSets must also run: 1 + 1 pods each.

use crate::prelude::*;

const REFUSED: Code = Code::new("valid-set-refused");

pub(crate) const CASE: Case =
    case!("PodCliqueSets with the longest names, or without counts, are bound if they are admitted")
        .clauses(&[ADM_15])
        .nodes(&[nodes(1)]);

const SETS: [&str; 2] = ["a-set-of-the-longest-name-admitted", "counts-left-out"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (set, pods) in SETS.into_iter().zip([2, 4]) {
        test.submit(set).await?;
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
    let runs = |set: &str| {
        precondition(ADM_04, was_admitted(history, set))?;
        binding::all(&history.end(), &history.gangs(set)?)
    };
    vec![finding(ADM_15, || all(SETS.map(runs)))]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;

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

    fn ruling(admitted: usize) -> Ruling {
        let story = sets().into_iter().fold(Story::flat(), Story::submitted);
        let history = sets().into_iter().take(admitted).fold(story, Story::added).end();
        check(&history).remove(0).ruling
    }

    #[test]
    fn a_refused_pod_clique_set_violates_the_admission_clauses_and_not_the_clause_about_pods() {
        let refused = ruling(0);
        assert!(matches!(refused, Err(Broken::Precondition { clause: ADM_04, .. })), "{refused:?}");
        for admitted in [1, 2] {
            let unbound = ruling(admitted);
            assert!(matches!(unbound, Err(Broken::Violated(_))), "{unbound:?}");
        }
    }
}
