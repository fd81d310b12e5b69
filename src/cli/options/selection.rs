use std::str::FromStr;

use clap::{Args, ValueEnum};
use conformance_contract::clauses::Class;
use conformance_report::Shard;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::layer::layered;

/// The cases to run; all, if nothing is selected.
#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SelectionOptions {
    /// Run only these cases: ids (aon/one-pod-short), groups (aon) or globs ('topo/*'). A clause (AON-02, or
    /// 'AON-*') stands for the cases that judge it.
    #[arg(value_name = "SELECTION", help_heading = None::<&'static str>)]
    #[serde(rename = "cases")]
    pub words: Vec<String>,
    /// Run only cases that judge a clause of this class of Grove's proposal 592. May be repeated.
    #[arg(long = "class", value_enum, value_name = "CLASS")]
    pub classes: Vec<ClassName>,
    /// Do not run these cases: an id, a group, a glob or a clause, as for SELECTION. May be repeated.
    #[arg(long, value_name = "ID")]
    pub skip: Vec<String>,
    /// Run only the Ith of N shares of the selected cases; `report merge` combines the reports.
    #[arg(long, value_name = "I/N")]
    #[serde(deserialize_with = "from_text")]
    #[schemars(with = "Option<String>")]
    pub shard: Option<Shard>,
}

layered!(SelectionOptions: words, classes, skip, shard);

fn from_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
}

/// The classes of clauses: three of proposal 592, for suites that run on several backends, and one for the
/// promises of one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClassName {
    /// The operator alone.
    Agnostic,
    /// The operator and the scheduler.
    Sensitive,
    /// A feature that the backend declares.
    Capability,
    /// One backend's own resources.
    BackendSpecific,
}

impl From<ClassName> for Class {
    fn from(name: ClassName) -> Self {
        match name {
            ClassName::Agnostic => Self::Agnostic,
            ClassName::Sensitive => Self::Sensitive,
            ClassName::Capability => Self::CapabilityBound,
            ClassName::BackendSpecific => Self::BackendSpecific,
        }
    }
}
