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
    /// Replace the suite's configuration of a scheduler by a file, or by the product's own defaults (stock).
    /// The report names it. Needs --provider local. May be repeated.
    #[arg(long = "scheduler-config", value_name = "NAME=FILE|stock", value_parser = configured)]
    #[serde(skip)]
    pub given_configs: Vec<(String, String)>,
    /// Where each program comes from, by its name: a path, src:DIR, version:V or chart:REF.
    #[arg(skip)]
    pub components: BTreeMap<String, String>,
    /// The configuration of each scheduler, by its name: a file, or stock.
    #[arg(skip)]
    pub scheduler_configs: BTreeMap<String, String>,
    /// Build and download nothing. If a pinned program is neither in a release folder nor in the cache, fail
    /// before anything starts. Working trees of your own are still built.
    #[arg(skip)]
    pub offline: Option<bool>,
}

layered!(ProgramOptions: given, given_configs, components, scheduler_configs, offline);

fn named(raw: &str) -> Result<(String, String), String> {
    pair(raw).ok_or_else(|| "expected NAME=PATH, NAME=src:DIR, NAME=version:V or NAME=chart:REF".into())
}

fn configured(raw: &str) -> Result<(String, String), String> {
    pair(raw).ok_or_else(|| "expected NAME=FILE or NAME=stock, e.g. kube-scheduler=stock".into())
}

fn pair(raw: &str) -> Option<(String, String)> {
    let (name, value) = raw.split_once('=')?;
    (!name.is_empty() && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}
