//! Racks a and b of 2 nodes x 8 GPUs. A node moves from b to a, which then has room for a gang of 3 pods x 8.

use crate::prelude::*;

marks! { BOUND = "the gang is bound"; }

const SET: &str = "relocated";
/// Node index of a node in rack b.
const MOVING: usize = 3;

pub(crate) const CASE: Case = case!("A gang is bound in a rack that has room since a node moved there")
    .clauses(&[TOPO_03])
    .nodes(&[nodes(2).gpus(8).rack("a"), nodes(2).gpus(8).rack("b")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    super::move_node(test, MOVING, "a").await?;
    test.submit(SET).await?;
    let bound = Awaited::demanded_by(TOPO_03, "the gang bound in the rack that has a third node");
    test.until(bound, SCHEDULING, |live| live.bound() == 3).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_03, || {
        let (gang, rack) = (history.base(SET)?.name, placement::domain_named(history, "a"));
        history.at(BOUND, |place| {
            let placed = placement::gang_in(history, &gang, RACK, &rack);
            all([placed, binding::whole(&history.before(place), &history.units(SET)?)])
        })
    })]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::node;

    use super::*;

    fn in_rack(name: &str, rack: &str) -> Value {
        let mut node = node(name, 8);
        node["metadata"]["labels"] = json!({(RACK): format!("ns-{rack}")});
        node
    }

    #[rstest]
    #[case::the_moved_node_counts("n", &[])]
    #[case::another_rack("other", &["wrong-domain"])]
    fn the_rack_of_a_node_is_that_of_its_label_when_the_pod_is_bound(
        #[case] node: &str,
        #[case] wanted: &[&str],
    ) {
        let nodes = [in_rack("n", "b"), in_rack("other", "b")];
        let sent = Story::flat().submitted(one_clique(SET, 1)).added(one_clique_gang(SET, 1));
        let moved = sent.all_added(nodes).modified(in_rack("n", "a"));
        let mut pod = worker(SET, 0, None);
        let waiting = moved.added(pod.clone());
        pod["spec"]["nodeName"] = node.into();
        let bound = waiting.modified(pod).mark(BOUND, Value::Null);
        let history = bound.modified(in_rack("n", "b")).end();
        assert_eq!(codes(check(&history).remove(0).ruling), wanted);
    }
}
