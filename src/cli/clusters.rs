//! `up`, `down`, `status`: a cluster that outlives the command, for a quick development loop.
//!
//! `up` passes the cluster to a supervisor process (`__supervise`). The supervisor starts it, writes
//! `cluster.json` into the cluster's folder when it is ready, and owns it until `down` stops it. The
//! cluster's processes die with their supervisor, as they die with any run.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cluster::deploy;
use conformance_cluster::local::LocalCluster;
use conformance_cluster::nodes::{NodeSpec, PODS};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::names;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_programs::home;
use conformance_report::Exit;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::args::{EXISTING, UpArgs};
use super::output::{self, Console};
use super::{Failure, cluster_spec, given, operator, own, programs, select};

/// The supervisor's record of its cluster.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterState {
    supervisor: u32,
    kubeconfig: PathBuf,
    ready_seconds: f64,
    has_controller: bool,
    #[serde(default)]
    operator: Option<String>,
    kubernetes: Kubernetes,
}

fn card_file(name: &str) -> PathBuf {
    home::cluster(name).join("cluster.json")
}

fn read_card(name: &str) -> Option<ClusterState> {
    serde_json::from_str(&std::fs::read_to_string(card_file(name)).ok()?).ok()
}

fn is_live(name: &str) -> Result<bool, Failure> {
    Ok(home::clusters()?.iter().any(|found| found.name == name && found.live))
}

/// The administrator's kubeconfig of a running cluster with this name and version.
pub(crate) fn kubeconfig(name: &str, wanted: &ClusterSpec) -> Result<PathBuf, Failure> {
    let kubernetes = wanted.kubernetes;
    let there = if is_live(name)? { read_card(name) } else { None };
    if there.as_ref().is_some_and(|card| !card.has_controller) {
        return Err(Failure::Usage(format!(
            "cluster {name:?} runs without the reference controller; test its operator with --provider existing \
             --kubeconfig FILE --operator existing"
        )));
    }
    let operator = wanted.operator.as_ref().map(|operator| operator.word.clone());
    if let Some(card) = there.as_ref().filter(|card| card.operator != operator) {
        let has = card.operator.as_ref().map_or_else(
            || "the reference controller: omit --operator".to_owned(),
            |word| format!("an operator: pass --operator '{word}'"),
        );
        return Err(Failure::Usage(format!("cluster {name:?} was created with {has}")));
    }
    if let Some(card) = there.as_ref().filter(|card| card.kubernetes != kubernetes) {
        return Err(Failure::Usage(format!(
            "cluster {name:?} runs Kubernetes {0}: pass --kubernetes {0}",
            card.kubernetes
        )));
    }
    there.map(|card| card.kubeconfig).ok_or_else(|| {
        Failure::Usage(format!("no cluster {name:?} is running; start it with `grove-conformance up {name}`"))
    })
}

