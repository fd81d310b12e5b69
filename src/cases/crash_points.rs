use conformance_driver::context::{Stop, TestContext};
use conformance_install::part::Part;
use conformance_proxy::{Action, Match, ProxyHandle, Rule, RuleId};
use sha2::{Digest, Sha256};

/// In a run that does not try every crash point: how many PodCliqueSets have a kill.
pub(crate) const KILLED_SETS: usize = 2;

/// For each PodCliqueSet and step, the write after which the operator is killed, if any. `writes`: the number
/// of writes per step without a kill.
pub(crate) fn crash_points(test: &TestContext, writes: &[u64]) -> Vec<Vec<Option<u64>>> {
    if test.test_cluster.thorough.every_crash_point {
        every(writes)
    } else {
        chosen(writes, test.test_cluster.thorough.seed)
    }
}

pub(crate) fn writes_of(test: &TestContext) -> Match {
    Match::writes().in_namespace(&test.namespace)
}

/// A proxy forwards the operator's n-th write and withholds the response.
pub(crate) struct Crash<'a> {
    proxy: &'a ProxyHandle,
    halt: RuleId,
}

impl<'a> Crash<'a> {
    pub(crate) fn after(test: &TestContext, proxy: &'a ProxyHandle, n: u64, of: &str) -> Result<Self, Stop> {
        let rule = Rule::new(format!("killed after write {n} of {of}"), writes_of(test), Action::Halt);
        Ok(Self { proxy, halt: proxy.add(rule.nth(n))? })
    }

    /// Returns false if `end` completes before the n-th write.
    pub(crate) async fn is_reached_before(
        &self,
        end: impl Future<Output = Result<(), Stop>>,
    ) -> Result<bool, Stop> {
        tokio::select! {
            biased;
            () = self.proxy.until_applied(self.halt, 1) => Ok(true),
            ended = end => {
                ended?;
                self.proxy.abandon(self.halt);
                Ok(false)
            }
        }
    }

    pub(crate) async fn replace_controller(self, test: &mut TestContext) -> Result<(), Stop> {
        test.kill_part(Part::Controller).await?;
        self.proxy.release(self.halt);
        test.start_ready(Part::Controller).await
    }
}

fn every(writes: &[u64]) -> Vec<Vec<Option<u64>>> {
    let sets = writes.iter().max().copied().unwrap_or(0);
    (1..=sets).map(|n| writes.iter().map(|count| (n <= *count).then_some(n)).collect()).collect()
}

fn chosen(writes: &[u64], seed: u64) -> Vec<Vec<Option<u64>>> {
    let mut sets = vec![Vec::new(); KILLED_SETS];
    for (step, count) in writes.iter().enumerate() {
        let mut points: Vec<u64> = (1..=*count).collect();
        points.sort_by_key(|n| Sha256::digest(format!("{seed}/{step}/{n}")));
        let mut points = points.into_iter();
        sets.iter_mut().for_each(|set| set.push(points.next()));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_crash_points_depend_on_the_seed() {
        let writes = [30, 1, 0];
        let sets = chosen(&writes, 1);
        assert_eq!(sets.len(), KILLED_SETS);
        assert_eq!(sets, chosen(&writes, 1), "the same with the same seed");
        assert_ne!(sets, chosen(&writes, 2));
        assert!(
            sets.iter().all(|points| points[0].is_some_and(|n| (1..=30).contains(&n)) && points[2].is_none())
        );
        assert_eq!((sets[0][1], sets[1][1]), (Some(1), None));
        assert_ne!(sets[0][0], sets[1][0]);
    }

    #[test]
    fn every_write_is_a_crash_point() {
        assert_eq!(every(&[2, 0, 1]), [[Some(1), None, Some(1)], [Some(2), None, None]]);
    }
}
