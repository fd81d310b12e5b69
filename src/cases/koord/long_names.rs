//! The name of a PodGroup is `<podgang>-<podgroup>` and contains the PodCliqueSet's name `inference-model`
//! twice. The PodGroups of the scaling group would have names of 67 and 68 characters with a common prefix. A
//! label value may have 63 characters.

use conformance_check::gang_groups;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("PodGroup names too long for a label are shortened equally on PodGroups and pods")
        .clauses(&[KOORD_08])
        .nodes(&[nodes(1)]);

const SET: &str = "inference-model";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await.map(drop)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KOORD_08, || {
        history.waited_for(SharedMark::Converged)?;
        gang_groups::long_names_are_truncated(&history.end(), &history.gangs(SET)?)
    })]
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;

    #[test]
    fn two_names_are_too_long_and_share_a_prefix() {
        let set = grove_yaml::documents(crate::manifest("koord/long-names")).unwrap().remove(0);
        let base = &expect::testing::named_gangs(&set)[0];
        let names: Vec<_> =
            base.groups.iter().map(|group| format!("{}-{}", base.name, group.clique)).collect();
        assert_eq!(names.iter().map(String::len).collect::<Vec<_>>(), [42, 67, 68]);
        assert_eq!(names[1][..56], names[2][..56]);
    }
}
