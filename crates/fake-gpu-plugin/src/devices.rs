//! The fake GPUs: how many, and which of them are unhealthy.
//!
//! Pure state and its textual form. Who may change it, and who is notified, is decided elsewhere; who uses a GPU is
//! known only to the kubelet, and not stored here.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// What the kubelet calls a device that may be used.
pub(crate) const HEALTHY: &str = "Healthy";
/// What the kubelet calls a device that may not be used.
pub(crate) const UNHEALTHY: &str = "Unhealthy";

/// What ids of devices begin with; the index follows.
const ID_PREFIX: &str = "fake-gpu-";

/// The devices of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Devices {
    /// How many there are. A list of as many as fit the type stays below the 4 MiB that a kubelet takes.
    pub count: u16,
    /// Which of them are broken.
    pub unhealthy: Unhealthy,
}

/// Which devices are broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unhealthy {
    /// Those of these indices. One that is not below the count waits for the count to grow.
    These(BTreeSet<u16>),
    /// Every device.
    All,
}

/// Why a device cannot be given to a container.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No device has this id.
    #[error("there is no device {0}")]
    Unknown(String),
    /// The device is broken.
    #[error("device {0} is unhealthy")]
    Unhealthy(String),
}

/// A text that says nothing about devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    /// Not a number of devices.
    #[error("{0:?} is no number from 0 to 65535")]
    Count(String),
    /// Not a set of devices.
    #[error("{0:?} is neither \"all\" nor a list of indices such as \"0,3\"")]
    Unhealthy(String),
}

impl Devices {
    /// Ids and healths, by index.
    pub(crate) fn list(&self) -> impl Iterator<Item = (String, &'static str)> {
        (0..self.count).map(move |index| {
            (device_id(index), if self.unhealthy.contains(index) { UNHEALTHY } else { HEALTHY })
        })
    }

    /// Whether the device of that id may be given to a container.
    ///
    /// # Errors
    /// There is no such device, or it is broken.
    pub(crate) fn check(&self, id: &str) -> Result<(), Refusal> {
        let index = id.strip_prefix(ID_PREFIX).and_then(|index| index.parse::<u16>().ok());
        match index {
            // Another spelling of an index, such as 00, is no id.
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

/// The id of the device of that index.
fn device_id(index: u16) -> String {
    format!("{ID_PREFIX}{index}")
}

/// The number of devices in a label's value.
///
/// # Errors
/// The value is no such number.
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
    /// No device.
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl FromStr for Unhealthy {
    type Err = Malformed;

    /// `all`, or indices separated by commas; nothing at all is no device.
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
