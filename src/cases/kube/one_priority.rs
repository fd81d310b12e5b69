//! Two cliques with system priority classes, which exist in every cluster. kube-scheduler 1.37 compares the
//! class of each pod with that of its PodGroup, which is the class of the PodCliqueSet. It never binds a gang
//! in which the two differ (kubernetes #139920). kube-scheduler 1.36 binds such a gang. All attempts are dry
//! runs.

use conformance_driver::admission_attempts::{clique, template};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Cliques of another priority than their gang are refused where they are never bound")
        .clauses(&[KUBE_22]);

const CLASS: &str = "system-cluster-critical";
const OTHER: &str = "system-node-critical";

const UNIFORM: &[Attempt] = &[
    admitted("no class", |_| {}),
    admitted("a class of the PodCliqueSet", |pcs| of_set(pcs, CLASS)),
    admitted("one class everywhere", |pcs| {
        of_set(pcs, CLASS);
        of_clique(pcs, 0, CLASS);
        of_clique(pcs, 1, CLASS);
    }),
];

const ONE_CLIQUE: fn(&mut Value) = |pcs| of_clique(pcs, 1, CLASS);
const ALL_CLIQUES: fn(&mut Value) = |pcs| {
    of_clique(pcs, 0, CLASS);
    of_clique(pcs, 1, CLASS);
};
const ANOTHER: fn(&mut Value) = |pcs| {
    of_set(pcs, CLASS);
    of_clique(pcs, 0, OTHER);
};

const MIXED_REFUSED: &[Attempt] = &[
    refused("a class of one clique", &[], ONE_CLIQUE),
    refused("a class of all cliques and not of the PodCliqueSet", &[], ALL_CLIQUES),
    refused("a clique with another class than the PodCliqueSet", &[], ANOTHER),
];

const MIXED_ADMITTED: &[Attempt] = &[
    admitted("a class of one clique", ONE_CLIQUE),
    admitted("a class of all cliques and not of the PodCliqueSet", ALL_CLIQUES),
    admitted("a clique with another class than the PodCliqueSet", ANOTHER),
];

fn of_set(pcs: &mut Value, class: &str) {
    template(pcs)["priorityClassName"] = class.into();
}

fn of_clique(pcs: &mut Value, index: usize, class: &str) {
    clique(pcs, index)["spec"]["podSpec"]["priorityClassName"] = class.into();
}

/// Tree scope means Kubernetes 1.37, because earlier versions have no trees.
fn mixed(target: Target) -> &'static [Attempt] {
    if target.scope() == Some("Tree") { MIXED_REFUSED } else { MIXED_ADMITTED }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut base = test.manifest("one-priority")?;
    test.attempt_dry_creates(&base, UNIFORM).await?;
    base["metadata"]["name"] = "mixed-priority".into();
    test.attempt_dry_creates(&base, mixed(test.target)).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_22, || answers(history, &[UNIFORM, mixed(history.header.target)].concat()))]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use rstest::rstest;

    use super::*;
    use crate::answered::answered;

    #[rstest]
    #[case::refused_on_1_37(Target::KUBE_TREE, 422, true)]
    #[case::admitted_on_1_37(Target::KUBE_TREE, 201, false)]
    #[case::refused_on_1_36(Target::KUBE_POD_GANG, 422, false)]
    #[case::admitted_on_1_36(Target::KUBE_POD_GANG, 201, true)]
    fn a_mixed_gang_is_refused_where_it_is_never_bound(
        #[case] target: Target,
        #[case] code: u16,
        #[case] passes: bool,
    ) {
        let all = [UNIFORM, mixed(target)].concat();
        let story = answered(Story::on(target), &all, &[("a class of one clique", code, "")]);
        assert_eq!(check(&story.end()).remove(0).ruling.is_ok(), passes);
    }
}
