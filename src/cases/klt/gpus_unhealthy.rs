//! 1 node x 8 GPUs; a gang of 2 pods x 2 GPUs runs, and 2 GPUs turn unhealthy: 8 - 2 - 4 = 2 are left. A
//! second gang of 2 pods x 2 GPUs is then one pod short, and fits when all 8 GPUs are healthy again. Pods of
//! the first gang must keep running on unhealthy GPUs, because the kubelet does not stop such pods.

use conformance_check::kubelets;
use conformance_driver::kubelets::nodes_repaired;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Unhealthy GPUs are not allocated: running pods continue, and a new gang waits", nodes_repaired)
        .clauses(&[KLT_03])
        .nodes(&[nodes(1).gpus(GPUS)])
        .needs(&[Need::Kubelets]);

const GPUS: u32 = 8;
/// Indices of GPUs, which may be in use.
const UNHEALTHY: &str = "0,3";
const LEFT: u64 = 6;

const RUNNING: &str = "holds-gpus";
const WAITING: &str = "waits-for-gpus";

marks! {
    BREAK = "GPUs turn unhealthy";
    SHRUNK = "fewer GPUs allocatable";
    MEND = "GPUs turn healthy";
    GROWN = "all GPUs allocatable";
    BOUND = "the waiting gang runs";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let node = test.nodes[0].name.clone();
    let detail = json!({"node": node});
    let running = test.submit(RUNNING).await?;
    test.until_running(&running).await?;
    test.mark(BREAK, detail.clone());
    test.break_gpus(&node, UNHEALTHY).await?;
    test.until_allocatable(&node, LEFT).await?;
    test.mark(SHRUNK, detail.clone());
    let waiting = test.submit(WAITING).await?;
    for gang in &waiting {
        test.scheduler_passes_over(gang).await?;
    }
    test.mark(MEND, detail.clone());
    test.repair_gpus(&node).await?;
    test.until_allocatable(&node, GPUS.into()).await?;
    test.mark(GROWN, detail);
    test.until_running(&waiting).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KLT_03, || {
        let (broken, mark) = history.reached(BREAK)?;
        let node = mark.detail["node"].as_str().unwrap_or_default();
        history.at(SHRUNK, |shrunk| kubelets::has_gpus(&history.before(shrunk), node, LEFT))?;
        history.reached(SharedMark::SchedulerPassed)?;
        let (mending, _) = history.reached(MEND)?;
        binding::never(history, &history.units(WAITING)?, Some(mending))?;
        history.at(GROWN, |grown| {
            kubelets::kept_running(history, broken, grown)?;
            kubelets::has_gpus(&history.before(grown), node, GPUS.into())
        })?;
        history.at(BOUND, |bound| {
            kubelets::kept_running(history, broken, bound)?;
            let live = history.before(bound);
            precondition(AON_03, binding::whole(&live, &history.units(WAITING)?))?;
            precondition(KLT_01, kubelets::all_run(&live, &history.gangs(WAITING)?))
        })
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::node;

    fn steps() -> Vec<Step> {
        let gang = |set: &str| {
            let (gang, clique) = (format!("{set}-0"), format!("{set}-0-worker"));
            [0, 1].map(|i| running(&format!("{clique}-{i}"), &gang, &clique, "n"))
        };
        let pending = gang(WAITING).map(|mut pod| {
            (pod["spec"]["nodeName"], pod["status"]) = (Value::Null, Value::Null);
            Step::Object(pod)
        });
        let mut steps = vec![Step::Object(node("n", 8))];
        steps.extend(gang(RUNNING).map(Step::Object));
        steps.extend([Step::Mark(BREAK), Step::Object(node("n", 6)), Step::Mark(SHRUNK)]);
        steps.extend(pending);
        steps.extend([
            Step::Mark(SharedMark::SchedulerPassed.into()),
            Step::Mark(MEND),
            Step::Object(node("n", 8)),
            Step::Mark(GROWN),
        ]);
        steps.extend(gang(WAITING).map(Step::Object));
        steps.push(Step::Mark(BOUND));
        steps
    }

    enum Step {
        Object(Value),
        Mark(MarkName),
    }

    fn ruling(steps: Vec<Step>) -> Ruling {
        let manifests = grove_yaml::documents(crate::manifest("klt/gpus-unhealthy")).expect("the manifest");
        let story = manifests.into_iter().fold(Story::flat(), Story::submitted);
        let history = steps.into_iter().fold(story, |story, step| match step {
            Step::Object(object) => story.modified(object),
            Step::Mark(name) => story.mark(name, json!({"node": "n"})),
        });
        check(&history.end()).remove(0).ruling
    }

    fn at(steps: &[Step], mark: MarkName) -> usize {
        steps.iter().position(|step| matches!(step, Step::Mark(name) if *name == mark)).expect("the mark")
    }

    #[test]
    fn a_gang_that_waits_for_healthy_gpus_passes() {
        assert_eq!(ruling(steps()), Ok(()));
    }

    #[test]
    fn unhealthy_gpus_that_stay_allocatable_are_a_violation() {
        let mut all = steps();
        let shrunk = at(&all, SHRUNK);
        all[shrunk - 1] = Step::Object(node("n", 8));
        all[shrunk] = Step::Mark(SharedMark::WaitTimedOut.into());
        all.truncate(shrunk + 1);
        assert_eq!(message(ruling(all)), "Node n: 8 GPUs are allocatable, want 6");
    }

    #[test]
    fn a_pod_bound_to_an_unhealthy_gpu_is_a_violation() {
        let mut all = steps();
        let passed = at(&all, SharedMark::SchedulerPassed.into());
        let early = running("waits-for-gpus-0-worker-0", "waits-for-gpus-0", "waits-for-gpus-0-worker", "n");
        all.insert(passed, Step::Object(early));
        assert!(message(ruling(all)).contains("want 0 because the pods did not all fit"));
    }

    #[test]
    fn a_running_pod_that_fails_is_a_violation() {
        let mut all = steps();
        let passed = at(&all, SharedMark::SchedulerPassed.into());
        let mut failed = running("holds-gpus-0-worker-1", "holds-gpus-0", "holds-gpus-0-worker", "n");
        failed["status"]["phase"] = "Failed".into();
        all.insert(passed, Step::Object(failed));
        assert_eq!(
            message(ruling(all)),
            "Pod holds-gpus-0-worker-1 is in phase Failed, want it to keep running"
        );
    }

    #[test]
    fn a_waiting_gang_that_stays_unbound_breaks_another_clause() {
        let mut all = steps();
        let grown = at(&all, GROWN);
        all.truncate(grown + 1);
        all.push(Step::Mark(SharedMark::WaitTimedOut.into()));
        let found = ruling(all);
        assert!(matches!(found, Err(Broken::Precondition { clause: AON_03, .. })), "{found:?}");
    }
}
