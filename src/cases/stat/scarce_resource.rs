//! 2 nodes x 8 GPUs, both tainted; eight gangs, each of two cliques of one pod. In each gang, one pod fits.
//! The other requests 9 GPUs, 1000 CPUs or 1000 TiB of memory, or does not tolerate the taint.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_facts::quantity::Amount;
use conformance_facts::requests::{amounts, defaulted, of_running};
use conformance_history::list;

use crate::prelude::*;

marks! {
    /// The scheduler has not reported in time what the pods of a gang lack.
    SILENT = "the scheduler is silent";
}

pub(crate) const CASE: Case = case!("A pending gang reports what its unschedulable pod lacks")
    .clauses(&[STAT_16])
    .nodes(&[nodes(2).gpus(8)]);

const SETS: [&str; 8] = [
    "gpus-first",
    "gpus-second",
    "cpus-first",
    "cpus-second",
    "memory-first",
    "memory-second",
    "taint-first",
    "taint-second",
];

type Terms = &'static [&'static str];

/// Resource names in messages: of kube-scheduler, and of KAI for full nodes and for nodes that are too small.
const RESOURCES: [(&str, Terms); 3] = [
    (names::GPU, &["nvidia.com/gpu", "GPUs", "Max GPU resources available"]),
    ("cpu", &["cpu", "CPU cores", "Max CPU resources available"]),
    ("memory", &["memory"]),
];

const TAINT: Terms = &["taint", "taints"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for node in &test.nodes {
        test.close(&node.name, true).await?;
    }
    for set in SETS {
        for gang in test.submit(set).await? {
            test.until_released(&gang).await?;
        }
    }
    let history = test.history();
    let gangs = gangs(&history).unwrap_or_default();
    let reported = Awaited::demanded_by(STAT_16, "what the pods lack reported for each gang");
    let wait = test.until(reported, REACTION, |live| {
        gangs.iter().all(|(gang, terms)| reasons::is_reported(live, &history, gang, &Why::Lack(terms)))
    });
    let wait = wait.await;
    let history = test.history();
    let is_silent = || {
        let mut gangs = gangs.iter();
        gangs.any(|(gang, terms)| reasons::lack_reported(&history, gang, terms).is_none())
    };
    match wait {
        Err(Stop::Timeout(_)) if is_silent() => {
            test.mark(SILENT, Value::Null);
            test.mark(SharedMark::ContinuedAfterTimeout, Value::Null);
            Ok(())
        }
        wait => wait,
    }
}

/// Returns each gang with the terms for what one of its pods lacks.
fn gangs(history: &History) -> Result<Vec<(Gang, Terms)>, Broken> {
    let gang = |set: &&str| -> Result<(Gang, Terms), Broken> {
        let gang = history.gangs(set)?.into_iter().next();
        let gang = gang.ok_or_else(|| Broken::NotReached("the PodCliqueSet has no gang".into()))?;
        Ok((gang, terms(history, set)?))
    };
    SETS.iter().map(gang).collect()
}

/// A pod requests more of one resource than any node has: returns its terms. Otherwise, those of the taint.
fn terms(history: &History, set: &str) -> Result<Terms, Broken> {
    let live = history.end();
    let fits = |resource: &str, amount: Amount| {
        live.of("Node").any(|node| {
            amounts(&node["status"]["allocatable"]).get(resource).is_some_and(|has| *has >= amount)
        })
    };
    let cliques = list(&history.submitted(set)?["spec"]["template"]["cliques"]).iter();
    let specs: Vec<_> = cliques.map(|clique| defaulted(&clique["spec"]["podSpec"])).collect();
    let is_scarce = |resource: &str| {
        let mut specs = specs.iter();
        specs.any(|spec| of_running(spec).get(resource).is_some_and(|amount| !fits(resource, *amount)))
    };
    let scarce = RESOURCES.into_iter().find(|(resource, _)| is_scarce(resource));
    Ok(scarce.map_or(TAINT, |(_, terms)| terms))
}

