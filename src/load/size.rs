//! The numbers of nodes, GPUs and pods, whether the pods fit, and whether they are updated or preempted.

use std::fmt;
use std::str::FromStr;

use conformance_cluster::nodes::PODS;

use super::shapes;

const UPDATE: &str = "-update";
const PREEMPT: &str = "-preempt";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub(super) nodes: u32,
    pub(super) gpus: u32,
    pub(super) pods: u32,
    pub(super) updates: bool,
    /// Whether all pods have low priority, and gangs of high priority arrive.
    pub(super) preempts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DoesNotFit {
    #[error("there are no pods to schedule")]
    NoPods,
    #[error("{pods} pods request {requested} GPUs, and the nodes have {available}")]
    Gpus { pods: u32, requested: u64, available: u64 },
    #[error("{pods} pods do not fit: the nodes have room for {capacity} pods ({PODS} each)")]
    Pods { pods: u32, capacity: u64 },
    #[error("the number of pods, {pods}, is not a multiple of 8, the size of each gang")]
    NoGangs { pods: u32 },
    #[error(
        "gangs of high priority request {requested} GPUs, and {free} of {available} are free, so nothing is preempted"
    )]
    NothingToPreempt { requested: u64, free: u64, available: u64 },
}

impl Size {
    /// A pod requests at most one GPU, so it is enough to compare the totals.
    pub fn new(nodes: u32, gpus: u32, pods: u32) -> Result<Self, DoesNotFit> {
        let on_all_nodes = |per_node: u32| u64::from(nodes) * u64::from(per_node);
        let (requested, available) = (shapes::gpus(pods), on_all_nodes(gpus.min(PODS)));
        if pods == 0 {
            return Err(DoesNotFit::NoPods);
        }
        if requested > available {
            return Err(DoesNotFit::Gpus { pods, requested, available });
        }
        let capacity = on_all_nodes(PODS);
        if u64::from(pods) > capacity {
            return Err(DoesNotFit::Pods { pods, capacity });
        }
        Ok(Self { nodes, gpus, pods, updates: false, preempts: false })
    }

    /// An update needs no more capacity, because a pod is deleted before it is replaced.
    #[must_use]
    pub const fn updating(self, updates: bool) -> Self {
        Self { updates, ..self }
    }

    /// Gives all pods one GPU and low priority. The gangs of high priority must not fit as well.
    pub fn preempting(self) -> Result<Self, DoesNotFit> {
        let pods = self.pods;
        let available = u64::from(self.nodes) * u64::from(self.gpus.min(PODS));
        let [(_, low), (_, high)] = shapes::contenders(pods);
        let gang = shapes::GANG as u64;
        if u64::from(low) * gang != u64::from(pods) {
            return Err(DoesNotFit::NoGangs { pods });
        }
        if u64::from(pods) > available {
            return Err(DoesNotFit::Gpus { pods, requested: pods.into(), available });
        }
        let (requested, free) = (u64::from(high) * gang, available - u64::from(pods));
        if requested <= free {
            return Err(DoesNotFit::NothingToPreempt { requested, free, available });
        }
        Ok(Self { preempts: true, ..self })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let update = if self.updates { UPDATE } else { "" };
        let preempt = if self.preempts { PREEMPT } else { "" };
        write!(f, "{}x{}-{}{update}{preempt}", self.nodes, self.gpus, self.pods)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSize;

impl FromStr for Size {
    type Err = NoSize;

    fn from_str(word: &str) -> Result<Self, NoSize> {
        let (word, preempts) = word.strip_suffix(PREEMPT).map_or((word, false), |word| (word, true));
        let (word, updates) = word.strip_suffix(UPDATE).map_or((word, false), |word| (word, true));
        let (nodes, rest) = word.split_once('x').ok_or(NoSize)?;
        let (gpus, pods) = rest.split_once('-').ok_or(NoSize)?;
        let number = |word: &str| word.parse().map_err(|_| NoSize);
        let size = Self::new(number(nodes)?, number(gpus)?, number(pods)?).map_err(|_| NoSize)?;
        let size = size.updating(updates);
        if preempts { size.preempting().map_err(|_| NoSize) } else { Ok(size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::large(1000, 8, 10_000)]
    #[case::small(50, 8, 300)]
    #[case::one(1, 1, 1)]
    fn a_size_that_fits_is_printed_and_parsed(#[case] nodes: u32, #[case] gpus: u32, #[case] pods: u32) {
        let size = Size::new(nodes, gpus, pods).unwrap();
        for size in [size, size.updating(true)] {
            assert_eq!(size.to_string().parse(), Ok(size));
        }
    }

    #[rstest::rstest]
    #[case::gpus(10, 8, 300, "request 230 GPUs, and the nodes have 80")]
    #[case::gpus_without_pod_capacity(1, 1000, 200, "and the nodes have 110")]
    #[case::pods(1, 110, 120, "the nodes have room for 110 pods")]
    #[case::none(1, 8, 0, "no pods")]
    fn a_size_that_does_not_fit_is_rejected(
        #[case] nodes: u32,
        #[case] gpus: u32,
        #[case] pods: u32,
        #[case] why: &str,
    ) {
        let error = Size::new(nodes, gpus, pods).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[rstest::rstest]
    #[case::whole(1000, 8_000, "")]
    #[case::no_gangs(1000, 7_999, "not a multiple of 8")]
    #[case::too_many(999, 8_000, "8000 pods request 8000 GPUs, and the nodes have 7992")]
    #[case::too_few(1000, 7_200, "720 GPUs, and 800 of 8000 are free")]
    fn gangs_of_high_priority_must_preempt(#[case] nodes: u32, #[case] pods: u32, #[case] why: &str) {
        match Size::new(nodes, 8, pods).unwrap().preempting() {
            Ok(size) => assert_eq!((why, size.to_string().parse()), ("", Ok(size))),
            Err(error) => assert!(!why.is_empty() && error.to_string().contains(why), "{error}"),
        }
    }

    #[rstest::rstest]
    #[case("8x8")]
    #[case("8-8")]
    #[case("1x8-9000")]
    #[case("1x8-8-updated")]
    fn invalid_sizes_are_rejected(#[case] word: &str) {
        assert_eq!(word.parse::<Size>(), Err(NoSize));
    }
}
