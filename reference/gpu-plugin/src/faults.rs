use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Gives each container the ids of the first devices, regardless of the kubelet's allocation (KLT-02).
    pub same_gpus: bool,
    /// Ignores the node annotation that lists the unhealthy devices (KLT-03).
    pub ignore_unhealthy: bool,
    /// Registers only once, and ignores a restart of the kubelet (KLT-04).
    pub register_once: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    SameGpus,
    IgnoreUnhealthy,
    RegisterOnce,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "same-gpus" => Ok(Self::SameGpus),
            "ignore-unhealthy" => Ok(Self::IgnoreUnhealthy),
            "register-once" => Ok(Self::RegisterOnce),
            _ => Err(format!("unknown fault {text:?}: use same-gpus, ignore-unhealthy or register-once")),
        }
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<T: IntoIterator<Item = Fault>>(faults: T) -> Self {
        let mut on = Self::default();
        for fault in faults {
            match fault {
                Fault::SameGpus => on.same_gpus = true,
                Fault::IgnoreUnhealthy => on.ignore_unhealthy = true,
                Fault::RegisterOnce => on.register_once = true,
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
    #[case("ignore-unhealthy", Faults { ignore_unhealthy: true, ..Faults::default() })]
    #[case("register-once", Faults { register_once: true, ..Faults::default() })]
    fn every_fault_has_a_name(#[case] text: &str, #[case] expected: Faults) {
        let faults: Faults = text.parse::<Fault>().into_iter().collect();
        assert_eq!(faults, expected);
    }

    #[test]
    fn an_unknown_fault_is_an_error() {
        let error = "same".parse::<Fault>().unwrap_err();
        assert_eq!(error, "unknown fault \"same\": use same-gpus, ignore-unhealthy or register-once");
        assert_eq!(std::iter::empty().collect::<Faults>(), Faults::default());
    }
}
