//! The validated request of a run, from the command line and the files it names. Later code reads neither.

mod cases;
mod cluster;
mod conflicts;
mod execution;
mod job;
mod nodes;
mod operator;
mod output;
mod pod;
mod programs;

use conformance_contract::clauses::{Class, Workload};
use conformance_contract::kubernetes::Kubernetes;
use conformance_report::Shard;
use conformance_run::near_limit::Judged;
use conformance_run::workload;

pub(crate) use self::cases::Cases;
pub(crate) use self::cluster::ClusterRequest;
pub(crate) use self::execution::Execution;
pub(crate) use self::job::JobRequest;
pub(crate) use self::nodes::{NodesSource, WorkloadNodes};
pub(crate) use self::operator::{OperatorRequest, OperatorSource, UpgradeFrom};
pub(crate) use self::output::Output;
pub(crate) use self::pod::Pod;
pub(crate) use self::programs::{ProgramRequest, TrainerSource};
use crate::args::{
    AiConformanceArgs, FeasibilityArgs, FuzzArgs, JobArgs, LoadArgs, ObserveArgs, PodVerb, RunArgs, SoakArgs,
    TrainJobsArgs, WorkloadArgs,
};
use crate::options::{ProviderName, RunOptions, Versions};
use crate::{Failure, config, target_selection};

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub subject: Subject,
    pub selection: Selection,
    pub operator: OperatorRequest,
    pub cluster: ClusterRequest,
    pub programs: ProgramRequest,
    pub execution: Execution,
    pub output: Output,
    pub pod: Pod,
}

#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub cases: Cases,
    pub backend: String,
    pub features: Vec<String>,
    /// The gang scope. A workload that names a scope runs in that scope.
    pub scope: Option<String>,
    pub versions: Vec<Kubernetes>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Ids, groups and globs of cases, and ids and globs of clauses; all cases, if there is none.
    pub words: Vec<String>,
    pub skip: Vec<String>,
    pub classes: Vec<Class>,
    /// For a quick run, the seed that chooses its only gang scope.
    pub quick: Option<u64>,
    pub shard: Option<Shard>,
}

impl Subject {
    pub(crate) fn workload(&self) -> Workload {
        match self.cases {
            Cases::Suite(workload) => workload,
            Cases::Observations => Workload::PlainPods,
            Cases::Load(_) | Cases::Generated(_) | Cases::NearLimit(_) | Cases::OwnWorkload { .. } => {
                Workload::PodCliqueSets
            }
        }
    }
}

impl Request {
    pub(crate) fn of_run(args: RunArgs) -> Result<Self, Failure> {
        let options = config::completed(&args.config, args.options)?;
        Self::new(options, |_| Ok(Cases::Suite(Workload::PodCliqueSets)))
    }

    pub(crate) fn of_soak(args: SoakArgs) -> Result<Self, Failure> {
        let options = config::completed(&args.config, args.options)?;
        Self::new(options, |_| Ok(Cases::Suite(Workload::PodCliqueSets)))
    }

    pub(crate) fn of_train_jobs(args: TrainJobsArgs) -> Result<Self, Failure> {
        let (config, options) = args.split();
        Self::new(config::completed(&config, options)?, |_| Ok(Cases::Suite(Workload::TrainJobs)))
    }

    pub(crate) fn of_ai_conformance(args: AiConformanceArgs) -> Result<Self, Failure> {
        let (config, options) = args.split();
        Self::new(config::completed(&config, options)?, |_| Ok(Cases::Suite(Workload::PlainPods)))
    }

    pub(crate) fn of_observe(args: ObserveArgs) -> Result<Self, Failure> {
        let (config, options) = args.split();
        Self::new(config::completed(&config, options)?, |_| Ok(Cases::Observations))
    }

    pub(crate) fn of_workload(args: WorkloadArgs, nodes: WorkloadNodes) -> Result<Self, Failure> {
        let (config, options) = args.common.split();
        Self::new(config::completed(&config, options)?, |options| {
            let provider = options.cluster.provider.unwrap_or_default();
            cases::own_workload(&args.path, nodes, provider)
        })
    }

