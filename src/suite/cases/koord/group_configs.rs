//! Two PodGangs made by hand, which no admission has seen: `grouped` asks for a rack for one of its two podgroups by a
//! group config, `plain` asks for nothing. Once `plain` has its PodGroups, the backend has been past both.

use crate::suite::case::{Case, Lane};
use crate::suite::history::History;
use crate::suite::judge::fail_closed::failed_closed;
use crate::suite::judge::{Finding, finding, gang_groups};
use crate::suite::limits::REACTION;
use crate::suite::target::Target;
use crate::suite::trial::{Stop, Trial};

/// KOORD-05.
pub const CASE: Case = Case {
    id: "koord/group-configs",
    title: "A PodGang with topology for some of its podgroups fails closed",
    clauses: &["KOORD-05"],
    nodes: &[],
    manifest: include_str!("group_configs.yaml"),
    lane: Lane::Shared,
    only: &[Target::Koordinator],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const GROUPED: &str = "grouped";
const PLAIN: &str = "plain";
/// Name of its group config.
const CONFIG: &str = "grouped-model-0";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for name in [GROUPED, PLAIN] {
        trial.create("PodGang", &trial.manifest(name)?).await?;
    }
    trial.until_told(GROUPED, "", CONFIG).await?;
    trial
        .until("the PodGroups of the other", REACTION, |live| gang_groups::complete(live, PLAIN).is_ok())
        .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KOORD-05", || {
        failed_closed(history, GROUPED, "", CONFIG)?;
        gang_groups::complete(&history.end(), PLAIN)
    })]
}
