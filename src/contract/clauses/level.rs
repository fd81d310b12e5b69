use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How severe a violation is. The [feature](super::Feature) of a clause decides which backends owe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// MUST: promised by Grove's documentation, API, proposals or tests, or essential to gang scheduling.
    Required,
    /// SHOULD: only this suite recommends it.
    Recommended,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Required => "required",
            Level::Recommended => "recommended",
        })
    }
}

/// A program that can cause a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the name of a variant says everything")]
pub enum Party {
    Operator,
    Scheduler,
    /// The kubelet and its device plugins.
    Kubelet,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Party::Operator => "operator",
            Party::Scheduler => "scheduler",
            Party::Kubelet => "kubelet",
        })
    }
}

/// The environment that a run needs to decide a clause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Environment {
    /// Any cluster.
    #[default]
    Any,
    /// Real kubelets.
    Kubelet,
    /// A control plane whose programs and requests the harness can stop, delay and read.
    ControlPlane,
    /// Several schedulers in one cluster.
    Schedulers,
    /// An upgrade of the operator or of Kubernetes.
    Upgrade,
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Environment::Any => "any cluster",
            Environment::Kubelet => "a cluster with real kubelets",
            Environment::ControlPlane => "a control plane that the harness controls",
            Environment::Schedulers => "several schedulers in one cluster",
            Environment::Upgrade => "an upgrade of the operator or of Kubernetes",
        })
    }
}
