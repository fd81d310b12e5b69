//! Names of PodGangs. The contract does not define them: clients find a PodGang by its podgroups.

use clap::ValueEnum;
use grove_api::{PodCliqueSet, names};
use kube::ResourceExt;
use sha2::{Digest, Sha256};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PodGangNames {
    /// Index of the replica; if scaled, also the scaling group and the index above the minimum.
    #[default]
    ByIndex,
    /// An epoch for each new PodCliqueSet, and absolute indexes. Tests that nothing relies on names.
    ByEpoch,
}

impl PodGangNames {
    pub(crate) fn base(self, pcs: &PodCliqueSet, i: i32) -> String {
        let name = names::base_pod_gang(&pcs.name_any(), i);
        match self {
            Self::ByIndex => name,
            Self::ByEpoch => format!("{name}-{}", epoch(pcs, i)),
        }
    }

    /// Replica `j` of the group is in replica `i`; `pcsg` is the name of the group's object.
    pub(crate) fn scaled(self, pcs: &PodCliqueSet, i: i32, pcsg: &str, j: i32, min_available: i32) -> String {
        match self {
            Self::ByIndex => names::scaled_pod_gang(pcsg, j, min_available),
            Self::ByEpoch => {
                let replica = names::base_pod_gang(&pcs.name_any(), i);
                let group = pcsg.strip_prefix(&format!("{replica}-")).unwrap_or(pcsg);
                format!("{}-{group}-{j}", self.base(pcs, i))
            }
        }
    }
}

fn epoch(pcs: &PodCliqueSet, i: i32) -> String {
    let digest = Sha256::digest(format!("{}/{i}", pcs.uid().unwrap_or_default()));
    let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("1{:018}", number % 1_000_000_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use grove_api::PodCliqueSetSpec;

    use super::*;

    #[test]
    fn names_by_index_and_by_epoch() {
        let mut pcs = PodCliqueSet::new("wl", PodCliqueSetSpec::default());
        pcs.metadata.uid = Some("u".to_owned());
        let names = |how: PodGangNames| (how.base(&pcs, 1), how.scaled(&pcs, 1, "wl-1-sg", 2, 1));
        assert_eq!(names(PodGangNames::ByIndex), ("wl-1".into(), "wl-1-sg-1".into()));
        let (base, scaled) = names(PodGangNames::ByEpoch);
        let epoch = base.strip_prefix("wl-1-").unwrap();
        assert!(epoch.len() == 19 && epoch.bytes().all(|byte| byte.is_ascii_digit()), "{base}");
        assert_eq!(scaled, format!("{base}-sg-2"));
        assert_ne!(
            PodGangNames::ByEpoch.base(&pcs, 0),
            base.replace("wl-1", "wl-0"),
            "every replica has its own epoch"
        );
    }
}
