//! 1 node; a PodCliqueSet of 2 pods without GPUs converges in peace. Then for n = 1, 2, 3, ... one like it, while the
//! controller is killed after its n-th write in the namespace, of which it hears no answer, and another controller that
//! goes on, until n is more than the writes it takes. The writes are counted by a fault proxy.

use conformance_cluster::local::Part;
use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, Isolation, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{binding, end_state, finding};
use conformance_proxy::{Action, Match, Rule};
use serde_json::json;

use crate::before_put_back::before_put_back;

const KILLED: MarkName = MarkName::of_case("controller killed or not");

/// More writes than any controller needs for 2 pods; one that is not done by then never is.
const MANY: usize = 100;

/// AON-13.
pub(crate) const CASE: Case = Case::new(
    "The controller is killed after its n-th write, for every n: the end state is the one without it",
    |test| Box::pin(restored(test, |test| Box::pin(drive(test)))),
    judge,
)
.clauses(&["AON-13"])
.nodes(&[nodes(1).pods(2 * (MANY as u32 + 1))])
.isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("calm").await?;
    test.until_converged("calm").await?;
    let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
    for n in 1..=MANY {
        let writes = Match::writes().in_namespace(&test.namespace);
        let halt =
            proxy.add(Rule::new(format!("killed after write {n}"), writes, Action::Halt).nth(n as u64))?;
        let (name, mut pcs) = (crash(n), test.manifest("calm")?);
        pcs["metadata"]["name"] = name.as_str().into();
        test.submit_value(pcs).await?;
        let is_killed = tokio::select! {
            biased;
            () = proxy.until_applied(halt, 1) => true,
            converged = test.until_converged(&name) => converged.map(|()| false)?,
        };
        test.mark(KILLED, json!({"writes": n, "killed": is_killed}));
        if !is_killed {
            break;
        }
        test.take_away(Part::Controller).await?;
        proxy.release(halt);
        test.start_ready(Part::Controller).await?;
        test.until_converged(&name).await?;
    }
    Ok(())
}

fn crash(n: usize) -> String {
    format!("crash-{n}")
}

fn judge(history: &History) -> Vec<Finding> {
    let history = &before_put_back(history);
    vec![finding("AON-13", || {
        let end = history.end();
        binding::whole(&end, &history.units("calm")?)?;
        let runs: Vec<_> = history.marks(KILLED).map(|(_, mark)| &mark.detail).collect();
        let killed = runs.iter().filter(|run| run["killed"] == true).count();
        (1..=killed).try_for_each(|n| end_state::same(history, "calm", &crash(n)))?;
        // The last one tells that there was no further write after which to kill it.
        let is_peaceful = runs.last().is_some_and(|run| run["killed"] == false);
        ensure_reached(is_peaceful, "a controller that converged without being killed")?;
        let least = end_state::size(&end, "calm");
        ensure_reached(killed >= least, &format!("{least} kills, one for each object there is"))
    })]
}

fn ensure_reached(reached: bool, what: &str) -> Ruling {
    if reached { Ok(()) } else { Err(Broken::NotReached(format!("the case did not reach {what}"))) }
}
