//! `run`: runs the suite, or your own workload, on a cluster, writes the report, and returns the exit code.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use conformance_cluster::kind::prepare;
use conformance_contract::clauses::{CLAUSES, Class, Feature, Workload};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_driver::case::Isolation;
use conformance_driver::test_cluster::Thorough;
use conformance_install::cluster_spec::Upgrade;
use conformance_install::operator::Opened;
use conformance_page as page;
use conformance_report as report;
use conformance_report::{EvidenceError, Exit, MergeInput, Report, StoreError};
use conformance_run::environment::{Environment, Origin, Settings};
use conformance_run::interruption::Interruption;
use conformance_run::runner::{self, Clock, Observer, Plan, Results};
use conformance_run::workload;

use super::args::{EXISTING, Install, ProfileName, ProviderArgs, ProviderName, RunArgs, Versions};
use super::output::{self, Console};
use super::{
    Failure, accept, baseline, cluster_spec, generated, given, in_cluster, operator, provider, publish,
    run_id, scale, select, trainer,
};

/// Errors only occur before the first test; later failures are in the report.
pub(crate) async fn run(args: &RunArgs, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    let args = &*in_cluster::as_share(args)?;
    let report = judged(args, interruption).await?;
    if args.store_results {
        return publish::publish(args, &report).await;
    }
    args.baseline.as_ref().map_or_else(|| Ok(report.exit()), |file| baseline::compared(file, &report))
}

async fn judged(args: &RunArgs, interruption: &Arc<Interruption>) -> Result<Report, Failure> {
    let evidence_folder = args.evidence.as_ref().and_then(|file| file.parent());
    if let Some(folder) = evidence_folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
    {
        return Err(Failure::Usage(format!(
            "--evidence: folder {} does not exist: create it",
            folder.display()
        )));
    }
    scale::size(args)?;
    let usual = || Versions::from(select::version_for(scope(args).as_deref()));
    let versions = args.kubernetes.unwrap_or_else(usual);
    let report = match versions.all().as_slice() {
        [version] if args.in_cluster => {
            let cases = plan(*version, args)?;
            in_cluster::run(args, &cases, interruption).await?
        }
        [version] if args.trainjob => run_train_jobs(*version, args, interruption).await?,
        _ if args.trainjob => {
            return Err(Failure::Usage(
                "--trainjob runs on one version of Kubernetes: omit --kubernetes all".into(),
            ));
        }
        [_, _, ..] if args.profile.is_some() => {
            return Err(Failure::Usage(
                "--profile runs on one version of Kubernetes: omit --kubernetes all".into(),
            ));
        }
        [version] => run_on(*version, plan(*version, args)?, args, &args.report_dir, interruption).await?,
        versions => run_on_all(versions, args, interruption).await?,
    };
    if args.profile == Some(ProfileName::AiConformance) {
        for file in report::write_ai_conformance(&args.report_dir, &report).map_err(unwritten)? {
            output::say(&format!("wrote {}", file.display()));
        }
    }
    if let Some(file) = &args.evidence {
        match report::write_evidence(file, &report) {
            Ok(()) => output::say(&format!("wrote {}", file.display())),
            Err(EvidenceError::File(error)) => return Err(Failure::Infrastructure(error.to_string())),
            // The run is inconclusive, and prints why.
            Err(error) => output::say(&format!("--evidence {}: {error}", file.display())),
        }
    }
    Ok(report)
}

