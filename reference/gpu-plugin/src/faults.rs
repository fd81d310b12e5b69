use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Gives each container the ids of the first devices, regardless of the kubelet's allocation (KLT-02).
    pub same_gpus: bool,
    /// Ignores the node's annotation of unhealthy devices (KLT-03).
    pub deaf: bool,
    /// Registers only once, and ignores a restart of the kubelet (KLT-04).
    pub restart_unnoticed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    SameGpus,
    Deaf,
    RestartUnnoticed,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "same-gpus" => Ok(Self::SameGpus),
            "deaf" => Ok(Self::Deaf),
            "restart-unnoticed" => Ok(Self::RestartUnnoticed),
            _ => Err(format!("no fault {text:?}")),
        }
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<T: IntoIterator<Item = Fault>>(faults: T) -> Self {
        let mut on = Self::default();
        for fault in faults {
            match fault {
                Fault::SameGpus => on.same_gpus = true,
                Fault::Deaf => on.deaf = true,
                Fault::RestartUnnoticed => on.restart_unnoticed = true,
            }
        }
        on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("same-gpus", Faults { same_gpus: true, ..Faults::default() })]
    #[case("deaf", Faults { deaf: true, ..Faults::default() })]
    #[case("restart-unnoticed", Faults { restart_unnoticed: true, ..Faults::default() })]
    fn every_fault_has_a_name(#[case] text: &str, #[case] expected: Faults) {
        let faults: Faults = text.parse::<Fault>().into_iter().collect();
        assert_eq!(faults, expected);
    }

    #[test]
    fn an_unknown_fault_is_an_error() {
        assert_eq!("same".parse::<Fault>(), Err("no fault \"same\"".to_owned()));
        assert_eq!(std::iter::empty().collect::<Faults>(), Faults::default());
    }
}
