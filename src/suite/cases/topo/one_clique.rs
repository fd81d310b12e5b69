//! 3 racks of 2 nodes with room for 4 pods each. Clique packed, 5 pods, must be in one rack; clique loose, 10 pods, has
//! no constraint and fits no rack (8). Wherever loose goes, 14 places are left, and some rack has 5 of them.

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Finding, binding, finding, placement};
use crate::suite::names::RACK;
use crate::suite::trial::{Stop, Trial};

/// TOPO-06.
pub const CASE: Case = Case {
    id: "topo/one-clique",
    title: "A constraint on a clique packs that clique and no other",
    clauses: &["TOPO-06", "KUBE-11"],
    nodes: &[nodes(2).pods(4).rack("a"), nodes(2).pods(4).rack("b"), nodes(2).pods(4).rack("c")],
    manifest: include_str!("one_clique.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("mixed").await?;
    trial.until_bound(15).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TOPO-06", || {
        binding::all(&history.end(), &history.gangs("mixed")?)?;
        placement::clique_in_one_domain(history, "mixed-0-packed", RACK)
    })]
}
