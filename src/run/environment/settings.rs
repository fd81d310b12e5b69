use std::collections::BTreeMap;
use std::path::PathBuf;

use conformance_cluster::existing::Connection;
use conformance_cluster::kind::KindSpec;
use conformance_cluster::local::Programs;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::test_cluster::Thorough;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_report::Implementation;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Part of cluster names, namespaces and labels.
    pub run: String,
    pub spec: ClusterSpec,
    pub origin: Origin,
    /// `None` stands for the reference operator.
    pub implementation: Option<Implementation>,
    pub programs: Programs,
    pub scale: f64,
    pub concurrency: usize,
    pub grows: bool,
    /// The number of control planes for dedicated cases; by default 1. Each runs one case at a time.
    pub dedicated: BTreeMap<Scheduler, u32>,
    pub strict: bool,
    /// A pass in a retry counts as flaky.
    pub retries: u32,
    pub probe_undeclared: bool,
    /// Whether a timeout counts despite limits scaled below 1: for clusters that are broken on purpose.
    pub short_limits_count: bool,
    pub thorough: Thorough,
    /// The gang scope in which lifecycle cases run, for a scheduler with several. `None` means all.
    pub lifecycle_scope: Option<Target>,
    pub out: PathBuf,
    pub keep: bool,
    pub hold_on_failure: bool,
    /// A command with `{case}` and `{target}` as placeholders.
    pub reproduce: String,
}

impl Settings {
    /// Local processes with the reference operator, one case at a time, without retries.
    pub fn local(run: String, programs: Programs, spec: ClusterSpec, out: PathBuf) -> Self {
        Self {
            run,
            spec,
            origin: Origin::Local,
            implementation: None,
            programs,
            scale: 1.0,
            concurrency: 1,
            grows: false,
            dedicated: BTreeMap::new(),
            strict: false,
            retries: 0,
            probe_undeclared: false,
            short_limits_count: false,
            thorough: Thorough::default(),
            lifecycle_scope: None,
            out,
            keep: false,
            hold_on_failure: false,
            reproduce: String::new(),
        }
    }
}

#[derive(Debug, Clone)]
pub enum Origin {
    Local,
    Kind(Box<KindSpec>),
    Up(PathBuf),
    Existing {
        connection: Connection,
        /// Whether one etcd stores all kinds, so that their resourceVersions are comparable.
        one_etcd: bool,
    },
}
