use std::collections::BTreeSet;
use std::path::Path;

use conformance_cluster::access::Access;
use conformance_cluster::existing::Connection;
use conformance_cluster::kind::config;
use conformance_cluster::kind::prepare::{self, OperatorByChart, Wanted};
use conformance_cluster::kubeconfig::KubeconfigSource;
use conformance_cluster::local::Programs;
use conformance_cluster::real_nodes::LeasedNodes;
use conformance_contract::scheduler::Scheduler;
use conformance_install::catalogue::{catalogue, component};
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::schedulers::helm::Release;
use conformance_install::schedulers::{self, installation};
use conformance_programs::components::{Purpose, Toolbox, reject_unknown_overrides};
use conformance_report::{Implementation, ImplementationFile};
use conformance_run::environment::Origin;

use super::built_programs::{self, overrides, this_program};
use super::options::ProviderName;
use super::request::{OperatorRequest, ProgramRequest, Request};
use super::{Failure, clusters, output, unknown};

/// `init` is the program for the init containers of an operator that is installed from its chart.
pub(crate) async fn origin(
    request: &Request,
    spec: &ClusterSpec,
    init: Option<&Path>,
    console: &output::Console,
) -> Result<(Origin, Programs), Failure> {
    let Request { cluster, programs, .. } = request;
    let origin = match (cluster.provider, &cluster.name) {
        (ProviderName::Local, Some(name)) => Origin::Up(clusters::kubeconfig(name, spec)?),
        (ProviderName::Local, None) => Origin::Local,
        (ProviderName::Existing, _) => {
            Origin::Existing { connection: connection(request).await?, one_etcd: cluster.one_etcd }
        }
        (ProviderName::Kind, _) => {
            let releases = releases(programs, &spec.schedulers)?;
            let options = KindOptions {
                config: cluster.kind_config.as_deref(),
                node_image: cluster.node_image.as_deref(),
                releases: &releases,
                operator: operator_by_chart(spec, init),
            };
            return kind(programs, options, spec, console).await;
        }
    };
    let programs = match &origin {
        // No program is started for the user's cluster.
        Origin::Existing { .. } => {
            let toolbox = Toolbox::prepare_only(std::iter::empty(), &Default::default(), console).await?;
            Programs::within(toolbox, &this_program()?)
        }
        _ => built_programs::programs(programs, spec, console).await?,
    };
    Ok((origin, programs))
}

pub(crate) async fn access(kubeconfig: &KubeconfigSource) -> Result<Access, Failure> {
    if kubeconfig.is_given() {
        readable(kubeconfig).await?;
        return Ok(Access::Kubeconfig(kubeconfig.clone()));
    }
    Access::of_pod().filter(|_| kubeconfig.context.is_none()).ok_or_else(|| {
        Failure::Usage(
            "--provider existing needs --kubeconfig FILE, $KUBECONFIG or ~/.kube/config, unless it runs in \
             a pod of the cluster"
                .into(),
        )
    })
}

async fn connection(request: &Request) -> Result<Connection, Failure> {
    let Request { cluster, pod, .. } = request;
    let leased_nodes = cluster.nodes_where.clone().map(|selector| LeasedNodes { selector, share: pod.share });
    Ok(Connection {
        access: access(&cluster.kubeconfig).await?,
        allows_foreign_workloads: cluster.allow_foreign_workloads,
        leased_nodes,
        // A pod with an id may be a restart of a killed pod.
        again: pod.run_id.is_some(),
        has_daemon_sets: true,
    })
}

/// Describes an operator that the user runs. Returns `None` for any other operator.
pub(crate) fn implementation(
    operator: &OperatorRequest,
    declared: Option<ImplementationFile>,
) -> Option<Implementation> {
    operator.source.is_existing().then(|| Implementation {
        name: operator.name.clone(),
        version: operator.version.clone(),
        declaration: declared,
        ..Implementation::default()
    })
}

pub(crate) fn no_operator() -> Implementation {
    Implementation { name: "plain pods".into(), version: "(no operator)".into(), ..Implementation::default() }
}

