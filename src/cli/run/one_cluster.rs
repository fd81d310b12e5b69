use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cluster::kind::prepare;
use conformance_cluster::local::Programs;
use conformance_contract::clauses::{Feature, Workload};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_driver::case::Isolation;
use conformance_driver::test_cluster::Thorough;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::operator::Opened;
use conformance_install::upgrade::Upgrade;
use conformance_report::{Implementation, ImplementationFile, Report};
use conformance_run::admission;
use conformance_run::environment::{Environment, Origin, Settings};
use conformance_run::first_failure::FirstFailure;
use conformance_run::report_document::{self, RunClock};
use conformance_run::results_writer::ResultsWriter;
use conformance_run::run_plan::RunPlan;
use conformance_run::runner::{self, Observer};
use conformance_run::workload;

use super::{Run, held, reproduce};
use crate::built_programs::cluster_spec;
use crate::options::ProviderName;
use crate::output::{self, Console};
use crate::report_files::{command, store, unwritten, write_unless_interrupted};
use crate::request::{Cases, Request, UpgradeFrom};
use crate::{
    Failure, accept, baseline, generated, measured, operator, provider, run_id, select, target_selection,
    trainer,
};

/// A run of fewer cases needs less memory than was measured.
const MEASURED_CASES: usize = 100;
const KUEUE_IS_LOCAL: &str =
    "the harness starts Kueue on a control plane of its own: omit --cluster and --provider existing";

impl Run<'_> {
    pub(super) async fn on_one_cluster(
        &self,
        kubernetes: Kubernetes,
        mut plan: RunPlan,
        report_dir: &Path,
    ) -> Result<Report, Failure> {
        let Self { request, interruption, .. } = self;
        let begin = Instant::now();
        let quiet = request.output.quiet;
        let console = Arc::new(Console::quiet_if(quiet));
        let is_local = request.cluster.provider == ProviderName::Local && request.cluster.name.is_none();
        if is_local && plan.chosen.len() >= MEASURED_CASES {
            let schedulers: BTreeSet<_> = plan.targets.iter().map(|target| target.scheduler()).collect();
            let line = measured::less_memory_than_measured(schedulers.len());
            line.into_iter().for_each(|line| console.note(&line));
        }
        let (environment, building) = self.prepare(kubernetes, &mut plan, report_dir, &console).await?;
        let clock = RunClock { begin, building };
        std::fs::create_dir_all(report_dir)
            .map_err(|e| Failure::Usage(format!("--output {}: {e}", report_dir.display())))?;
        let environment = Arc::new(environment);
        let _accepting = interruption.accept_requests();
        if let Err(failure) = self.reach_cluster(&environment, &plan, &console).await {
            close(&environment).await;
            return Err(failure);
        }
        let report = execute(&environment, &plan, &console, clock).await;
        let report = report.map(|report| accept::apply(request.output.accepted.as_ref(), report));
        console.end();
        if let Ok(report) = &report {
            generated::shrink_failed(&environment, &plan, report).await;
        }
        // Write the report before the clusters end, so that a failing cluster cannot lose it. End the
        // clusters even if writing fails: a full disk must not leave nodes in a user's cluster. A pod does
        // not print its report, because the process that fetches the report prints it.
        let written = match report {
            Ok(report) if request.pod.store_results => store(report_dir, &report).map(|()| report),
            Ok(report) => {
                let written = write_unless_interrupted(report_dir, &report, quiet, interruption).await;
                written.map(|()| report)
            }
            Err(failure) => Err(failure),
        };
        if written.is_ok() {
            self.hold(&environment, report_dir).await;
        }
        close(&environment).await;
        written
    }

    async fn hold(&self, environment: &Environment, report_dir: &Path) {
        let held = environment.held();
        if held.is_empty() || self.interruption.is_requested() {
            return;
        }
        held.iter().for_each(|case| output::say(&held::description(case, report_dir)));
        output::say("press Ctrl-C to remove what is held and end the run");
        self.interruption.requested().await;
    }

    /// Builds the programs, and restricts the plan's targets to those of the operators. Starts no cluster.
    pub(super) async fn prepare(
        &self,
        kubernetes: Kubernetes,
        plan: &mut RunPlan,
        report_dir: &Path,
        console: &Console,
    ) -> Result<(Environment, Duration), Failure> {
        let request = self.request;
        let operators = open_operators(plan, request).await?;
        if let Cases::OwnWorkload { file, case, .. } = &request.subject.cases {
            // Which names are taken depends on the operator's declaration.
            workload::takes_no_name(case, &plan.targets)
                .map_err(|reason| Failure::of_workload(file, reason))?;
        }
        baseline::check(request, &plan.targets)?;
        let is_existing = request.cluster.provider == ProviderName::Existing;
        target_selection::external_needs_existing(&plan.targets, is_existing)?;
        if is_existing || request.cluster.name.is_some() {
            plan.targets =
                target_selection::without_kueue(std::mem::take(&mut plan.targets), KUEUE_IS_LOCAL)?;
        }
        let begin = Instant::now();
        let built = build(kubernetes, request, operators, &plan.targets, console).await?;
        let (origin, programs) =
            provider::origin(request, &built.spec, built.init.as_deref(), console).await?;
        let building = begin.elapsed();
        let settings = settings(kubernetes, plan, request, built, origin, programs, report_dir);
        let environment = Environment::new(settings).interrupted_by(self.interruption.clone());
        Ok((environment.ended_by(self.first_failure.clone()), building))
    }

    /// Starts or reaches the cluster before the first case, so that a failure is printed once instead of for
    /// every clause. Also sends the user's own workload to admission, as a dry run.
    async fn reach_cluster(
        &self,
        environment: &Environment,
        plan: &RunPlan,
        console: &Console,
    ) -> Result<(), Failure> {
        if self.first_failure.as_deref().is_some_and(FirstFailure::has_occurred) {
            return Ok(());
        }
        if let Cases::OwnWorkload { file, case, .. } = &self.request.subject.cases {
            // Schedulers have control planes of their own if the workload has cluster-scoped objects.
            for target in &plan.targets {
                let test_cluster = environment
                    .test_cluster(case.isolation, *target)
                    .await
                    .map_err(|error| Failure::Infrastructure(error.to_string()))?;
                admission::admitted(&test_cluster, case, std::slice::from_ref(target))
                    .await
                    .map_err(|reason| Failure::of_workload(file, reason))?;
            }
        }
        let uses_shared = plan.chosen.iter().any(|case| case.isolation != Isolation::Dedicated);
        let is_existing = uses_shared && matches!(environment.settings.origin, Origin::Existing { .. });
        if environment.settings.spec.operator.is_some() || is_existing {
            console.now(if is_existing { "connecting" } else { "starting a control plane and the operator" });
            environment
                .test_cluster(Isolation::Shared, plan.targets[0])
                .await
                .map_err(|error| Failure::Infrastructure(error.to_string()))?;
        }
        Ok(())
    }
}

