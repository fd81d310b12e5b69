//! 1 node; a PodCliqueSet of 2 pods without GPUs converges in peace. Then for n = 1, 2, 3, ... one like it, while the
//! controller exits after its n-th write in the namespace, and another controller that goes on, until n is more than
//! the writes it takes.

use std::time::{Duration, Instant};

use conformance_cluster::local::{LocalCluster, Part};
use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, Isolation, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_driver::{convergence, limits};
use conformance_expect as expect;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{binding, end_state, finding};
use serde_json::{Value, json};

const EXITED: MarkName = MarkName::of_case("controller exited or not");

/// More writes than any controller needs for 2 pods; one that is not done by then never is.
const MANY: usize = 100;

/// AON-13.
pub(crate) const CASE: Case = Case::new(
    "The controller exits after its n-th write, for every n: the end state is the one without it",
    |test| Box::pin(restored(test, |test| Box::pin(drive(test)))),
    judge,
)
.clauses(&["AON-13"])
.nodes(&[nodes(1).pods(2 * (MANY as u32 + 1))])
.needs(&[Need::ReferenceController])
.isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("calm").await?;
    test.until_converged("calm").await?;
    let test_cluster = test.test_cluster.clone();
    let cluster = test_cluster.local()?;
    let steady = cluster.spec().controller;
    for n in 1..=MANY {
        let mut pcs = test.manifest("calm")?;
        pcs["metadata"]["name"] = crash(n).into();
        let fault = format!("exit-after-write={n}@{}", test.namespace);
        cluster.restart_controller(steady.clone().with_fault(fault)).await?;
        let exited = exits(test, cluster, pcs).await?;
        cluster.restart_controller(steady.clone()).await?;
        test.until_converged(&crash(n)).await?;
        test.mark(EXITED, json!({"writes": n, "exited": exited}));
        if !exited {
            break;
        }
    }
    Ok(())
}

fn crash(n: usize) -> String {
    format!("crash-{n}")
}

/// Submits a PodCliqueSet and waits until the controller has exited, or has brought it to its end without; whether
/// it exited. It is waited for from before it can: an end that nobody waits for is an infrastructure error.
async fn exits(test: &mut TestContext, cluster: &LocalCluster, pcs: Value) -> Result<bool, Stop> {
    const MOMENT: Duration = Duration::from_millis(10);
    let (test_cluster, namespace, gangs) =
        (test.test_cluster.clone(), test.namespace.clone(), expect::gangs(&pcs));
    let name = pcs["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let converged =
        || test_cluster.recorder.look(&namespace, |live| convergence::is_over(live, &name, &gangs));
    let begin = Instant::now();
    let end = async {
        loop {
            match cluster.ended(Part::Controller, MOMENT).await {
                Ok(_) => return true,
                Err(_) if converged() || begin.elapsed() > limits::RECOVERY.length => return false,
                Err(_) => {}
            }
        }
    };
    let (exited, submitted) = tokio::join!(end, test.submit_value(pcs));
    submitted.map(|_| exited)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-13", || {
        let mut runs: Vec<_> = history.marks(EXITED).map(|(_, mark)| &mark.detail).collect();
        // The last one tells that there was no further write after which to exit.
        let peaceful = runs.pop().filter(|run| run["exited"] == false);
        ensure_reached(peaceful.is_some(), "a controller that converged without exiting")?;
        let end = history.end();
        binding::whole(&end, &history.units("calm")?)?;
        let least = end_state::size(&end, "calm");
        ensure_reached(runs.len() >= least, &format!("{least} exits, one for each object there is"))?;
        (1..=runs.len()).try_for_each(|n| end_state::same(history, "calm", &crash(n)))
    })]
}

fn ensure_reached(reached: bool, what: &str) -> Ruling {
    if reached { Ok(()) } else { Err(Broken::NotReached(format!("the case did not reach {what}"))) }
}