    pub(crate) fn of_fuzz(args: FuzzArgs) -> Result<Self, Failure> {
        let (config, mut options) = args.common.split();
        options.selection.shard = args.shard;
        Self::new(config::completed(&config, options)?, |options| {
            cases::generated(args.path.as_deref(), args.count, options.execution.seed)
        })
    }

    pub(crate) fn of_load(args: LoadArgs) -> Result<Self, Failure> {
        let (config, options) = args.common.split();
        Self::new(config::completed(&config, options)?, |_| {
            cases::load(&args.nodes, args.pods, args.update, args.preempt)
        })
    }

    /// Pairs that the check cannot decide are not run.
    pub(crate) fn of_feasibility(args: FeasibilityArgs) -> Result<(Self, Vec<Judged>), Failure> {
        let (ids, count) = (args.ids.clone(), args.pairs);
        let (config, options) = args.split();
        let mut options = config::completed(&config, options)?;
        let target = &mut options.target;
        let is_kube = target.backend.as_deref().is_none_or(|backend| backend == "default-scheduler");
        if is_kube && target.scope.is_none() && target.kubernetes.is_none() {
            target.scope = Some(cases::SCOPE_OF_PAIRS.into());
        }
        let pairs = cases::pairs(&ids, count, options.execution.seed)?;
        let cases = pairs.iter().filter_map(|pair| pair.case).collect();
        let request = Self::new(options, |_| Ok(Cases::NearLimit(cases)))?;
        Ok((request, pairs))
    }

    pub(crate) fn of_job(args: JobArgs) -> Result<(Self, JobRequest), Failure> {
        let workload = match args.verb {
            PodVerb::Run => Workload::PodCliqueSets,
            PodVerb::AiConformance => Workload::PlainPods,
        };
        let mut options = config::completed(&args.config, args.options)?;
        options.cluster.provider.get_or_insert(ProviderName::Existing);
        let request = Self::new(options, |_| Ok(Cases::Suite(workload)))?;
        let job = JobRequest { image: args.image, shards: args.shards.get() };
        job::check(&request)?;
        Ok((request, job))
    }

    fn new(
        options: RunOptions,
        cases: impl FnOnce(&RunOptions) -> Result<Cases, Failure>,
    ) -> Result<Self, Failure> {
        let cases = cases(&options)?;
        let pod = Pod::of(&options.pod)?;
        let backend = options.target.backend.unwrap_or_else(|| "default-scheduler".into());
        let scope = match &cases {
            // The annotation of a manifest has no effect on other backends.
            Cases::OwnWorkload { case, .. } if target_selection::has_scopes(&backend) => {
                workload::scope(case)
            }
            Cases::OwnWorkload { .. }
            | Cases::Suite(_)
            | Cases::Load(_)
            | Cases::Generated(_)
            | Cases::NearLimit(_)
            | Cases::Observations => None,
        };
        let scope = scope.or(options.target.scope);
        let operator = OperatorRequest::of(options.operator)?;
        let upgraded = operator.replaced_kubernetes().and_then(Kubernetes::successor);
        let default =
            || Versions::from(upgraded.unwrap_or_else(|| target_selection::version_for(scope.as_deref())));
        let versions = options.target.kubernetes.unwrap_or_else(default).all();
        let execution = Execution::of(&options.execution)?;
        let selection = Selection {
            quick: execution.is_quick().then(|| execution.seed()),
            shard: pod.shard()?.or(options.selection.shard),
            words: options.selection.words,
            skip: options.selection.skip,
            classes: options.selection.classes.into_iter().map(Into::into).collect(),
        };
        let request = Self {
            subject: Subject { cases, backend, features: options.target.features, scope, versions },
            selection,
            operator,
            cluster: ClusterRequest::of(options.cluster)?,
            programs: ProgramRequest::of(&options.programs)?,
            execution,
            output: Output::of(options.output)?,
            pod,
        };
        conflicts::check(&request)?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests;