/// Starts a supervisor and waits until its cluster is ready.
pub(crate) async fn up(args: &UpArgs) -> Result<Exit, Failure> {
    if is_live(&args.name)? {
        return Err(Failure::Usage(format!(
            "cluster {:?} is already running; stop it with `grove-conformance down {0}`",
            args.name
        )));
    }
    if let Some(word) = &args.nodes {
        select::nodes(word)?;
    }
    let talk = Console::default();
    // Built here, where progress is visible.
    let spec = spec(args, &talk).await?;
    programs(&args.cluster_args, &spec, &talk).await?;
    talk.now("starting a control plane");
    let infrastructure =
        |e: std::io::Error| Failure::Infrastructure(format!("cannot start the supervisor: {e}"));
    let log = home::state().join(format!("supervisor-{}.log", args.name));
    home::write(&log, "")?;
    let out = std::fs::File::options().append(true).open(&log).map_err(infrastructure)?;
    let mut command = Command::new(own()?);
    command.arg("__supervise").arg(&args.name).arg("--backend").arg(&args.backend);
    let existing = args.operator.is_existing().then_some(EXISTING);
    if let Some(word) = spec.operator.as_ref().map(|operator| operator.word.as_str()).or(existing) {
        command.arg("--operator").arg(word);
    }
    if let Some(file) = &args.operator.declares {
        command.arg("--declares").arg(file);
    }
    command.arg("--kubernetes").arg(args.kubernetes.minor());
    if let Some(nodes) = &args.nodes {
        command.arg("--nodes").arg(nodes);
    }
    for (flag, name, path) in given::flags(&args.cluster_args) {
        command.arg(flag).arg(format!("{name}{}", path.display()));
    }
    let _ = std::fs::remove_file(card_file(&args.name));
    let mut supervisor = command
        .stdin(Stdio::null())
        .stdout(out.try_clone().map_err(infrastructure)?)
        .stderr(out)
        .process_group(0)
        .spawn()
        .map_err(infrastructure)?;
    // Ctrl-C before the cluster is ready must also end its supervisor, which is in a separate process group.
    let mut guard = DropGuard { pid: Some(supervisor.id()) };
    let begin = Instant::now();
    let card = loop {
        if let Some(card) = read_card(&args.name) {
            break card;
        }
        if let Ok(Some(status)) = supervisor.try_wait() {
            let said = home::tail(&log, 20);
            return Err(Failure::Infrastructure(format!("the cluster did not start ({status}):\n{said}")));
        }
        if begin.elapsed() > Duration::from_secs(120) {
            let _ = supervisor.kill();
            return Err(Failure::Infrastructure("the cluster was not ready after 120 s".into()));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    guard.pid = None;
    talk.end();
    output::say(&format!("cluster {:?} is ready after {:.1} s", args.name, card.ready_seconds));
    output::data(&format!("export KUBECONFIG={}", card.kubeconfig.display()));
    Ok(Exit::Conformant)
}

async fn spec(args: &UpArgs, talk: &Console) -> Result<ClusterSpec, Failure> {
    let mut targets = select::targets_on(args.kubernetes, &args.backend, None)?;
    let opened = operator::opened(&args.operator).await?;
    if let Some(opened) = &opened {
        targets = operator::targets(opened, targets, args.backend == "all")?;
    }
    let schedulers = targets.iter().map(|target| target.scheduler()).collect();
    let spec = cluster_spec(args.kubernetes, &args.cluster_args, &schedulers, talk).await?;
    let has_controller = !args.operator.is_existing();
    let operator = match opened {
        Some(opened) => Some(Arc::new(opened.build(talk).await?)),
        None => None,
    };
    Ok(ClusterSpec { has_controller, operator, ..spec })
}

struct DropGuard {
    pid: Option<u32>,
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        let pid = self.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Owns a cluster until it receives a stop signal. It is an error if the cluster does not start, or if a
/// component ends.
pub(crate) async fn supervise(args: &UpArgs) -> Result<Exit, Failure> {
    // The terminal of `up` may be closed.
    let hangup = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup());
    let spec = spec(args, &Console::default()).await?;
    let programs = programs(&args.cluster_args, &spec, &Console::default()).await?;
    let cluster = LocalCluster::start(&args.name, spec, programs).await?;
    if let Some(word) = &args.nodes {
        let (count, gpus) = select::nodes(word)?;
        for index in 0..count {
            deploy::create_unless_there(&cluster.client(), &node(index, gpus).object()).await?;
        }
    }
    let card = ClusterState {
        supervisor: std::process::id(),
        kubeconfig: cluster.kubeconfig().into(),
        ready_seconds: cluster.ready_in.as_secs_f64(),
        has_controller: cluster.spec().has_controller,
        operator: cluster.spec().operator.as_ref().map(|operator| operator.word.clone()),
        kubernetes: args.kubernetes,
    };
    let text = serde_json::to_string_pretty(&card).map_err(|e| Failure::Infrastructure(e.to_string()))?;
    let unfinished = card_file(&args.name).with_extension("unfinished");
    home::write(&unfinished, text)?;
    std::fs::rename(&unfinished, card_file(&args.name))
        .map_err(|e| Failure::Infrastructure(e.to_string()))?;
    loop {
        if let Some(death) = cluster.dead() {
            return Err(death.into());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let _ = &hangup;
    }
}

/// A node of `up`: 4 per rack, 8 per block.
fn node(index: u32, gpus: u32) -> NodeSpec {
    let labels = [
        (names::RACK.to_owned(), format!("rack-{}", index / 4)),
        (names::BLOCK.to_owned(), format!("block-{}", index / 8)),
    ];
    NodeSpec { name: format!("node-{index}"), labels: labels.into(), taint: None, gpus, pods: PODS }
}

pub(crate) async fn down(name: &str) -> Result<Exit, Failure> {
    let card = if is_live(name)? { read_card(name) } else { None };
    let Some(card) = card else {
        return Err(Failure::Usage(format!(
            "no cluster {name:?} is running; `grove-conformance status` lists them"
        )));
    };
    let supervisor = i32::try_from(card.supervisor).ok().and_then(Pid::from_raw);
    if let Some(pid) = supervisor {
        kill_process(pid, Signal::TERM).map_err(|e| {
            Failure::Infrastructure(format!("cannot stop the supervisor {}: {e}", card.supervisor))
        })?;
    }
    let begin = Instant::now();
    while is_live(name)? {
        if begin.elapsed() > Duration::from_secs(20) {
            return Err(Failure::Infrastructure(format!("cluster {name:?} did not stop within 20 s")));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    home::remove_abandoned()?;
    output::say(&format!("cluster {name:?} is stopped"));
    Ok(Exit::Conformant)
}

pub(crate) fn status() -> Result<Exit, Failure> {
    let found = home::clusters()?;
    if found.is_empty() {
        output::say("no cluster is running");
    }
    for cluster in found {
        let state = match (cluster.live, read_card(&cluster.name)) {
            (true, Some(card)) => format!("up        {}", card.kubeconfig.display()),
            (true, None) => "up        (belongs to a run)".into(),
            (false, _) => "abandoned (`grove-conformance clean` removes it)".into(),
        };
        output::data(&format!("{:<24}{state}", cluster.name));
    }
    Ok(Exit::Conformant)
}
