//! Three PodGangs made by hand: with the label of the default backend, with none, and with one that names no backend.
//! There is no PodCliqueSet that would put the labels right.

use crate::suite::case::{Case, Lane};
use crate::suite::expect::Gang;
use crate::suite::history::History;
use crate::suite::judge::{Finding, finding, gang_resources};
use crate::suite::limits::REACTION;
use crate::suite::trial::{Stop, Trial};

/// GANG-04.
pub const CASE: Case = Case {
    id: "gang/scheduler-label",
    title: "A PodGang whose scheduler label is absent or names no backend is served by the default one",
    clauses: &["GANG-04"],
    nodes: &[],
    manifest: include_str!("scheduler_label.yaml"),
    lane: Lane::Shared,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const POD_GANGS: [&str; 3] = ["labelled", "unlabelled", "mislabelled"];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for name in POD_GANGS {
        trial.create("PodGang", &trial.manifest(name)?).await?;
    }
    trial
        .until("gang resources of every PodGang", REACTION, |live| {
            let has_workload = POD_GANGS.iter().all(|name| live.get("Workload", name).is_some());
            has_workload && live.of("PodGroup").count() >= POD_GANGS.len()
        })
        .await
}

fn judge(history: &History) -> Vec<Finding> {
    let gangs = POD_GANGS.map(|name| Gang { name: name.into(), base: None, groups: Vec::new() });
    vec![finding("GANG-04", || {
        gang_resources::owned(history, &history.end(), &gangs)?;
        gang_resources::as_the_pod_gangs_say(history, &history.end(), &gangs)
    })]
}