fn releases(programs: &ProgramRequest, schedulers: &BTreeSet<Scheduler>) -> Result<Vec<Release>, Failure> {
    let usage = |text: String| Err(Failure::Usage(text));
    let pinned: Vec<_> = schedulers::all().filter_map(Release::pinned).collect();
    let names: Vec<_> = pinned.iter().map(|release| release.scheduler.name()).collect();
    let mut releases = Vec::new();
    for (name, chart) in &programs.charts {
        let Some(release) = pinned.iter().find(|release| release.scheduler.name() == name).cloned() else {
            return Err(unknown::name("scheduler with a chart", name, &names, ""));
        };
        releases.push(match chart {
            None => release,
            Some(chart) => match release.with_chart(chart) {
                Ok(release) => release,
                Err(reason) => return usage(format!("--component {name}=chart:{chart}: {reason}")),
            },
        });
    }
    releases.retain(|release| schedulers.contains(&release.scheduler));
    for (name, _) in &programs.files {
        let purpose = component(name).map(|component| component.purpose);
        let installs = |release: &&Release| purpose == Some(Purpose::Scheduler(release.scheduler));
        if let Some(release) = releases.iter().find(installs) {
            return usage(format!(
                "--component {name}: {} is installed from its chart {}",
                release.scheduler.name(),
                release.chart
            ));
        }
    }
    Ok(releases)
}

pub(crate) async fn readable(kubeconfig: &KubeconfigSource) -> Result<(), Failure> {
    if let Some(file) = kubeconfig.file.as_ref().filter(|file| !file.is_file()) {
        return Err(Failure::Usage(format!("--kubeconfig {}: no such file", file.display())));
    }
    match kubeconfig.config().await {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KindOptions<'a> {
    pub config: Option<&'a Path>,
    pub node_image: Option<&'a str>,
    pub releases: &'a [Release],
    pub operator: Option<OperatorByChart<'a>>,
}

fn operator_by_chart<'a>(spec: &'a ClusterSpec, init: Option<&'a Path>) -> Option<OperatorByChart<'a>> {
    let operator = spec.operator.as_ref()?;
    Some(OperatorByChart { operator, chart: operator.chart()?, init })
}

pub(crate) async fn kind(
    programs: &ProgramRequest,
    options: KindOptions<'_>,
    spec: &ClusterSpec,
    console: &output::Console,
) -> Result<(Origin, Programs), Failure> {
    let mut schedulers = spec.schedulers.clone();
    let by_chart: Vec<_> = options.releases.iter().map(|release| release.scheduler).collect();
    schedulers.retain(|scheduler| {
        let missing =
            installation(*scheduler).missing_in_kind(spec).filter(|_| !by_chart.contains(scheduler));
        if let Some(missing) = missing {
            output::say(&format!("{missing}; its clauses are not run"));
        }
        missing.is_none()
    });
    let config = match options.config {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|e| Failure::Usage(format!("cluster.kindConfig {}: {e}", path.display())))?,
        None => config::of(spec.kubernetes),
    };
    let (overrides, parts) = overrides(programs)?;
    reject_unknown_overrides(&overrides, catalogue(spec.kubernetes))?;
    console.now("building the programs and images of a kind cluster");
    let controller = parts.controller(spec, console).await?;
    let wanted = Wanted {
        kubernetes: spec.kubernetes,
        schedulers: &schedulers,
        given: &spec.given,
        releases: options.releases,
        controller: &spec.controller,
        plugin_faults: &spec.gpu_plugin_faults,
        config: &config,
        node_image: options.node_image,
        overrides: &overrides,
        controller_program: &controller,
        operator: options.operator,
    };
    let (spec, toolbox) = prepare::prepare(wanted, console).await?;
    for image in spec.own_images() {
        console.note(&format!("image {} {:.1} MB", image.reference, image.bytes as f64 / 1e6));
    }
    for release in options.releases {
        console.note(&format!("chart {}", release.chart));
    }
    Ok((Origin::Kind(Box::new(spec)), parts.with(toolbox, controller)?))
}
