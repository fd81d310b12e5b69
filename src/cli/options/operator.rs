use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::layered;

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OperatorOptions {
    /// Judge this operator instead of the reference operator: upstream=DIR, a checkout of ai-dynamo/grove,
    /// which is built with Go once; exec:FILE, a description of any operator (docs/your-operator.md);
    /// existing, the one that you run in the cluster yourself; or reference.
    #[arg(long = "operator", value_name = "upstream=DIR|exec:FILE|existing")]
    pub source: Option<String>,
    /// Also judge upgrades (MIG). This operator, named as for --operator, creates gangs. Then the operator of
    /// --operator, or the reference operator, replaces it. With kubernetes=1.36, the next version replaces
    /// the control plane instead of the operator, and only upgrades are judged.
    #[arg(long, value_name = "reference|upstream=DIR|exec:FILE|kubernetes=V")]
    pub upgrade_from: Option<String>,
    /// Declaration of the operator, instead of the file that comes with its description. Clauses of
    /// undeclared features are unsupported.
    #[arg(skip)]
    pub declaration: Option<PathBuf>,
    /// Name of the operator in the report, with --operator existing [default: unnamed].
    #[arg(skip)]
    pub name: Option<String>,
    /// Version of the operator in the report, with --operator existing [default: unknown].
    #[arg(skip)]
    pub version: Option<String>,
    /// Also run cases of features that the operator does not declare, to find out whether it has them. Their
    /// clauses stay unsupported, and the report lists the features that were shown.
    #[arg(skip)]
    pub probe_undeclared: Option<bool>,
}

layered!(OperatorOptions: source, upgrade_from, declaration, name, version, probe_undeclared);
