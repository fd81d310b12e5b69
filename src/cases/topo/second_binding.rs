//! Racks a and b have one node each. They belong to the topology binding that all cases share. The case
//! creates a second binding. Volcano's HyperNodes have one parent each, so they can be the domains of only
//! one binding. A third rack that joins later shows that the first binding keeps working.

use conformance_check::topology_resources::{match_binding, reports_out_of_sync};
use conformance_contract::names::TOPOLOGY;
use conformance_driver::test_cluster::binding;
use conformance_expect::domains::LEVELS;
use conformance_facts::topology::{BINDING, is_in_sync};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A second topology binding is refused with a condition, and the first keeps working")
        .clauses(&[TOPO_16])
        .nodes(&[nodes(1).rack("a"), nodes(1).rack("b"), nodes(1).rack("late").joining(1)]);

marks! {
    REFUSED = "the second binding is refused";
    FIRST = "the first binding keeps working";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (second, backend) = (name(&test.namespace), test.target.backend());
    test.create(BINDING, &binding(&second, &LEVELS[1..])).await?;
    let is_refused = |live: &Live| is_in_sync(live, &second, backend) == Some(false);
    test.until_in_cluster(REFUSED.as_str(), REACTION, is_refused).await?;
    test.mark(REFUSED, Value::Null);
    test.add_nodes(1).await?;
    let follows = |live: &Live| is_in_sync(live, TOPOLOGY, backend) == Some(true);
    test.until_in_cluster(FIRST.as_str(), REACTION, follows).await?;
    test.mark(FIRST, Value::Null);
    Ok(())
}

fn name(namespace: &str) -> String {
    format!("{namespace}-second")
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_16, || {
        let second = name(&history.header.namespace);
        history.at(REFUSED, |place| reports_out_of_sync(history, &history.before(place), &second))?;
        history.at(FIRST, |place| match_binding(history, &history.before(place), TOPOLOGY))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object};

    use super::*;

    fn binding(name: &str, in_sync: bool) -> Value {
        let mut binding = object(BINDING, name);
        let drift = if in_sync { "False" } else { "True" };
        binding["status"] = json!({
            "schedulerTopologyStatuses": [{"schedulerName": "volcano", "inSync": in_sync}],
            "conditions": [{"type": names::TOPOLOGY_DRIFT, "status": drift}],
        });
        binding
    }

    #[rstest::rstest]
    #[case::the_second(true, false, &[])]
    #[case::both(false, false, &["in-sync-not-reported"])]
    #[case::neither(true, true, &["drift-not-reported"])]
    fn only_the_second_binding_is_out_of_sync(
        #[case] first: bool,
        #[case] second: bool,
        #[case] wanted: &[&str],
    ) {
        let story = Story::on(Target::VOLCANO).added(binding("ns-second", second)).mark(REFUSED, Value::Null);
        let history = story.added(binding(TOPOLOGY, first)).mark(FIRST, Value::Null).end();
        assert_eq!(codes(check(&history).remove(0).ruling), wanted);
    }
}
