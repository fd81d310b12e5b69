//! A base PodGang of 3 podgroups with surplus and a scaled one of 2; and a PodGang made by hand with names that the API
//! cannot take as they are: 100 characters, with podgroups of 70 (a template's name has at most 63) and 160 (the
//! PodGroup's would have 261, of at most 253).

use conformance_contract::ruling::Finding;
use conformance_contract::target::{KUBE, Target};
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits::REACTION;
use conformance_expect::{Expected, Gang};
use conformance_history::History;
use conformance_judge::{finding, gang_resources};

/// KUBE-01.
pub(super) const CASE: Case = Case {
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
