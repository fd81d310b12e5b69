//! The numbers of nodes, GPUs and pods, whether the pods fit, and whether they are updated.

use std::fmt;
use std::str::FromStr;

use conformance_cluster::nodes::PODS;

use super::shapes;

/// Suffix of the id of a run with an update.
const UPDATE: &str = "-update";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub(super) nodes: u32,
    /// Per node.
    pub(super) gpus: u32,
    pub(super) pods: u32,
    pub(super) updates: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DoesNotFit {
    #[error("there are no pods to schedule")]
    NoPods,
    #[error("{pods} pods request {wanted} GPUs, and the nodes have {there}")]
    Gpus {
        pods: u32,
        /// GPUs that the pods request.
        wanted: u64,
        there: u64,
    },
    #[error("{pods} pods do not fit, the nodes can run {there} ({PODS} each)")]
    Places {
        pods: u32,
        /// Pods that all nodes can take.
        there: u64,
    },
}

impl Size {
    /// A pod requests one GPU or none, so pods that fit in total fit in any order.
    pub fn new(nodes: u32, gpus: u32, pods: u32) -> Result<Self, DoesNotFit> {
        let of_all = |each: u32| u64::from(nodes) * u64::from(each);
        let (wanted, there) = (shapes::gpus(pods), of_all(gpus.min(PODS)));
        match () {
            () if pods == 0 => Err(DoesNotFit::NoPods),
            () if wanted > there => Err(DoesNotFit::Gpus { pods, wanted, there }),
            () if u64::from(pods) > of_all(PODS) => Err(DoesNotFit::Places { pods, there: of_all(PODS) }),
            () => Ok(Self { nodes, gpus, pods, updates: false }),
        }
    }

    /// Adds or removes an update. It needs no extra room: a pod is deleted before it is replaced.
    #[must_use]
    pub const fn updating(self, updates: bool) -> Self {
        Self { updates, ..self }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let update = if self.updates { UPDATE } else { "" };
        write!(f, "{}x{}-{}{update}", self.nodes, self.gpus, self.pods)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSize;

impl FromStr for Size {
    type Err = NoSize;

    fn from_str(word: &str) -> Result<Self, NoSize> {
        let (word, updates) = word.strip_suffix(UPDATE).map_or((word, false), |word| (word, true));
        let (nodes, rest) = word.split_once('x').ok_or(NoSize)?;
        let (gpus, pods) = rest.split_once('-').ok_or(NoSize)?;
        let number = |word: &str| word.parse().map_err(|_| NoSize);
        let size = Self::new(number(nodes)?, number(gpus)?, number(pods)?).map_err(|_| NoSize)?;
        Ok(size.updating(updates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::issue(1000, 8, 10_000)]
    #[case::small(50, 8, 300)]
    #[case::one(1, 1, 1)]
    fn what_fits(#[case] nodes: u32, #[case] gpus: u32, #[case] pods: u32) {
        let size = Size::new(nodes, gpus, pods).unwrap();
        for size in [size, size.updating(true)] {
            assert_eq!(size.to_string().parse(), Ok(size));
        }
    }

    #[rstest::rstest]
    #[case::gpus(10, 8, 300, "request 230 GPUs, and the nodes have 80")]
    #[case::a_node_takes_no_more_pods_than_usual(1, 1000, 200, "and the nodes have 110")]
    #[case::places(1, 110, 120, "the nodes can run 110")]
    #[case::none(1, 8, 0, "no pods")]
    fn what_does_not(#[case] nodes: u32, #[case] gpus: u32, #[case] pods: u32, #[case] why: &str) {
        let error = Size::new(nodes, gpus, pods).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[rstest::rstest]
    #[case("8x8")]
    #[case("8-8")]
    #[case("1x8-9000")]
    #[case("1x8-8-updated")]
    fn what_is_no_size(#[case] word: &str) {
        assert_eq!(word.parse::<Size>(), Err(NoSize));
    }
}
