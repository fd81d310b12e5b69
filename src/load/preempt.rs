//! Preemption under load: gangs of low priority fill the nodes, and a tenth as many gangs of high priority
//! arrive. Each gang has [`GANG`] pods with one GPU and no surplus.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use conformance_check::preemption::Victim;
use conformance_check::{binding, cleanup, precondition};
use conformance_contract::ruling::{Broken, Finding, finding};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_expect::{self as expect, Gang, Unit};
use conformance_facts::binding::not_fully_bound;
use conformance_history::{History, Live, MarkName, SharedMark, text};
use serde_json::{Value, json};

use super::drive::{delete, limit, until, warm_up};
use super::figures::Figures;
use super::shapes::{GANG, HIGH, LOW, pcs_of};

pub(super) const CLAUSES: [&str; 3] = ["PRE-01", "PRE-02", "DEL-01"];

const ARRIVED: MarkName = MarkName::of_case("gangs of high priority arrive");
const BOUND: MarkName = MarkName::of_case("gangs of high priority are bound");
/// The scheduler has made a full pass since [`BOUND`].
const PASSED: MarkName = MarkName::of_case("the scheduler has passed over the rest");

/// KAI never evicts a gang whose priority is 100 or more.
const CLASSES: [(&str, u32); 2] = [(LOW, 20), (HIGH, 40)];

pub(super) async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    restored(test, |test| Box::pin(preempt(test))).await
}

async fn preempt(test: &mut TestContext) -> Result<(), Stop> {
    let documents = grove_yaml::documents(test.case.manifest)
        .map_err(|error| Stop::Refused { action: "read the manifest".into(), reason: error.to_string() })?;
    test.take_baseline().await?;
    for (class, value) in CLASSES {
        // PriorityClasses are cluster-scoped, so their names contain the namespace.
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": test.domain(class)},
            "value": value,
        });
        test.apply_companion(object).await?;
    }
    test.enable_preemption().await?;
    warm_up(test).await?;
    let sets = documents.len();
    let (low, high): (Vec<_>, Vec<_>) = documents.into_iter().partition(|pcs| is_of(pcs, LOW));
    let low = submit(test, low).await?;
    let pods = low.iter().map(Gang::pods).sum::<usize>();
    let bound = Awaited::demanded_by("AON-01", format!("{pods} pods of low priority bound"));
    until(test, bound, limit(pods), |live| live.bound() >= pods).await?;

    test.mark(ARRIVED, Value::Null);
    let begin = Instant::now();
    let high = submit(test, high).await?;
    let all = pods + high.iter().map(Gang::pods).sum::<usize>();
    let units: Vec<Unit> = high.iter().flat_map(|gang| gang.units(test.target)).collect();
    let bound = Awaited::demanded_by("PRE-01", format!("{} gangs of high priority bound", high.len()));
    until(test, bound, limit(all), |live| not_fully_bound(live, &units).next().is_none()).await?;
    let took = begin.elapsed();
    test.mark(BOUND, Value::Null);
    test.canaries().await?;
    let whole = Awaited::demanded_by("PRE-02", "no gang partially bound");
    until(test, whole, limit(all), |live| gangs_in_part(live) == 0).await?;
    test.mark(PASSED, Value::Null);

    let mut figures = Figures::of(all, low.len() + high.len(), sets);
    let history = test.history();
    let capacity: usize =
        test.case.nodes.iter().map(|nodes| nodes.count as usize * nodes.gpus as usize).sum();
    figures.add_preemption(
        took,
        [
            ("preemptors", high.len()),
            ("gangsEvicted", gangs_evicted(&history)),
            ("gangsNeeded", all.saturating_sub(capacity).div_ceil(GANG)),
            ("gangsInPart", gangs_in_part(&history.end())),
        ],
    );
    drop(history);
    test.mark(SharedMark::Measured, figures.detail());
    delete(test, limit(all)).await?;
    test.until_nothing_left().await?;
    Ok(test.delete_companions().await?)
}

fn is_of(pcs: &Value, class: &str) -> bool {
    let found = text(&pcs["spec"]["template"]["priorityClassName"]);
    found == class || found.ends_with(&format!("-{class}"))
}