/// Runs on one version after the other, each in its own folder, and merges the reports. Every target is
/// tested once, on the oldest version it supports.
async fn run_on_all(
    versions: &[Kubernetes],
    args: &RunArgs,
    interruption: &Arc<Interruption>,
) -> Result<Report, Failure> {
    if args.provider.provider == ProviderName::Existing || args.cluster.is_some() {
        return Err(Failure::Usage(
            "--kubernetes all creates its own clusters, because a cluster has one version".into(),
        ));
    }
    if args.scope.is_some() {
        return Err(Failure::Usage("--kubernetes all runs every gang scope: omit --scope".into()));
    }
    // Plan all versions before the first cluster starts, so that invalid options fail at once.
    let mut plans = Vec::new();
    for version in versions {
        let mut plan = plan(*version, args)?;
        plan.targets.retain(|target| target.kubernetes() == *version);
        if !plan.targets.is_empty() {
            plans.push((version, plan));
        }
    }
    let rounds = plans.into_iter().map(|(version, plan)| Round {
        title: format!("Kubernetes {version}"),
        folder: version.minor().to_owned(),
        kubernetes: *version,
        plan,
    });
    run_rounds(rounds.collect(), "versions of Kubernetes", args, interruption).await
}

async fn run_train_jobs(
    kubernetes: Kubernetes,
    args: &RunArgs,
    interruption: &Arc<Interruption>,
) -> Result<Report, Failure> {
    let plan = plan(kubernetes, args)?;
    let (by_job, others) = select::by_control_plane(plan.targets.clone());
    let round = |title: &str, folder: &str, targets: Vec<Target>| Round {
        title: title.into(),
        folder: folder.into(),
        kubernetes,
        plan: Plan { targets, ..plan.clone() },
    };
    let both = [
        round("TrainJobs, a gang per Job by the Job controller", "jobs", by_job),
        round("TrainJobs, gangs by the trainer or the scheduler", "trainjobs", others),
    ];
    let rounds: Vec<_> = both.into_iter().filter(|round| !round.plan.targets.is_empty()).collect();
    match <[Round; 1]>::try_from(rounds) {
        Ok([only]) => run_on(kubernetes, only.plan, args, &args.report_dir, interruption).await,
        Err(rounds) => run_rounds(rounds, "control planes", args, interruption).await,
    }
}

/// A part of a run with its own control plane and folder.
struct Round {
    title: String,
    folder: String,
    kubernetes: Kubernetes,
    plan: Plan,
}

async fn run_rounds(
    rounds: Vec<Round>,
    of: &str,
    args: &RunArgs,
    interruption: &Arc<Interruption>,
) -> Result<Report, Failure> {
    let (mut sources, planned) = (Vec::new(), rounds.len());
    for Round { title, folder, kubernetes, plan } in rounds {
        if interruption.is_requested() {
            break;
        }
        let path = args.report_dir.join(&folder);
        output::say(&title);
        let report = run_on(kubernetes, plan, args, &path, interruption).await?;
        sources.push(MergeInput { file: path.join("report.yaml"), folder: folder.into(), report });
    }
    let mut merged =
        report::merge(&sources, command()).map_err(|error| Failure::Infrastructure(error.to_string()))?;
    if let Some(cause) = interruption.cause().filter(|_| sources.len() < planned) {
        let (ran, reason) = (sources.len(), format!("interrupted ({cause})"));
        merged = merged.incomplete(format!("{reason}, {ran} of {planned} {of} were started"));
    }
    write(&args.report_dir, &merged)?;
    Ok(merged)
}

