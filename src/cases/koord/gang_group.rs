//! A base PodGang of 3 podgroups, one with surplus, and a scaled one of 2. With a set's name of 15 characters twice in
//! `<podgang>-<podgroup>`, those of the scaling group have 67 and 68 characters, of which a label has room for 63, and
//! begin alike.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::{finding, gang_groups, gang_resources, pods};

/// KOORD-01, KOORD-02.
pub(crate) const CASE: Case = Case::new(
    "A PodGang becomes a GangGroup of PodGroups, whose names are the same everywhere, cut or not",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["KOORD-01", "KOORD-02"])
.nodes(&[nodes(1)])
.only(&[Target::KOORDINATOR]);

const SET: &str = "inference-model";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    test.until_followed(SET).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("KOORD-01", || {
            history.waited_for(SharedMark::Converged)?;
            let (end, gangs) = (history.end(), history.gangs(SET)?);
            gang_resources::owned(history, &end, &gangs)?;
            gang_resources::as_the_pod_gangs_say(history, &end, &gangs)?;
            gang_groups::named_by_pods(&end, &gangs)?;
            gangs.iter().try_for_each(|gang| gang_groups::complete(&end, &gang.name))
        }),
        finding("KOORD-02", || pods::as_they_should_be(history, SET, &history.gangs(SET)?)),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;

    #[test]
    fn some_names_are_too_long_and_begin_alike() {
        let set = grove_yaml::documents(crate::manifest("koord/gang-group")).unwrap().remove(0);
        let base = &expect::testing::named_gangs(&set)[0];
        let names: Vec<_> =
            base.groups.iter().map(|group| format!("{}-{}", base.name, group.clique)).collect();
        assert_eq!(names.iter().map(String::len).collect::<Vec<_>>(), [42, 67, 68]);
        assert_eq!(names[1][..56], names[2][..56]);
    }
}