async fn submit(test: &mut TestContext, documents: Vec<Value>) -> Result<Vec<Gang>, Stop> {
    let mut gangs = Vec::new();
    for mut pcs in documents {
        let class = test.domain(text(&pcs["spec"]["template"]["priorityClassName"]));
        pcs["spec"]["template"]["priorityClassName"] = class.into();
        gangs.extend(test.submit_value(test.prepare_manifest(pcs)).await?);
    }
    Ok(gangs)
}

fn gangs_in_part(live: &Live) -> usize {
    let mut bound: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in live.pods().filter(|pod| pod.node().is_some() && !pod.is_terminating()) {
        if let Some(gang) = pod.pod_gang().filter(|_| pcs_of(pod.0).is_some()) {
            *bound.entry(gang).or_default() += 1;
        }
    }
    bound.into_values().filter(|count| *count < GANG).count()
}

fn gangs_evicted(history: &History) -> usize {
    let Some((arrived, _)) = history.marks(ARRIVED).next() else { return 0 };
    let (before, end) = (history.before(arrived), history.end());
    let stayed: BTreeSet<&str> =
        end.pods().filter(|pod| !pod.is_terminating()).map(|pod| pod.uid()).collect();
    let lost = before.pods().filter(|pod| pod.node().is_some() && !stayed.contains(pod.uid()));
    lost.filter_map(|pod| pod.pod_gang()).collect::<BTreeSet<_>>().len()
}

pub(super) fn check(history: &History) -> Vec<Finding> {
    let units = |class: &str| -> Vec<Unit> {
        let sets = history.header.submitted.values().filter(|pcs| is_of(pcs, class));
        sets.flat_map(expect::gangs).flat_map(|gang| gang.units(history.header.target)).collect()
    };
    let running = || -> Result<Victim<'_>, Broken> {
        let (since, _) = history.reached(ARRIVED)?;
        precondition("AON-01", binding::whole(&history.before(since), &units(LOW)))?;
        Ok(Victim::of(history, units(LOW), since))
    };
    vec![
        finding("PRE-01", || {
            running()?;
            history.at(BOUND, |bound| binding::whole(&history.before(bound), &units(HIGH)))
        }),
        finding("PRE-02", || {
            let victim = running()?;
            history.reached(BOUND)?;
            history.at(PASSED, |passed| victim.is_not_in_part(passed))
        }),
        finding("DEL-01", || cleanup::nothing_left(history)),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, worker};

    use super::super::shapes::manifest_of_contenders;
    use super::*;

    /// `s0`, of low priority, is bound and loses `lost` pods. `s1`, of high priority, has `bound` bound pods.
    fn preempted(bound: usize, lost: usize) -> History {
        let sets = grove_yaml::documents(&manifest_of_contenders(8)).unwrap();
        let story = sets.into_iter().fold(Story::whole(), Story::submitted).workers("s0", GANG, GANG);
        let story = story.mark(ARRIVED, Value::Null).workers("s1", GANG, bound).mark(BOUND, Value::Null);
        let story = (0..lost).fold(story, |story, index| story.deleted(worker("s0", index, Some("n"))));
        story.mark(PASSED, Value::Null).end()
    }

    #[rstest::rstest]
    #[case::evicted_whole(8, 8, &[], &[])]
    #[case::none_evicted(8, 0, &[], &[])]
    #[case::evicted_in_part(8, 3, &[], &["preempted-in-part"])]
    #[case::not_bound(7, 8, &["not-bound-whole"], &[])]
    fn gangs_are_bound_and_evicted_whole(
        #[case] bound: usize,
        #[case] lost: usize,
        #[case] of_high: &[&str],
        #[case] of_low: &[&str],
    ) {
        let found = check(&preempted(bound, lost));
        let codes_of = |place: usize| codes(found[place].ruling.clone());
        assert_eq!((codes_of(0), codes_of(1)), (owned(of_high), owned(of_low)));
        assert!(matches!(found[2].ruling, Err(Broken::NotReached(_))), "nothing was deleted");
    }

    fn owned(codes: &[&str]) -> Vec<String> {
        codes.iter().map(|code| (*code).to_owned()).collect()
    }

    #[test]
    fn gangs_that_lost_pods_are_counted() {
        let figures = |lost: usize| {
            let history = preempted(8, lost);
            (gangs_evicted(&history), gangs_in_part(&history.end()))
        };
        assert_eq!((figures(0), figures(3), figures(8)), ((0, 0), (1, 1), (1, 0)));
    }
}
