//! 3 racks of 2 nodes with room for 4 pods each. Clique `packed`, 5 pods, must be in one rack. Clique
//! `loose`, 10 pods, has no constraint and fits no rack, because a rack has room for 8. Wherever `loose` is
//! bound, room for 14 pods remains, so some rack has room for 5.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A constraint on one clique does not constrain the other clique")
    .clauses(&[TOPO_06, KUBE_11])
    .nodes(&[nodes(2).pods(4).rack("a"), nodes(2).pods(4).rack("b"), nodes(2).pods(4).rack("c")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("mixed").await?;
    test.until_bound(15).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_06, || {
        let placed = placement::clique_in_one_domain(history, "mixed-0-packed", RACK);
        all([placed, binding::all(&history.end(), &history.gangs("mixed")?)])
    })]
}
