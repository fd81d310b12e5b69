//! What changed between two versions of a scheduler, or of Kubernetes.

use std::fmt;

use super::column::{scheduler, title};
use crate::behaviour::Behaviour;
use crate::comparison::{Difference, differences};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionChange {
    pub from: String,
    pub to: String,
    pub difference: Difference,
}

/// `columns` must be [sorted](super::sort).
pub fn version_changes(columns: &[Behaviour]) -> Vec<VersionChange> {
    let adjacent = columns.iter().zip(columns.iter().skip(1));
    let of_one_scheduler = adjacent.filter(|(old, new)| scheduler(old).0 == scheduler(new).0);
    let step =
        |(old, new)| VersionChange { from: title(old), to: title(new), difference: differences(old, new) };
    of_one_scheduler.map(step).collect()
}

impl fmt::Display for VersionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, difference } = self;
        match (difference.changed.len(), difference.lost.len()) {
            (0, 0) => write!(f, "{to}: no behaviour changed since {from}"),
            (changed, lost) => write!(
                f,
                "{to}: behaviour changed since {from} (changed answers: {changed}, missing answers: {lost})"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Outcome;
    use crate::behaviour::tests::column;

    #[test]
    fn each_version_is_compared_with_the_one_before() {
        let answered = |version, word| column("volcano", version, Outcome::Answered, Some(word));
        let columns = [
            answered("v1.14.1", "bound"),
            answered("v1.15.1", "waits"),
            answered("v1.16.0", "waits"),
            column("volcano", "v1.17.0", Outcome::NoAnswer, None),
            column("koord-scheduler", "v1.8.0", Outcome::Answered, Some("bound")),
        ];
        let lines: Vec<_> = version_changes(&columns).iter().map(ToString::to_string).collect();
        let volcano = |version: &str| format!("volcano {version}, Kubernetes v1.36.5");
        let (first, second, third) = (volcano("v1.14.1"), volcano("v1.15.1"), volcano("v1.16.0"));
        let wanted = [
            format!("{second}: behaviour changed since {first} (changed answers: 1, missing answers: 0)"),
            format!("{third}: no behaviour changed since {second}"),
            format!(
                "{}: behaviour changed since {third} (changed answers: 0, missing answers: 1)",
                volcano("v1.17.0")
            ),
        ];
        assert_eq!(lines, wanted);
    }
}
