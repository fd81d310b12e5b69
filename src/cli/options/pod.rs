//! Options for the pods of `job`, and of the Jobs in manifests/suite.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::layered;

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PodOptions {
    /// Store the report in ConfigMaps of the pod's namespace, for `report fetch`. The pod then succeeds
    /// regardless of the verdicts.
    pub store_results: Option<bool>,
    /// The number of pods of the Indexed Job. The pod runs the share of its completion index.
    pub shards: Option<NonZeroUsize>,
}

layered!(PodOptions: store_results, shards);
