//! Faults for mutants: each makes the plugin break one promise, so that a suite can show that it notices.
//!
//! They are switched on by a hidden flag and never in operation.

use std::str::FromStr;

/// The faults that are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Containers are told the ids of the first devices, as many as they asked for, whichever the kubelet gave them
    /// (KLT-02).
    pub same_gpus: bool,
    /// What the node says of broken devices is not heard (KLT-03).
    pub deaf: bool,
    /// A kubelet that restarts is not noticed: the plugin registers once and never again (KLT-04).
    pub restart_unnoticed: bool,
}

/// One fault by name, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// See [`Faults::same_gpus`].
    SameGpus,
    /// See [`Faults::deaf`].
    Deaf,
    /// See [`Faults::restart_unnoticed`].
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
    fn names(#[case] text: &str, #[case] expected: Faults) {
        let faults: Faults = text.parse::<Fault>().into_iter().collect();
        assert_eq!(faults, expected);
    }

    #[test]
    fn what_is_no_fault() {
        assert_eq!("same".parse::<Fault>(), Err("no fault \"same\"".to_owned()));
        assert_eq!(std::iter::empty().collect::<Faults>(), Faults::default());
    }
}
