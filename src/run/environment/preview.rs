//! Describes what a run would do in a user's cluster, and changes nothing there.

use std::collections::BTreeMap;
use std::time::Duration;

use conformance_cluster::ClusterError;
use conformance_cluster::examination::{self, Examination};
use conformance_contract::names;
use conformance_driver::case::{Case, Isolation};
use conformance_driver::rights;

use super::bring_up::needed_kinds;
use super::{Environment, Origin};
use crate::run_plan::RunPlan;
use crate::suites;

#[derive(Debug, Clone)]
pub struct Preview {
    pub examination: Examination,
    pub cases: usize,
    pub at_once: usize,
    pub left_out: BTreeMap<String, usize>,
    pub most_nodes: u32,
    pub most_gpus: u32,
    pub length: Duration,
}

impl Environment {
    pub async fn preview(&self, plan: &RunPlan) -> Result<Preview, ClusterError> {
        let settings = &self.settings;
        let Origin::Existing { connection, .. } = &settings.origin else {
            return Err(ClusterError::OtherProvider { needed: "a cluster that someone else runs" });
        };
        let needed = rights::needed(&settings.spec.schedulers);
        let kinds = needed_kinds(&settings.spec);
        let examination = examination::examine(connection, names::RUN, needed, &kinds).await?;
        // One leased node is reserved for canaries.
        let free = examination.nodes.iter().filter(|node| node.is_free).count().saturating_sub(1);
        let lent = connection.leased_nodes.as_ref().map(|_| free);
        let (mut cases, mut left_out) = (Vec::new(), BTreeMap::new());
        for (case, target) in plan.in_order() {
            let reason = self.lacks(case, target).map(str::to_owned);
            match reason.or_else(|| lent.and_then(|lent| too_few(case, lent))) {
                Some(reason) => *left_out.entry(reason).or_default() += 1,
                None => cases.push(case),
            }
        }
        let nodes = || cases.iter().flat_map(|case| case.nodes);
        Ok(Preview {
            most_nodes: cases.iter().map(|case| node_count(case)).max().unwrap_or_default(),
            most_gpus: nodes().map(|nodes| nodes.gpus).max().unwrap_or_default(),
            length: length(&cases, settings.concurrency, lent),
            cases: cases.len(),
            at_once: settings.concurrency,
            left_out,
            examination,
        })
    }
}

fn node_count(case: &Case) -> u32 {
    case.nodes.iter().map(|nodes| nodes.count).sum()
}

fn too_few(case: &Case, lent: usize) -> Option<String> {
    let wanted = node_count(case) as usize;
    (wanted > lent).then(|| format!("the case needs {wanted} nodes, {lent} can be leased to cases"))
}

fn usual(case: &Case) -> Duration {
    suites::usual_length(case.id)
}

/// Estimates the length of the run. Exclusive cases run one by one, and leased nodes limit the others.
fn length(cases: &[&Case], at_once: usize, lent: Option<usize>) -> Duration {
    let (alone, together): (Vec<&Case>, Vec<&Case>) =
        cases.iter().copied().partition(|case| case.isolation == Isolation::Exclusive);
    let sum = |cases: &[&Case]| cases.iter().map(|case| usual(case)).sum::<Duration>();
    let longest = together.iter().map(|case| usual(case)).max().unwrap_or_default();
    let by_number = sum(&together) / u32::try_from(at_once.max(1)).unwrap_or(u32::MAX);
    let by_nodes = lent.map_or(Duration::ZERO, |lent| {
        let node_seconds = together.iter().map(|case| usual(case) * node_count(case)).sum::<Duration>();
        node_seconds / u32::try_from(lent.max(1)).unwrap_or(u32::MAX)
    });
    sum(&alone) + longest.max(by_number).max(by_nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> &'static Case {
        suites::cases().find(|case| case.isolation == Isolation::Shared && node_count(case) > 1).unwrap()
    }

    #[test]
    fn cases_at_once_and_lent_nodes_limit_the_speed() {
        let case = case();
        let usual = suites::usual_length(case.id);
        let cases = [case; 8];
        assert_eq!(length(&cases, 1, None), usual * 8);
        assert_eq!(length(&cases, 4, None), usual * 2);
        assert_eq!(length(&cases, 100, None), usual, "at least the longest");
        let nodes = node_count(case);
        assert_eq!(length(&cases, 100, Some(nodes as usize)), usual * 8, "one case at a time");
    }

    #[test]
    fn a_case_with_more_nodes_than_are_lent_does_not_run() {
        let nodes = node_count(case()) as usize;
        assert!(too_few(case(), nodes).is_none() && too_few(case(), nodes - 1).is_some());
    }
}
