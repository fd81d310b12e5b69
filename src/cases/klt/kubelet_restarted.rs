//! 1 node x 4 GPUs; a gang of 2 pods x 1 GPU runs, and the kubelet restarts. Then a fifth GPU is added.
//! Before the restart there were at most 4 GPUs, so a count of 5 shows that the device plugin has registered
//! again. A second gang of 3 pods x 1 GPU needs the fifth GPU.

use conformance_check::kubelets;
use conformance_driver::kubelets::nodes_repaired;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("After a kubelet restart, all GPUs are usable and the gang kept running", nodes_repaired)
        .clauses(&[KLT_04])
        .nodes(&[nodes(1).gpus(4)])
        .needs(&[Need::Kubelets]);

const GPUS: u64 = 5;

const RUNNING: &str = "running";
const NEXT: &str = "next";

marks! {
    RESTART = "kubelet restarts";
    REGISTERED = "plugin registered again";
    USED = "the rest is used";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let node = test.nodes[0].name.clone();
    let running = test.submit(RUNNING).await?;
    test.until_running(&running).await?;
    test.mark(RESTART, json!({"node": node}));
    test.kind()?.restart_kubelet(&node).await?;
    test.set_gpus(&node, GPUS).await?;
    test.until_allocatable(&node, GPUS).await?;
    test.mark(REGISTERED, Value::Null);
    let next = test.submit(NEXT).await?;
    test.until_running(&next).await?;
    test.mark(USED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KLT_04, || {
        let (restart, mark) = history.reached(RESTART)?;
        let node = mark.detail["node"].as_str().unwrap_or_default();
        history.at(REGISTERED, |registered| {
            kubelets::kept_running(history, restart, registered)?;
            kubelets::has_gpus(&history.before(registered), node, GPUS)
        })?;
        history.at(USED, |used| {
            kubelets::kept_running(history, restart, used)?;
            let live = history.before(used);
            precondition(AON_01, binding::whole(&live, &history.units(NEXT)?))?;
            precondition(KLT_01, kubelets::all_run(&live, &history.gangs(NEXT)?))
        })
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::node;

    fn pod(set: &str, index: usize) -> Value {
        let (gang, clique) = (format!("{set}-0"), format!("{set}-0-worker"));
        running(&format!("{clique}-{index}"), &gang, &clique, "n")
    }

    fn after_restart() -> Story {
        let manifests =
            grove_yaml::documents(crate::manifest("klt/kubelet-restarted")).expect("the manifest");
        let story = manifests.into_iter().fold(Story::flat(), Story::submitted).added(node("n", 4));
        story
            .all_added([0, 1].map(|i| pod(RUNNING, i)))
            .mark(RESTART, json!({"node": "n"}))
            .modified(node("n", 0))
    }

    fn registered() -> Story {
        after_restart().modified(node("n", 5)).mark(REGISTERED, Value::Null)
    }

    fn ruling(story: Story) -> Ruling {
        check(&story.end()).remove(0).ruling
    }

    #[test]
    fn a_plugin_that_registers_again_passes() {
        let used = registered().all_added([0, 1, 2].map(|i| pod(NEXT, i))).mark(USED, Value::Null);
        assert_eq!(ruling(used), Ok(()));
    }

    #[test]
    fn a_plugin_that_does_not_register_is_a_violation() {
        let remembered = after_restart().modified(node("n", 4)).mark(SharedMark::WaitTimedOut, Value::Null);
        assert_eq!(message(ruling(remembered)), "Node n: 4 GPUs are allocatable, want 5");
    }

    #[test]
    fn a_restarted_container_is_a_violation() {
        let mut restarted = pod(RUNNING, 0);
        restarted["status"]["containerStatuses"][0]["containerID"] = "another".into();
        let story = after_restart().modified(restarted).modified(node("n", 5)).mark(REGISTERED, Value::Null);
        assert_eq!(
            message(ruling(story)),
            "Pod running-0-worker-0 had its container worker restarted, want it to keep running"
        );
    }

    #[test]
    fn a_refused_new_pod_breaks_another_clause() {
        let mut refused = pod(NEXT, 2);
        refused["status"] = json!({"phase": "Failed", "reason": "UnexpectedAdmissionError"});
        let pods = [pod(NEXT, 0), pod(NEXT, 1), refused];
        let story = registered().all_added(pods).mark(SharedMark::WaitTimedOut, Value::Null);
        let found = ruling(story);
        assert!(matches!(found, Err(Broken::Precondition { clause: KLT_01, .. })), "{found:?}");
    }
}
