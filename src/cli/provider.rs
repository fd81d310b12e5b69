//! Chooses the cluster of a run from the options of `run`: local processes, kind, or an existing cluster.

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

use super::args::{ClusterArgs, Install, OperatorArgs, ProviderArgs, ProviderName, RunArgs, ShareArgs};
use super::{Failure, clusters, in_cluster, output, overrides, this_program, unknown};

/// The origin of the shared cluster, and the programs that the run needs for it. `init` is the program for
/// the init containers of an operator that is installed from its chart.
pub(crate) async fn origin(
    args: &RunArgs,
    spec: &ClusterSpec,
    init: Option<&Path>,
    console: &output::Console,
) -> Result<(Origin, Programs), Failure> {
    let releases = releases(&args.provider, &args.cluster_args, &spec.schedulers)?;
    if args.provider.nodes_where.is_some() && args.provider.provider != ProviderName::Existing {
        return Err(Failure::Usage(
            "--nodes-where selects nodes of your own cluster: pass --provider existing".into(),
        ));
    }
    let has_kubeconfig = args.provider.kubeconfig.is_some() || args.provider.context.is_some();
    let origin = match (args.provider.provider, &args.execution.cluster, has_kubeconfig) {
        (ProviderName::Local, Some(name), false) => Origin::Up(clusters::kubeconfig(name, spec)?),
        (ProviderName::Local, None, false) => Origin::Local,
        (ProviderName::Existing, None, _) => {
            let connection = connection(&args.provider, &args.share).await?;
            Origin::Existing { connection, one_etcd: args.provider.one_etcd }
        }
        (ProviderName::Existing, Some(_), _) => {
            return Err(Failure::Usage("--provider existing uses a kubeconfig: omit --cluster".into()));
        }
        (ProviderName::Kind, None, false) => {
            let options = KindOptions {
                config: args.provider.kind_config.as_deref(),
                node_image: args.provider.node_image.as_deref(),
                releases: &releases,
                operator: operator_by_chart(spec, init),
            };
            return kind(&args.cluster_args, options, spec, console).await;
        }
        (ProviderName::Kind, ..) => {
            return Err(Failure::Usage(
                "--provider kind creates its own cluster: omit --cluster, --kubeconfig and --context".into(),
            ));
        }
        (ProviderName::Local, ..) => {
            return Err(Failure::Usage("--kubeconfig and --context need --provider existing".into()));
        }
    };
    let programs = match &origin {
        // No programs are started.
        Origin::Existing { .. } => {
            let toolbox = Toolbox::prepare_only(std::iter::empty(), &Default::default(), console).await?;
            Programs::within(toolbox, &this_program()?)
        }
        _ => super::programs(&args.cluster_args, spec, console).await?,
    };
    Ok((origin, programs))
}

/// The connection to the user's cluster: by a kubeconfig, or by the service account in a pod of that cluster.
async fn connection(args: &ProviderArgs, share: &ShareArgs) -> Result<Connection, Failure> {
    let kubeconfig = args.kubeconfig_source();
    let access = if kubeconfig.is_given() {
        readable(&kubeconfig).await?;
        Access::Kubeconfig(kubeconfig)
    } else {
        Access::of_pod().filter(|_| args.context.is_none()).ok_or_else(|| {
            Failure::Usage(
                "--provider existing needs --kubeconfig FILE, $KUBECONFIG or ~/.kube/config, unless it runs in a pod of \
                 the cluster"
                    .into(),
            )
        })?
    };
    let index_and_count = match share.shards {
        Some(shards) => Some((in_cluster::index()?, shards.get())),
        None => None,
    };
    let leased_nodes =
        args.nodes_where.clone().map(|selector| LeasedNodes { selector, share: index_and_count });
    Ok(Connection {
        access,
        allows_foreign_workloads: args.beside_foreign_workloads,
        leased_nodes,
        // A killed pod is restarted with the same id.
        again: share.run_id.is_some(),
    })
}