async fn run_on(
    kubernetes: Kubernetes,
    mut plan: Plan,
    args: &RunArgs,
    report_dir: &Path,
    interruption: &Arc<Interruption>,
) -> Result<Report, Failure> {
    let begin = Instant::now();
    let opened = operator::opened(&args.operator).await?;
    if let Some(opened) = &opened {
        operator_can_be_started(opened, &args.provider)?;
        plan.targets = operator::targets(opened, plan.targets, args.backend == "all")?;
        if scope(args).is_none() {
            plan.targets = operator::in_its_scopes(opened, plan.targets)?;
        }
    }
    let replaced = match &args.upgrade_from {
        Some(word) => {
            upgrade_needs_local(&args.provider)?;
            Some(operator::replaced(word).await?)
        }
        None => None,
    };
    if let Some(Some(replaced)) = &replaced {
        plan.targets = operator::targets(replaced, plan.targets, args.backend == "all")?;
    }
    let (targets, declared) = operator::existing(args, plan.targets)?;
    plan.targets = targets;
    baseline::check(args, &plan.targets)?;
    let accepted = accept::read(args)?;
    select::external_needs_existing(&plan.targets, args.provider.provider == ProviderName::Existing)?;
    let talk = Arc::new(Console::default());
    let building = Instant::now();
    let schedulers: BTreeSet<_> = plan.targets.iter().map(|target| target.scheduler()).collect();
    let by_chart = args.provider.install == Install::Helm;
    match args.provider.provider {
        ProviderName::Local => {}
        ProviderName::Kind => given::sources_on_kind(&args.cluster_args, by_chart)?,
        ProviderName::Existing => {
            let reason = "nothing is installed in your own cluster: install it there";
            given::no_sources(&args.cluster_args, reason)?;
        }
    }
    let mut spec = cluster_spec(kubernetes, &args.cluster_args, &schedulers, talk.as_ref()).await?;
    if args.trainjob {
        if args.provider.provider != ProviderName::Local {
            return Err(Failure::Usage(
                "--trainjob starts the trainer as a local process: pass --provider local".into(),
            ));
        }
        spec = spec.with_trainer(plan.targets.iter().any(|target| target.declares(Feature::JobWorkload)));
        if let Some(given) = trainer::given(args, talk.as_ref()).await? {
            talk.end();
            output::say(&trainer::judged(&given));
            spec = spec.with_given_trainer(given);
        }
    }
    let without_operator = args.judged() == Workload::PlainPods;
    if without_operator {
        if args.provider.provider == ProviderName::Kind {
            return Err(Failure::Usage(
                "--profile tests plain pods without an operator, and the harness installs one in kind clusters: pass \
                 --provider local, or existing for your own cluster"
                    .into(),
            ));
        }
        spec = spec.without_controller();
    }
    if by_chart {
        // An environment variable may name a folder.
        spec.given.clear();
    }
    let given_trainer = spec.given_trainer().map(trainer::implementation);
    let mut implementation = match without_operator {
        true => Some(provider::no_operator()),
        false => provider::implementation(args, declared)?.or(given_trainer),
    };
    let mut init = None;
    if let Some(opened) = opened {
        if args.provider.provider == ProviderName::Kind {
            prepare::can_install_charts().await?;
            init = opened.build_init(talk.as_ref()).await?;
        }
        let operator = opened.build(talk.as_ref()).await?;
        implementation = Some(operator::implementation(&operator));
        spec.operator = Some(Arc::new(operator));
    }
    if let Some(replaced) = replaced {
        let from = match replaced {
            Some(replaced) => Some(Arc::new(replaced.build(talk.as_ref()).await?)),
            None => None,
        };
        spec.upgrade = Some(Upgrade { from, to: spec.operator.clone(), faults: Vec::new() });
    }
    let (origin, programs) = provider::origin(args, &spec, init.as_deref(), &talk).await?;
    let clock = Clock { begin, building: building.elapsed() };
    std::fs::create_dir_all(report_dir)
        .map_err(|e| Failure::Usage(format!("--report-dir {}: {e}", report_dir.display())))?;
    let run = args.run_id.clone().unwrap_or_else(run_id);
    let later_life_on = select::later_life_on(args, &plan.targets);
    let settings = Settings {
        run,
        spec,
        origin,
        implementation,
        programs,
        scale: args.timeout_scale,
        concurrency: concurrency(args),
        grows: grows(args),
        dedicated: plan.control_planes(later_life_on),
        strict: args.strict,
        retries: args.retries,
        probe_undeclared: args.probe_undeclared,
        short_limits_count: false,
        later_life_on,
        thorough: Thorough {
            every_crash_point: args.every_crash_point,
            gang_timeouts: args.gang_timeouts,
            seed: args.seed(),
        },
        out: report_dir.to_owned(),
        keep: args.keep,
        reproduce: reproduce(kubernetes, args),
    };
    let environment = Arc::new(Environment::new(settings).interrupted_by(interruption.clone()));
    let _heeded = interruption.heed();
    if let (Some(file), [case]) = (&args.workload, plan.chosen.as_slice()) {
        let admitted = match environment.test_cluster(case.isolation, plan.targets[0]).await {
            Ok(test_cluster) => workload::admitted(&test_cluster, case, &plan.targets).await,
            Err(error) => Err(workload::Unusable::Unasked(error.to_string())),
        };
        if let Err(reason) = admitted {
            close(environment).await;
            return Err(match reason {
                workload::Unusable::Unasked(reason) => Failure::Infrastructure(reason),
                reason => Failure::Usage(format!("--workload {}: {reason}", file.display())),
            });
        }
    }
    let uses_shared = || plan.chosen.iter().any(|case| case.isolation != Isolation::Dedicated);
    let is_others = matches!(environment.settings.origin, Origin::Existing { .. }) && uses_shared();
    if environment.settings.spec.operator.is_some() || is_others {
        // If the cluster does not start or respond, every clause would end in an error. Print the reason once
        // instead.
        talk.now(if is_others { "connecting" } else { "starting a control plane and the operator" });
        if let Err(error) = environment.test_cluster(Isolation::Shared, plan.targets[0]).await {
            let failure = Failure::Infrastructure(error.to_string());
            drop(error);
            close(environment).await;
            return Err(failure);
        }
    }
    let report = execute(&environment, &plan, &talk, clock).await;
    let report = report.map(|report| accept::applied(accepted.as_ref(), report));
    talk.end();
    if let Ok(report) = &report {
        generated::shrunk(&environment, &plan, report).await;
    }
    // The report is written before the clusters end, so that their failures cannot lose it. The clusters end
    // even if writing fails: a full disk is no reason to leave nodes in a user's cluster. A pod does not
    // print its report, because the process that fetches it does.
    let writing = if args.store_results { store } else { write };
    let written = report.and_then(|report| writing(report_dir, &report).map(|()| report));
    close(environment).await;
    written
}

