//! The table of `actions.yaml`: what generated workloads do to which kind of object at which moment.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::workload::Moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    ScaleOut,
    ScaleIn,
    ScaleBelowMinimum,
    /// A deleted PodCliqueSet is created again.
    Delete,
    Fail,
    Evict,
    ChangeEnv,
    ChangeInitContainers,
    ChangeTemplateLabel,
    ChangeTemplateAnnotation,
    ChangeScaleConfig,
    ChangeShape,
    EditLabel,
    EditListEntry,
    Restart,
    AddNode,
    Drain,
}

/// The kind of the object. A clique's template counts as its PodClique or, in a scaling group, as the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Kind {
    PodCliqueSet,
    PodCliqueScalingGroup,
    PodClique,
    PodGang,
    GangResource,
    Pod,
    Operator,
    Node,
}

const KINDS: [Kind; 8] = [
    Kind::PodCliqueSet,
    Kind::PodCliqueScalingGroup,
    Kind::PodClique,
    Kind::PodGang,
    Kind::GangResource,
    Kind::Pod,
    Kind::Operator,
    Kind::Node,
];

const MOMENTS: [Moment; 5] =
    [Moment::Pending, Moment::AtRest, Moment::DuringUpdate, Moment::AtZero, Moment::DuringRecycle];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) action: Action,
    pub(crate) kind: Kind,
    pub(crate) moment: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum Decision {
    Drawn,
    Refused,
    LeftOut,
}

impl TryFrom<String> for Decision {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (word, reason) = text.split_once(": ").unwrap_or((text.as_str(), ""));
        match (word, reason.is_empty()) {
            ("drawn", true) => Ok(Self::Drawn),
            ("refused", false) => Ok(Self::Refused),
            ("left out", false) => Ok(Self::LeftOut),
            _ => Err(format!("unknown decision {text:?}: write drawn, refused: REASON or left out: REASON")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    moments: BTreeMap<Moment, Decision>,
    actions: BTreeMap<Action, Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    others: Decision,
    kinds: BTreeMap<Kind, BTreeMap<Moment, Decision>>,
}

impl Table {
    fn decision(&self, cell: Cell) -> Option<Decision> {
        let row = self.actions.get(&cell.action)?;
        let Some(moments) = row.kinds.get(&cell.kind) else { return Some(row.others) };
        moments.get(&cell.moment).or_else(|| self.moments.get(&cell.moment)).copied()
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.actions.keys().flat_map(|action| {
            KINDS.into_iter().flat_map(move |kind| {
                MOMENTS.into_iter().map(move |moment| Cell { action: *action, kind, moment })
            })
        })
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let documents = grove_yaml::documents(include_str!("actions.yaml")).unwrap_or_default();
    let table = documents.into_iter().next().unwrap_or(Value::Null);
    match serde_json::from_value(table) {
        Ok(table) => table,
        Err(error) => unreachable!("actions.yaml: {error}"),
    }
});

/// The cells for which workloads are drawn, always in the same order.
pub(crate) fn drawn() -> Vec<Cell> {
    TABLE.cells().filter(|cell| TABLE.decision(*cell) == Some(Decision::Drawn)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`Action::Drain`] is the last action.
    const ACTIONS: usize = Action::Drain as usize + 1;

    #[test]
    fn every_cell_has_a_decision() {
        assert_eq!(TABLE.actions.len(), ACTIONS);
        assert_eq!(TABLE.cells().count(), ACTIONS * KINDS.len() * MOMENTS.len());
        let undecided: Vec<_> = TABLE.cells().filter(|cell| TABLE.decision(*cell).is_none()).collect();
        assert!(undecided.is_empty(), "{undecided:?}");
    }

    #[test]
    fn most_actions_are_drawn_and_some_are_refused() {
        assert!(drawn().len() >= 60, "{} cells are drawn", drawn().len());
        let refused = TABLE.cells().filter(|cell| TABLE.decision(*cell) == Some(Decision::Refused));
        assert_eq!(refused.count(), 10);
        let left_out = TABLE.cells().filter(|cell| TABLE.decision(*cell) == Some(Decision::LeftOut));
        assert!(left_out.count() > 0);
    }

    #[rstest::rstest]
    #[case("drawn", true)]
    #[case("left out: it has no replicas", true)]
    #[case("left out", false)]
    #[case("refused: ", false)]
    #[case("drawn: because", false)]
    #[case("later", false)]
    fn a_decision_other_than_drawn_has_a_reason(#[case] text: &str, #[case] is_decision: bool) {
        assert_eq!(Decision::try_from(text.to_owned()).is_ok(), is_decision);
    }
}
