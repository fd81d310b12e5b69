//! 1 node x 8 GPUs; a gang of 2 pods x 2 GPUs runs, and 2 GPUs turn unhealthy: 8 - 2 - 4 = 2 are left. A
//! second gang of 2 pods x 2 GPUs is then one pod short, and fits when all 8 are healthy again. The case does
//! not ask which GPUs the first gang holds: the owner of a pod with a broken GPU decides about it, not the
//! kubelet.

use conformance_check::kubelets;
use conformance_driver::kubelets::mended;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Unhealthy GPUs are not allocated: running pods continue, and a new gang waits", mended)
        .clauses(&[KLT_03])
        .nodes(&[nodes(1).gpus(GPUS)])
        .needs(&[Need::Kubelets]);

const GPUS: u32 = 8;
/// GPU indices; they may be in use.
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
    let here = json!({"node": node});
    let running = test.submit(RUNNING).await?;
    test.until_running(&running).await?;
    test.mark(BREAK, here.clone());
    test.break_gpus(&node, UNHEALTHY).await?;
    test.until_allocatable(&node, LEFT).await?;
    test.mark(SHRUNK, here.clone());
    let waiting = test.submit(WAITING).await?;
    for gang in &waiting {
        test.scheduler_passes_over(gang).await?;
    }
    test.mark(MEND, here.clone());
    test.mend_gpus(&node).await?;
    test.until_allocatable(&node, GPUS.into()).await?;
    test.mark(GROWN, here);
    test.until_running(&waiting).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding(KLT_03, || {
        let (broken, mark) = history.reached(BREAK)?;
        let node = mark.detail["node"].as_str().unwrap_or_default();
        history.at(SHRUNK, |shrunk| kubelets::has_gpus(&history.before(shrunk), node, LEFT))?;
        history.reached(SharedMark::SchedulerPassed)?;
        let (mending, _) = history.reached(MEND)?;
        binding::never(history, &history.units(WAITING)?, Some(mending))?;
        history.at(GROWN, |grown| {
            kubelets::ran_on(history, broken, grown)?;
            kubelets::has_gpus(&history.before(grown), node, GPUS.into())
        })?;
        history.at(BOUND, |bound| {
            binding::whole(&history.before(bound), &history.units(WAITING)?)?;
            kubelets::all_run(&history.before(bound), &history.gangs(WAITING)?)?;
            kubelets::ran_on(history, broken, bound)
        })
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_check::message;
    use conformance_contract::ruling::Ruling;
    use conformance_history::testing::{Story, node, running};

    /// The expected course in steps, each of which a test may replace.
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
        judge(&history.end()).remove(0).ruling
    }

    fn at(steps: &[Step], mark: MarkName) -> usize {
        steps.iter().position(|step| matches!(step, Step::Mark(name) if *name == mark)).expect("the mark")
    }

    #[test]
    fn the_second_gang_waits_until_the_gpus_are_healthy() {
        assert_eq!(ruling(steps()), Ok(()));
    }

    #[test]
    fn gpus_that_stay_allocatable() {
        let mut all = steps();
        let shrunk = at(&all, SHRUNK);
        all[shrunk - 1] = Step::Object(node("n", 8));
        all[shrunk] = Step::Mark(SharedMark::WaitRanOut.into());
        all.truncate(shrunk + 1);
        assert_eq!(message(ruling(all)), "Node n: 8 GPUs are allocatable, want 6");
    }

    #[test]
    fn a_pod_that_gets_an_unhealthy_gpu() {
        let mut all = steps();
        let passed = at(&all, SharedMark::SchedulerPassed.into());
        let early = running("waits-for-gpus-0-worker-0", "waits-for-gpus-0", "waits-for-gpus-0-worker", "n");
        all.insert(passed, Step::Object(early));
        assert!(message(ruling(all)).contains("want 0 because it did not fit"));
    }

    #[test]
    fn a_pod_that_loses_its_gpu_and_is_ended() {
        let mut all = steps();
        let passed = at(&all, SharedMark::SchedulerPassed.into());
        let mut ended = running("holds-gpus-0-worker-1", "holds-gpus-0", "holds-gpus-0-worker", "n");
        ended["status"]["phase"] = "Failed".into();
        all.insert(passed, Step::Object(ended));
        assert_eq!(
            message(ruling(all)),
            "Pod holds-gpus-0-worker-1 is in phase Failed, want it to keep running"
        );
    }

    #[test]
    fn a_gang_that_is_forgotten() {
        let mut all = steps();
        let grown = at(&all, GROWN);
        all.truncate(grown + 1);
        all.push(Step::Mark(SharedMark::WaitRanOut.into()));
        assert!(message(ruling(all)).contains("is not fully bound"));
    }
}