/// A given operator is started in a cluster of the harness: as a process, or in containers from its chart.
fn operator_can_be_started(opened: &Opened, args: &ProviderArgs) -> Result<(), Failure> {
    let reason = match args.provider {
        ProviderName::Local => return Ok(()),
        ProviderName::Kind if opened.chart().is_some() => return Ok(()),
        ProviderName::Kind => {
            "its description has no `chart`, which kind clusters need: pass --provider local"
        }
        ProviderName::Existing => {
            "it is started in a cluster of the harness: pass --provider local or kind; an operator that runs in your \
             own cluster is tested with --provider existing --operator existing"
        }
    };
    Err(Failure::Usage(format!("--operator {}: {reason}", opened.name())))
}

/// An upgrade replaces one process by another.
fn upgrade_needs_local(args: &ProviderArgs) -> Result<(), Failure> {
    if args.provider == ProviderName::Local {
        return Ok(());
    }
    Err(Failure::Usage("--upgrade-from starts local processes: pass --provider local".into()))
}

/// Writes a report with its page, prints it, and annotates the GitHub workflow that runs it.
pub(crate) fn write(folder: &Path, report: &Report) -> Result<(), Failure> {
    // Print it even if it cannot be written.
    output::data(&report::terminal(report));
    scale::lines(report).iter().for_each(|line| output::data(line));
    if std::env::var_os("GITHUB_ACTIONS").is_some() {
        report::annotations(report).iter().for_each(|line| output::say(line));
    }
    store(folder, report)
}

fn store(folder: &Path, report: &Report) -> Result<(), Failure> {
    let mut files = report::write_all(folder, report).map_err(unwritten)?;
    let page = page::page(report, folder).map_err(|error| Failure::Infrastructure(error.to_string()))?;
    files.push(folder.join(page::PAGE));
    report::write_text(&folder.join(page::PAGE), &page).map_err(unwritten)?;
    for file in files {
        output::say(&format!("wrote {}", file.display()));
    }
    Ok(())
}

