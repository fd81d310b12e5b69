//! 1 node; a PodCliqueSet of 2 pods without GPUs converges in peace, and a fault proxy counts the writes that it takes. Then
//! for n = 1, 2, 3, ... up to that number one like it, while the controller is killed after its n-th write in the namespace,
//! of which it hears no answer, and another controller goes on. Of more than eight crash points a run tries the first, the
//! last and six that its id chooses, unless it is asked for every one.

use conformance_cluster::local::Part;
use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, Isolation, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{binding, end_state, finding};
use conformance_proxy::{Action, Match, Rule};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::before_put_back::before_put_back;

/// Mark: the writes after which the controller is to be killed.
const POINTS: MarkName = MarkName::of_case("crash points");
/// Mark: one of them was tried.
const TRIED: MarkName = MarkName::of_case("controller killed or not");

/// More writes than any controller needs for 2 pods.
const MANY: usize = 100;
/// How many crash points are tried where not every one is.
const CHOICE: usize = 8;

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
    let (proxy, ()) = test.proxy(Part::Controller, |_| Ok(())).await?;
    let in_peace = Match::writes().in_namespace(&test.namespace);
    test.submit("calm").await?;
    test.until_converged("calm").await?;
    let count = usize::try_from(proxy.count(&in_peace)).unwrap_or(MANY).min(MANY);
    let points = match test.test_cluster.thorough.every_crash_point {
        true => (1..=count).collect(),
        false => chosen(count, &test.test_cluster.run),
    };
    test.mark(POINTS, json!(points));
    for n in points {
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
        if is_killed {
            test.take_away(Part::Controller).await?;
            proxy.release(halt);
            test.start_ready(Part::Controller).await?;
            test.until_converged(&name).await?;
        } else {
            // It took a write less than in peace.
            proxy.abandon(halt);
        }
        test.mark(TRIED, json!({"writes": n, "killed": is_killed}));
    }
    Ok(())
}

/// The first and the last of so many crash points, and of those between as many as the seed chooses, in order.
fn chosen(count: usize, seed: &str) -> Vec<usize> {
    let rank = |n: usize| Sha256::digest(format!("{seed}/{n}"));
    let mut between: Vec<usize> = (2..count).collect();
    between.sort_by_key(|n| rank(*n));
    between.truncate(CHOICE - 2);
    let mut points: Vec<usize> =
        [1, count].into_iter().filter(|n| (1..=count).contains(n)).chain(between).collect();
    points.sort_unstable();
    points.dedup();
    points
}

fn crash(n: usize) -> String {
    format!("crash-{n}")
}

fn judge(history: &History) -> Vec<Finding> {
    let history = &before_put_back(history);
    vec![finding("AON-13", || {
        let end = history.end();
        binding::whole(&end, &history.units("calm")?)?;
        let tried: Vec<_> = history.marks(TRIED).map(|(_, mark)| &mark.detail).collect();
        let killed = || tried.iter().filter(|run| run["killed"] == true);
        let ended = |run: &Value| run["writes"].as_u64().and_then(|n| usize::try_from(n).ok()).map(crash);
        killed().filter_map(|run| ended(run)).try_for_each(|name| end_state::same(history, "calm", &name))?;
        let (_, points) = history.reached(POINTS)?;
        let wanted = points.detail.as_array().map_or(0, Vec::len);
        ensure_reached(tried.len() == wanted, &format!("all of {wanted} crash points"))?;
        // The last write may be one that is not needed every time.
        let least = end_state::size(&end, "calm").min(CHOICE) - 1;
        ensure_reached(killed().count() >= least, &format!("{least} kills"))
    })]
}

fn ensure_reached(reached: bool, what: &str) -> Ruling {
    if reached { Ok(()) } else { Err(Broken::NotReached(format!("the case did not reach {what}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_crash_points() {
        assert_eq!(chosen(3, "r"), [1, 2, 3]);
        let points = chosen(30, "r");
        assert_eq!((points.len(), points[0], points[7]), (8, 1, 30));
        assert_eq!(points, chosen(30, "r"), "the same in the same run");
        assert_ne!(points, chosen(30, "s"));
        assert!(chosen(0, "r").is_empty());
    }
}
