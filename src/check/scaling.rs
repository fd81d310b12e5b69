//! PodCliqueSets after scaling (GANG-10, GANG-24).

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::{Gang, scaling};
use conformance_facts::cliques::pods_of;
use conformance_history::{History, Live};

use super::idle_writes::{self, Concern};
use super::{gang_resources, gangs, none, premise, violation};

const WRONG_NUMBER_OF_PODS: Code = Code::new("wrong-number-of-pods");

/// PodGangs, references and gang resources at the entry `until` match the scaling marked at `scaled`
/// (GANG-10).
pub fn followed(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    let after = scaling::gangs(history, history.submitted(set)?, scaled + 1);
    let live = history.before(until);
    gangs::base(&live, set, &after)?;
    gangs::scaled(history, &live, &after)?;
    gangs::references_are_the_pods(&live, &after)?;
    as_many_pods_as_replicas(&live, &after)?;
    gang_resources::owned(history, &live, &after)?;
    gang_resources::as_the_pod_gangs_say(history, &live, &after)
}

fn as_many_pods_as_replicas(live: &Live, gangs: &[Gang]) -> Ruling {
    none(gangs.iter().flat_map(|gang| &gang.groups).filter_map(|group| {
        let pods = pods_of(live, &group.clique).count();
        let message = || format!("PodClique {} has {pods} pods, want {}", group.clique, group.replicas);
        (pods != group.replicas).then(|| violation(WRONG_NUMBER_OF_PODS, message()))
    }))
}

/// Objects that the scaling does not concern were not written (GANG-24). The check requires that PodGangs
/// followed the scaling.
pub fn others_untouched(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    premise("GANG-10", followed(history, set, scaled, until))?;
    let pcs = history.submitted(set)?;
    let (before, after) = (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
    let concern = Concern::of(history.header.target, set, &before, &after);
    idle_writes::others_untouched(history, scaled, until, &concern)
}