fn unwritten(error: StoreError) -> Failure {
    Failure::Infrastructure(format!("the report cannot be written: {error}"))
}

/// The gang scope of the run; a workload that names its own uses that one.
fn scope(args: &RunArgs) -> Option<String> {
    let own = || {
        let text = std::fs::read_to_string(args.workload.as_ref()?).ok()?;
        let nodes = select::nodes(args.nodes.as_deref()?).ok()?;
        workload::scope(workload::case(&text, nodes).ok()?)
    };
    own().or_else(|| args.scope.clone())
}

/// Default number of concurrent cases: as many as two cores can run.
fn concurrency(args: &RunArgs) -> usize {
    let usual = if args.provider.provider == ProviderName::Kind { 4 } else { 10 };
    args.concurrency.unwrap_or(usual).max(1)
}

/// Whether concurrency grows while processors are idle: not with an explicit number, and not in other
/// people's clusters.
fn grows(args: &RunArgs) -> bool {
    let is_ours = args.provider.provider != ProviderName::Existing && args.cluster.is_none();
    is_ours && args.concurrency.is_none()
}

fn plan(kubernetes: Kubernetes, args: &RunArgs) -> Result<Plan, Failure> {
    if let Some(size) = scale::size(args)? {
        let targets = select::targets_declaring(&args.backend, args.scope.as_deref(), &args.features)?;
        let target = scale::column(&args.backend, select::on(kubernetes, targets, args.scope.as_deref())?)?;
        return Ok(generated::plan(vec![target], vec![size.case()]));
    }
    if let Some(cases) = generated::cases(args)? {
        let targets = select::targets_declaring(&args.backend, args.scope.as_deref(), &args.features)?;
        let plan = generated::plan(select::on(kubernetes, targets, args.scope.as_deref())?, cases);
        return Ok(match args.shard {
            Some(shard) => plan.of_shard(shard),
            None => plan,
        });
    }
    let Some(file) = &args.workload else {
        let tiers: Vec<Class> = args.tiers.iter().map(|name| (*name).into()).collect();
        return select::plan(select::Selection {
            tiers: &tiers,
            backend: &args.backend,
            workload: args.judged(),
            scope: args.scope.as_deref(),
            kubernetes,
            features: &args.features,
            cases: &args.cases,
            clauses: &args.clauses,
            shard: args.shard,
        });
    };
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure::Usage(format!("--workload {}: {e}", file.display())))?;
    let nodes = select::nodes(args.nodes.as_deref().unwrap_or_default())?;
    let case = workload::case(&text, nodes)
        .map_err(|reason| Failure::Usage(format!("--workload {}: {reason}", file.display())))?;
    // A workload that names its gang scope uses that one.
    let scope = workload::scope(case).or_else(|| args.scope.clone());
    let targets = select::targets_declaring(&args.backend, scope.as_deref(), &args.features)?;
    let targets = select::on(kubernetes, targets, scope.as_deref())?;
    let clauses = CLAUSES.iter().filter(|clause| case.clauses.contains(&clause.id)).copied().collect();
    Ok(Plan { targets, chosen: vec![case], left_out: Vec::new(), share: None, clauses })
}

pub(crate) async fn execute(
    environment: &Arc<Environment>,
    plan: &Plan,
    talk: &Arc<Console>,
    clock: Clock,
) -> Result<Report, Failure> {
    let of = |target| plan.chosen.iter().filter(move |case| case.is_for(target)).map(|case| case.id);
    talk.expect(plan.targets.iter().flat_map(|target| of(*target)));
    talk.now("starting a control plane");
    let observer: Arc<dyn Observer> = talk.clone();
    let results = Results::begin(environment, plan, clock, command(), observer.clone()).await;
    let results = runner::hold_all(environment, plan, &observer, results.map_err(unwritten)?).await;
    Ok(runner::report(environment, plan, results, clock, command()).await)
}