struct Operators {
    /// `None` is the reference operator, or one that the user runs.
    tested: Option<Opened>,
    replaced: Option<Replaced>,
    /// The declaration of an operator that the user runs.
    declared: Option<ImplementationFile>,
}

struct Replaced {
    /// `None` is the reference operator.
    opened: Option<Opened>,
}

async fn open_operators(plan: &mut RunPlan, request: &Request) -> Result<Operators, Failure> {
    let Request { subject, operator, cluster, .. } = request;
    let is_all = subject.backend == "all";
    let mut targets = std::mem::take(&mut plan.targets);
    let tested = operator::opened(&operator.source, operator.declaration.as_deref()).await?;
    if let Some(opened) = &tested {
        check_provider_of(opened, cluster.provider)?;
        targets = operator::targets(opened, targets, is_all)?;
        if subject.scope.is_none() {
            targets = operator::in_its_scopes(opened, targets)?;
        }
    }
    let replaced = match &operator.upgrade_from {
        Some(UpgradeFrom::Operator(source)) => Some(Replaced { opened: operator::replaced(source).await? }),
        Some(UpgradeFrom::Kubernetes(_)) | None => None,
    };
    if let Some(Replaced { opened: Some(opened) }) = &replaced {
        targets = operator::targets(opened, targets, is_all)?;
    }
    let (targets, declared) = operator::existing(operator, is_all, targets)?;
    plan.targets = targets;
    Ok(Operators { tested, replaced, declared })
}

/// Rejects a provider that cannot start the operator: local starts a process, and kind a chart.
fn check_provider_of(opened: &Opened, provider: ProviderName) -> Result<(), Failure> {
    let reason = match provider {
        ProviderName::Local => return Ok(()),
        ProviderName::Kind if opened.chart().is_some() => return Ok(()),
        ProviderName::Kind => {
            "its description has no `chart`, which kind clusters need: pass --provider local"
        }
        ProviderName::Existing => {
            "the harness starts this operator only in its own clusters: pass --provider local or kind; to \
             test an operator that runs in your own cluster, pass --provider existing --operator existing"
        }
    };
    Err(Failure::Usage(format!("--operator {}: {reason}", opened.name())))
}

struct Built {
    spec: ClusterSpec,
    /// `None` is the reference operator.
    implementation: Option<Implementation>,
    /// The program for the init containers of an operator that is installed from its chart.
    init: Option<PathBuf>,
}

