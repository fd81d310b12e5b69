//! How the cases of a run are executed, and where its clusters come from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use conformance_cluster::existing::Connection;
use conformance_cluster::kind::KindSpec;
use conformance_cluster::local::{ClusterSpec, Programs};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::test_cluster::Thorough;
use conformance_report::Implementation;

/// How cases are run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The run's id: part of cluster names, namespaces and labels.
    pub run: String,
    /// The shared cluster.
    pub spec: ClusterSpec,
    /// Where the shared cluster comes from.
    pub origin: Origin,
    /// Whose controller is judged; `None` is the reference controller.
    pub implementation: Option<Implementation>,
    /// How to make local clusters.
    pub programs: Programs,
    /// Factor on every named limit.
    pub scale: f64,
    /// Cases at a time on the shared cluster.
    pub concurrency: usize,
    /// Whether more run while processors are idle, there and alone.
    pub grows: bool,
    /// Control planes of a scheduler for cases that are alone, one case at a time on each; one where it is not named.
    pub dedicated: BTreeMap<Scheduler, u32>,
    /// Whether a broken recommendation counts like a broken requirement.
    pub strict: bool,
    /// How often a case that did not pass is tried again; a pass then counts as flaky.
    pub retries: u32,
    /// Whether cases of features that the operator does not declare are run all the same, to find out what it has.
    pub probe_undeclared: bool,
    /// Whether a wait that runs out means something although limits were shortened: on clusters that are broken on purpose.
    pub short_limits_count: bool,
    /// How much time cases take.
    pub thorough: Thorough,
    /// Where a scheduler has several gang scopes: the one on which cases of the later life alone are run; `None` is all.
    pub later_life_on: Option<Target>,
    /// Where histories and artifacts go.
    pub out: PathBuf,
    /// Whether clusters and their folders stay after a failure.
    pub keep: bool,
    /// A command that runs one case again, with `{case}` and `{target}` in it.
    pub reproduce: String,
}

/// Where the shared cluster comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// The run makes it of local processes.
    Local,
    /// The run makes it of containers.
    Kind(Box<KindSpec>),
    /// `up` has made it.
    Up(PathBuf),
    /// An existing cluster that the harness did not start.
    Existing {
        /// How it is used.
        connection: Connection,
        /// Whether all its kinds are in one etcd, so that their resourceVersions are in one order.
        one_etcd: bool,
    },
}
