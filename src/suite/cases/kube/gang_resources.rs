//! A base PodGang of 3 podgroups with surplus and a scaled one of 2; and a PodGang made by hand with names that the API
//! cannot take as they are: 100 characters, with podgroups of 70 (a template's name has at most 63) and 160 (the
//! PodGroup's would have 261, of at most 253).

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::expect::Gang;
use crate::suite::history::History;
use crate::suite::judge::{Finding, finding, gang_resources};
use crate::suite::limits::REACTION;
use crate::suite::target::{KUBE, Target};
use crate::suite::trial::{Stop, Trial};

/// KUBE-01.
pub const CASE: Case = Case {
    id: "kube/gang-resources",
    title: "A PodGang becomes a Workload and PodGroups of its podgroups; names that the API cannot take are cut",
    clauses: &["KUBE-01"],
    nodes: &[nodes(1)],
    manifest: include_str!("gang_resources.yaml"),
    lane: Lane::Shared,
    only: KUBE,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "mapped";
const LONG: &str =
    "a-podgang-of-a-hundred-characters-whose-name-leaves-a-podgroup-of-a-hundred-and-sixty-no-room-at-all";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    let before = trial.look(|live| live.of("PodGroup").count());
    let groups = match trial.target {
        Target::KubePodGang => 1,
        _ => 2,
    };
    trial.create("PodGang", &trial.manifest(LONG)?).await?;
    trial
        .until("the PodGroups of the long names", REACTION, |live| {
            live.get("Workload", LONG).is_some() && live.of("PodGroup").count() >= before + groups
        })
        .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KUBE-01", || {
        history.reached("converged")?;
        let mut gangs = history.gangs(SET)?;
        gangs.push(Gang { name: LONG.into(), base: None, groups: Vec::new() });
        gang_resources::as_the_pod_gangs_say(history, &history.end(), &gangs)
    })]
}