async fn build(
    kubernetes: Kubernetes,
    request: &Request,
    operators: Operators,
    targets: &[Target],
    console: &Console,
) -> Result<Built, Failure> {
    let schedulers: BTreeSet<_> = targets.iter().map(|target| target.scheduler()).collect();
    let Request { subject, operator, cluster, programs, .. } = request;
    let mut spec = cluster_spec(kubernetes, programs, &schedulers, console).await?;
    if subject.workload() == Workload::TrainJobs {
        spec = spec.with_trainer(targets.iter().any(|target| target.declares(Feature::JobWorkload)));
        if let Some(given) = trainer::given(programs, console).await? {
            console.end();
            if !request.output.quiet {
                output::say(&trainer::description(&given));
            }
            spec = spec.with_given_trainer(given);
        }
    }
    let mut implementation = if subject.workload() == Workload::PlainPods {
        spec = spec.without_controller();
        Some(provider::no_operator())
    } else {
        let existing = provider::implementation(operator, operators.declared);
        existing.or_else(|| spec.given_trainer().map(trainer::implementation))
    };
    let mut init = None;
    if let Some(opened) = operators.tested {
        if cluster.provider == ProviderName::Kind {
            prepare::can_install_charts().await?;
            init = opened.build_init(console).await?;
        }
        let operator = opened.build(console).await?;
        implementation = Some(operator::implementation(&operator));
        spec.operator = Some(Arc::new(operator));
    }
    if let Some(replaced) = operators.replaced {
        let from = match replaced.opened {
            Some(opened) => Some(Arc::new(opened.build(console).await?)),
            None => None,
        };
        let to = spec.operator.clone();
        spec.upgrade = Some(Upgrade { from, to, faults: Vec::new(), control_plane: None });
    }
    if let Some(old) = operator.replaced_kubernetes() {
        spec.upgrade = Some(Upgrade::of_kubernetes(old, spec.operator.clone()));
    }
    Ok(Built { spec, implementation, init })
}

fn settings(
    kubernetes: Kubernetes,
    plan: &RunPlan,
    request: &Request,
    built: Built,
    origin: Origin,
    programs: Programs,
    report_dir: &Path,
) -> Settings {
    let lifecycle_scope = select::lifecycle_scope(request, &plan.targets);
    let Request { cluster, execution, .. } = request;
    Settings {
        run: request.pod.run_id.clone().unwrap_or_else(run_id),
        spec: built.spec,
        origin,
        implementation: built.implementation,
        programs,
        scale: execution.timeout_scale,
        concurrency: concurrency(request),
        grows: grows(request),
        dedicated: plan.control_planes(lifecycle_scope),
        strict: execution.strict,
        retries: execution.retries,
        probe_undeclared: request.operator.probe_undeclared,
        short_limits_count: false,
        lifecycle_scope,
        thorough: Thorough {
            every_crash_point: execution.is_full(),
            gang_timeouts: execution.is_full(),
            seed: execution.seed(),
        },
        out: report_dir.to_owned(),
        keep: cluster.keep,
        hold_on_failure: cluster.hold_on_failure,
        reproduce: reproduce::command(kubernetes, request),
    }
}

fn concurrency(request: &Request) -> usize {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let default = default_concurrency(request.cluster.provider, processors);
    request.execution.concurrency.unwrap_or(default).max(1)
}

/// What two cores can run, or half of it on one core. The CPU limit of a control group counts. In a user's
/// cluster, the components use other processors than the suite.
fn default_concurrency(provider: ProviderName, processors: usize) -> usize {
    match provider {
        ProviderName::Local if processors < 2 => 5,
        ProviderName::Kind if processors < 2 => 2,
        ProviderName::Kind => 4,
        ProviderName::Local | ProviderName::Existing => 10,
    }
}

/// Whether more cases may run while CPUs are idle: only in a cluster of this run, and without a given number.
fn grows(request: &Request) -> bool {
    let Request { cluster, execution, .. } = request;
    let is_ours = cluster.provider != ProviderName::Existing && cluster.name.is_none();
    is_ours && execution.concurrency.is_none()
}

pub(crate) async fn execute(
    environment: &Arc<Environment>,
    plan: &RunPlan,
    console: &Arc<Console>,
    clock: RunClock,
) -> Result<Report, Failure> {
    let ids = |target| plan.chosen.iter().filter(move |case| case.is_for(target)).map(|case| case.id);
    console.expect(plan.targets.iter().flat_map(|target| ids(*target)));
    console.now("starting a control plane");
    let observer: Arc<dyn Observer> = console.clone();
    let results = ResultsWriter::create(environment, plan, clock, command(), observer.clone()).await;
    let results = runner::run_all(environment, plan, &observer, results.map_err(unwritten)?).await;
    Ok(report_document::report(environment, plan, results, clock, command()).await)
}

pub(crate) async fn close(environment: &Environment) {
    for error in environment.close().await {
        output::say(&format!("clean-up: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(ProviderName::Local, 1, 5)]
    #[case(ProviderName::Local, 2, 10)]
    #[case(ProviderName::Kind, 1, 2)]
    #[case(ProviderName::Kind, 8, 4)]
    #[case(ProviderName::Existing, 1, 10)]
    fn one_core_starts_half_as_many_cases(
        #[case] provider: ProviderName,
        #[case] processors: usize,
        #[case] expected: usize,
    ) {
        assert_eq!(default_concurrency(provider, processors), expected);
    }
}