fn check(history: &History) -> Vec<Finding> {
    let ruling = |gang: &Gang, terms: Terms| -> Ruling {
        let is_silent = history.marks(SILENT).next().is_some();
        if is_silent && reasons::lack_reported(history, gang, terms).is_none() {
            let why = format!("the scheduler did not report what a pod of PodGang {} lacks", gang.name);
            return Err(Broken::NotAsked(why));
        }
        reasons::reason_reported(history, gang, &Why::Lack(terms))
    };
    vec![finding(STAT_16, || all(gangs(history)?.iter().map(|(gang, terms)| ruling(gang, *terms))))]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::node;

    use super::*;

    fn submitted() -> Story {
        let sets = grove_yaml::documents(include_str!("scarce_resource.yaml")).unwrap();
        let mut large = node("n", 8);
        for (resource, amount) in [("cpu", "32"), ("memory", "256Gi")] {
            large["status"]["allocatable"][resource] = json!(amount);
        }
        sets.into_iter().fold(Story::flat(), Story::submitted).added(large)
    }

    #[rstest]
    #[case("gpus-first", "nvidia.com/gpu")]
    #[case("gpus-second", "nvidia.com/gpu")]
    #[case("cpus-first", "cpu")]
    #[case("cpus-second", "cpu")]
    #[case("memory-first", "memory")]
    #[case("memory-second", "memory")]
    #[case("taint-first", "taint")]
    #[case("taint-second", "taint")]
    fn what_a_pod_lacks_follows_from_manifest_and_nodes(#[case] set: &str, #[case] wanted: &str) {
        assert_eq!(terms(&submitted().end(), set).unwrap()[0], wanted);
    }

    /// `set`: the scheduler reports `by_scheduler` about a pod, and the PodGang `by_operator`.
    fn reporting(story: Story, set: &str, by_scheduler: &str, by_operator: &str) -> Story {
        let clique = format!("{set}-0-first");
        let refused = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": by_scheduler});
        let mut pod = object("Pod", &format!("{clique}-a"));
        pod["metadata"]["labels"] = json!({(names::POD_CLIQUE): clique});
        pod["status"]["conditions"] = json!([refused]);
        let mut gang = object("PodGang", &format!("{set}-0"));
        gang["spec"]["podgroups"] = json!([{"name": clique}]);
        gang["status"]["conditions"] =
            json!([{"type": "Scheduled", "status": "False", "message": by_operator}]);
        story.added(pod).added(gang)
    }

    /// In PodCliqueSet `odd`, the scheduler and the operator report these messages.
    fn ruling(odd: &str, by_scheduler: Option<&str>, by_operator: &str, is_silent: bool) -> Ruling {
        let mut story = submitted();
        for set in SETS {
            let terms = terms(&submitted().end(), set).unwrap();
            let lack = format!("0/2 nodes are available: 2 Insufficient {}", terms[0]);
            let is_odd = set == odd;
            let by_scheduler = by_scheduler.filter(|_| is_odd).unwrap_or(&lack);
            story = reporting(story, set, by_scheduler, if is_odd { by_operator } else { &lack });
        }
        if is_silent {
            story = story.mark(SILENT, Value::Null);
        }
        check(&story.later(20).added(object("Node", "late")).end()).remove(0).ruling
    }

    const WAITS: &str = "waiting for minCount pods from a gang to be scheduled";

    #[rstest]
    fn a_gang_that_does_not_report_what_its_pod_lacks_is_a_violation(
        #[values("memory-first", "taint-second")] set: &str,
    ) {
        let terms = terms(&submitted().end(), set).unwrap();
        let lack = format!("0/2 nodes are available: 2 Insufficient {}", terms[0]);
        assert_eq!(ruling(set, None, &lack, false), Ok(()));
        assert!(message(ruling(set, None, WAITS, false)).contains(terms[0]));
    }

    #[test]
    fn what_the_scheduler_does_not_report_is_not_demanded_of_the_operator() {
        let silent = |is_silent| ruling("taint-first", Some(WAITS), WAITS, is_silent);
        assert!(matches!(silent(true), Err(Broken::NotAsked(_))));
        assert!(matches!(silent(false), Err(Broken::NotReached(_))));
    }
}