/// The implementation under test, if it is not the reference controller.
pub(crate) fn implementation(
    operator: &OperatorArgs,
    provider: &ProviderArgs,
    declared: Option<ImplementationFile>,
) -> Result<Option<Implementation>, Failure> {
    match (operator.is_existing(), provider.provider) {
        (false, _) => Ok(None),
        (true, ProviderName::Existing) => Ok(Some(Implementation {
            name: provider.operator_name.clone(),
            version: provider.operator_version.clone(),
            organization: None,
            url: None,
            commit: None,
            description: None,
            declaration: declared,
            cluster_admin: false,
            reference: false,
        })),
        (true, _) => Err(Failure::Usage(
            "--operator existing tests the operator of your own cluster: pass --provider existing".into(),
        )),
    }
}

/// The implementation that the report of a run without an operator names.
pub(crate) fn no_operator() -> Implementation {
    Implementation {
        name: "plain pods".into(),
        version: "(no operator)".into(),
        organization: None,
        url: None,
        commit: None,
        description: None,
        declaration: None,
        cluster_admin: false,
        reference: false,
    }
}

/// The charts that Helm installs for these schedulers; none without `--install helm`.
fn releases(
    args: &ProviderArgs,
    cluster: &ClusterArgs,
    schedulers: &BTreeSet<Scheduler>,
) -> Result<Vec<Release>, Failure> {
    let usage = |text: String| Err(Failure::Usage(text));
    match (args.install, args.provider) {
        (Install::Manifests, _) if args.charts.is_empty() => return Ok(Vec::new()),
        (Install::Manifests, _) => {
            return usage("--chart selects a chart for Helm to install: pass --install helm".into());
        }
        (Install::Helm, ProviderName::Kind) => {}
        (Install::Helm, _) => {
            return usage(
                "--install helm needs --provider kind: local schedulers are processes, and nothing is installed in \
                 your own cluster"
                    .into(),
            );
        }
    }
    let mut releases: Vec<_> = schedulers::all().filter_map(Release::pinned).collect();
    for (name, chart) in &args.charts {
        let names: Vec<_> = releases.iter().map(|release| release.scheduler.name()).collect();
        let Some(place) = names.iter().position(|known| known == name) else {
            return Err(unknown::name("scheduler in --chart", name, &names, ""));
        };
        releases[place] = match releases[place].clone().with_chart(chart) {
            Ok(release) => release,
            Err(reason) => return usage(format!("--chart {name}={chart}: {reason}")),
        };
    }
    releases.retain(|release| schedulers.contains(&release.scheduler));
    for (name, _) in &cluster.bins {
        let purpose = component(name).map(|component| component.purpose);
        let installs = |release: &&Release| purpose == Some(Purpose::Scheduler(release.scheduler));
        if let Some(release) = releases.iter().find(installs) {
            return usage(format!(
                "--bin {name}: with --install helm, {} is installed from its chart {}",
                release.scheduler.name(),
                release.chart
            ));
        }
    }
    Ok(releases)
}

/// Checks that a kubeconfig can be read and names a server.
pub(crate) async fn readable(kubeconfig: &KubeconfigSource) -> Result<(), Failure> {
    if let Some(file) = kubeconfig.file.as_ref().filter(|file| !file.is_file()) {
        return Err(Failure::Usage(format!("--kubeconfig {}: no such file", file.display())));
    }
    match kubeconfig.config().await {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

/// The user's options for a kind cluster.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KindOptions<'a> {
    /// kind's configuration, instead of the one for the cluster's version.
    pub config: Option<&'a Path>,
    /// The image of the nodes, instead of a published or built one.
    pub node_image: Option<&'a str>,
    pub releases: &'a [Release],
    pub operator: Option<OperatorByChart<'a>>,
}

fn operator_by_chart<'a>(spec: &'a ClusterSpec, init: Option<&'a Path>) -> Option<OperatorByChart<'a>> {
    let operator = spec.operator.as_ref()?;
    Some(OperatorByChart { operator, chart: operator.chart()?, init })
}

/// Builds the missing images of a kind cluster. Returns the cluster's specification, and the programs that
/// run outside of it.
pub(crate) async fn kind(
    args: &ClusterArgs,
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
            .map_err(|e| Failure::Usage(format!("--kind-config {}: {e}", path.display())))?,
        None => config::of(spec.kubernetes),
    };
    let (overrides, parts) = overrides(args)?;
    reject_unknown_overrides(&overrides, catalogue(spec.kubernetes))?;
    console.now("building the parts of a kind cluster");
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
