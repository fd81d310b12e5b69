//! Where the programs of a cluster come from.

use std::collections::BTreeMap;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::layered;
use super::scheduler_names;

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ProgramOptions {
    /// Where a program comes from, instead of the pinned version.
    #[arg(long = "component", value_name = "NAME=PATH|src:DIR|version:V|chart:REF", value_parser = named,
          help = scheduler_names::component())]
    #[serde(skip)]
    pub given: Vec<(String, String)>,
    /// Where each program comes from, by its name: a path, src:DIR, version:V or chart:REF.
    #[arg(skip)]
    pub components: BTreeMap<String, String>,
}

layered!(ProgramOptions: given, components);

/// Parses `NAME=VALUE`.
fn named(raw: &str) -> Result<(String, String), String> {
    match raw.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.into(), value.into())),
        _ => Err("expected NAME=PATH, NAME=src:DIR, NAME=version:V or NAME=chart:REF".into()),
    }
}
