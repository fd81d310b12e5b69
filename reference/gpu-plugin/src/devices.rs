use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

pub(crate) const HEALTHY: &str = "Healthy";
pub(crate) const UNHEALTHY: &str = "Unhealthy";

const ID_PREFIX: &str = "fake-gpu-";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Devices {
    /// A list of `u16::MAX` devices stays below the 4 MiB that a kubelet accepts.
    pub count: u16,
    pub unhealthy: Unhealthy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unhealthy {
    /// Indices of the unhealthy devices. An index at or above `count` takes effect once `count` grows.
    These(BTreeSet<u16>),
    All,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the plugin has no device {0}")]
    Unknown(String),
    #[error("device {0} is unhealthy")]
    Unhealthy(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("{0:?}: must be a number from 0 to 65535")]
    Count(String),
    #[error("{0:?}: must be \"all\" or a list of indices such as \"0,3\"")]
    Unhealthy(String),
}

impl Devices {
    pub(crate) fn list(&self) -> impl Iterator<Item = (String, &'static str)> {
        (0..self.count).map(move |index| {
            (device_id(index), if self.unhealthy.contains(index) { UNHEALTHY } else { HEALTHY })
        })
    }

    pub(crate) fn check(&self, id: &str) -> Result<(), Refusal> {
        let index = id.strip_prefix(ID_PREFIX).and_then(|index| index.parse::<u16>().ok());
        match index {
            // Accept only the canonical spelling of an index: `fake-gpu-00` is no id.
            Some(index) if index < self.count && device_id(index) == id => {
                if self.unhealthy.contains(index) {
                    return Err(Refusal::Unhealthy(id.to_owned()));
                }
                Ok(())
            }
            _ => Err(Refusal::Unknown(id.to_owned())),
        }
    }
}

fn device_id(index: u16) -> String {
    format!("{ID_PREFIX}{index}")
}

pub(crate) fn parse_count(text: &str) -> Result<u16, Malformed> {
    text.trim().parse().map_err(|_| Malformed::Count(text.to_owned()))
}

impl Unhealthy {
    fn contains(&self, index: u16) -> bool {
        match self {
            Self::These(indices) => indices.contains(&index),
            Self::All => true,
        }
    }
}

impl Default for Unhealthy {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl FromStr for Unhealthy {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        match text.trim() {
            "" => Ok(Self::default()),
            "all" => Ok(Self::All),
            indices => {
                let indices = indices.split(',').map(|index| index.trim().parse::<u16>());
                let indices: Result<BTreeSet<u16>, _> = indices.collect();
                indices.map(Self::These).map_err(|_| Malformed::Unhealthy(text.to_owned()))
            }
        }
    }
}

impl fmt::Display for Unhealthy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::These(indices) if indices.is_empty() => f.write_str("none"),
            Self::These(indices) => {
                let indices: Vec<String> = indices.iter().map(u16::to_string).collect();
                f.write_str(&indices.join(","))
            }
            Self::All => f.write_str("all"),
        }
    }
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
