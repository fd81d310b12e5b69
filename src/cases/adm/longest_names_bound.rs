//! The longest names that admission accepts: `a-set-of-the-longest-name-admitted` + `model` + `worker` have
//! 45 characters together. No count is given, so each defaults to 1. The PodCliqueSet must also run, not just
//! be admitted.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodCliqueSet with the longest admitted names and default counts is bound")
        .clauses(&[ADM_15])
        .nodes(&[nodes(1)]);

const SET: &str = "a-set-of-the-longest-name-admitted";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_bound(2).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(ADM_15, || binding::all(&history.end(), &history.gangs(SET)?))]
}

#[cfg(test)]
mod tests {
    use conformance_contract::ruling::Broken;
    use conformance_history::testing::Story;

    use super::*;

    #[test]
    fn the_manifest_has_the_longest_names_and_unbound_pods_are_a_violation() {
        let pcs = grove_yaml::documents(crate::manifest("adm/longest-names-bound")).unwrap().remove(0);
        assert_eq!(SET.len() + "model".len() + "worker".len(), 45);
        let cliques: Vec<_> = conformance_expect::gangs(&pcs)[0]
            .groups
            .iter()
            .map(|group| (group.min, group.replicas))
            .collect();
        assert_eq!(cliques, [(1, 1), (1, 1)]);
        let ruling = check(&Story::flat().submitted(pcs).end()).remove(0).ruling;
        assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}");
    }
}