/// Ends the run's clusters. Failures are reported, and change no verdict.
pub(crate) async fn close(environment: Arc<Environment>) {
    if let Some(environment) = Arc::into_inner(environment) {
        for error in environment.close().await {
            output::say(&format!("clean-up: {error}"));
        }
    }
}

pub(crate) fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(first) = words.first_mut() {
        *first = "grove-conformance".into();
    }
    words.join(" ")
}

fn provider_words(args: &ProviderArgs) -> Vec<String> {
    let mut words = Vec::new();
    match args.provider {
        ProviderName::Local => {}
        ProviderName::Kind => words.push("--provider kind".to_owned()),
        ProviderName::Existing => words.push("--provider existing".to_owned()),
    }
    let path = |flag: &str, path: &std::path::Path| format!("--{flag} '{}'", path.display());
    words.extend(args.node_image.iter().map(|image| format!("--node-image {image}")));
    words.extend(args.kind_config.iter().map(|file| path("kind-config", file)));
    if args.install == Install::Helm {
        words.push("--install helm".into());
    }
    words.extend(args.charts.iter().map(|(name, chart)| format!("--chart '{name}={chart}'")));
    words.extend(args.kubeconfig.iter().map(|file| path("kubeconfig", file)));
    words.extend(args.nodes_where.iter().map(|label| format!("--nodes-where {label}")));
    if args.beside_foreign_workloads {
        words.push("--beside-foreign-workloads".into());
    }
    if args.one_etcd {
        words.push("--one-etcd".into());
    }
    words
}

/// A command line that runs one case again in the same way.
fn reproduce(kubernetes: Kubernetes, args: &RunArgs) -> String {
    let quoted = |path: &std::path::Path| format!("'{}'", path.display());
    let mut words = vec!["grove-conformance run".to_owned()];
    words.extend(
        given::flags(&args.cluster_args).map(|(flag, name, path)| format!("{flag} {name}{}", quoted(path))),
    );
    words.extend(args.trainer_dir.iter().map(|dir| format!("--trainer-dir {}", quoted(dir))));
    words.extend(args.trainer_source.iter().map(|dir| format!("--trainer-source {}", quoted(dir))));
    words.extend(args.cluster.iter().map(|name| format!("--cluster {name}")));
    words.extend(provider_words(&args.provider));
    words.extend(args.upgrade_from.iter().map(|word| format!("--upgrade-from '{word}'")));
    words.extend(args.probe_undeclared.then(|| "--probe-undeclared".to_owned()));
    words.extend(args.operator.started().map(|word| format!("--operator '{word}'")));
    if args.operator.is_existing() {
        words.push(format!("--operator {EXISTING}"));
        words.push(format!("--operator-name '{}'", args.provider.operator_name));
        words.push(format!("--operator-version '{}'", args.provider.operator_version));
    }
    words.extend(args.operator.declares.iter().map(|file| format!("--declares {}", quoted(file))));
    if kubernetes != Kubernetes::default() {
        words.push(format!("--kubernetes {kubernetes}"));
    }
    words.extend(args.every_crash_point.then(|| "--every-crash-point".to_owned()));
    words.extend(args.gang_timeouts.then(|| "--gang-timeouts".to_owned()));
    words.extend(args.strict.then(|| "--strict".to_owned()));
    words.extend(args.seed.map(|seed| format!("--seed {seed}")));
    if args.timeout_scale != 1.0 {
        words.push(format!("--timeout-scale {}", args.timeout_scale));
    }
    match (&args.workload, &args.nodes, &args.generated, &args.scale, args.pods) {
        (Some(file), Some(nodes), ..) => words.push(format!("--workload {} --nodes {nodes}", quoted(file))),
        (_, _, Some(file), ..) => words.push(format!("--generated {}", quoted(file))),
        (.., Some(nodes), Some(pods)) => words.push(format!("--scale {nodes} --pods {pods}")),
        _ => words.push("--case {case}".into()),
    }
    words.extend(args.update.then(|| "--update".to_owned()));
    words.push("{target}".into());
    words.join(" ")
}
