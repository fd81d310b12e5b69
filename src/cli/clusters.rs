//! `cluster create|delete|list`: a cluster that outlives the command. `create` starts a supervisor process
//! (`__supervise`), which writes `cluster.json` when the cluster is ready, and owns it until `delete`.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cluster::deploy;
use conformance_cluster::local::LocalCluster;
use conformance_cluster::nodes::{NodeSpec, PODS, rack_and_block};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::names;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_programs::home;
use conformance_report::Exit;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::args::{ClusterVerb, CreateArgs};
use super::built_programs::{cluster_spec, programs, this_program};
use super::output::{self, Console};
use super::request::{OperatorSource, ProgramRequest};
use super::{Failure, node_shapes, operator, target_selection};

/// Longer than the limits of all parts that start one after the other. The supervisor reports those.
const READY: Duration = Duration::from_secs(600);

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

fn state_file(name: &str) -> PathBuf {
    home::cluster(name).join("cluster.json")
}

fn read_state(name: &str) -> Option<ClusterState> {
    serde_json::from_str(&std::fs::read_to_string(state_file(name)).ok()?).ok()
}

fn is_live(name: &str) -> Result<bool, Failure> {
    Ok(home::clusters()?.iter().any(|found| found.name == name && found.live))
}

pub(crate) fn kubeconfig(name: &str, wanted: &ClusterSpec) -> Result<PathBuf, Failure> {
    let kubernetes = wanted.kubernetes;
    let state = if is_live(name)? { read_state(name) } else { None };
    if state.as_ref().is_some_and(|state| !state.has_controller) {
        return Err(Failure::Usage(format!(
            "cluster {name:?} runs without the reference controller; test its operator with --provider existing \
             --kubeconfig FILE --operator existing"
        )));
    }
    let operator = wanted.operator.as_ref().map(|operator| operator.word.clone());
    if let Some(state) = state.as_ref().filter(|state| state.operator != operator) {
        let has = state.operator.as_ref().map_or_else(
            || "the reference controller: omit --operator".to_owned(),
            |word| format!("an operator: pass --operator '{word}'"),
        );
        return Err(Failure::Usage(format!("cluster {name:?} was created with {has}")));
    }
    if let Some(state) = state.as_ref().filter(|state| state.kubernetes != kubernetes) {
        return Err(Failure::Usage(format!(
            "cluster {name:?} runs Kubernetes {0}: pass --kubernetes {0}",
            state.kubernetes
        )));
    }
    state.map(|state| state.kubeconfig).ok_or_else(|| {
        Failure::Usage(format!(
            "no cluster {name:?} is running; start it with `grove-conformance cluster create {name}`"
        ))
    })
}

pub(crate) async fn cluster(verb: &ClusterVerb) -> Result<Exit, Failure> {
    match verb {
        ClusterVerb::Create(args) => create(args).await,
        ClusterVerb::Delete(args) => delete(&args.name).await,
        ClusterVerb::List => list(),
    }
}

async fn create(args: &CreateArgs) -> Result<Exit, Failure> {
    if is_live(&args.name)? {
        return Err(Failure::Usage(format!(
            "cluster {:?} is already running; stop it with `grove-conformance cluster delete {0}`",
            args.name
        )));
    }
    if let Some(nodes) = &args.nodes {
        node_shapes::parse(nodes)?;
    }
    let console = Console::default();
    // Build the supervisor's programs here, because the supervisor's progress is not visible.
    let given = ProgramRequest { offline: args.offline, ..ProgramRequest::of(&args.programs)? };
    let spec = spec(args, &given, &console).await?;
    programs(&given, &spec, &console).await?;
    console.now("starting a control plane");
    let infrastructure =
        |e: std::io::Error| Failure::Infrastructure(format!("cannot start the supervisor: {e}"));
    let log = home::state().join(format!("supervisor-{}.log", args.name));
    home::write(&log, "")?;
    let out = std::fs::File::options().append(true).open(&log).map_err(infrastructure)?;
    let mut command = Command::new(this_program()?);
    command.arg("__supervise").arg(&args.name).arg("--backend").arg(&args.backend);
    let existing = OperatorSource::of(args.operator.as_deref());
    let existing = existing.is_existing().then(|| existing.word().to_owned());
    if let Some(name) = spec.operator.as_ref().map(|operator| operator.word.clone()).or(existing) {
        command.arg("--operator").arg(name);
    }
    if let Some(file) = &args.declaration {
        command.arg("--declaration").arg(file);
    }
    command.arg("--kubernetes").arg(args.kubernetes.minor());
    if let Some(nodes) = &args.nodes {
        command.arg("--nodes").arg(nodes);
    }
    for word in given.words() {
        command.arg("--component").arg(word);
    }
    for word in given.config_words() {
        command.arg("--scheduler-config").arg(word);
    }
    let _ = std::fs::remove_file(state_file(&args.name));
    let mut supervisor = command
        .stdin(Stdio::null())
        .stdout(out.try_clone().map_err(infrastructure)?)
        .stderr(out)
        .process_group(0)
        .spawn()
        .map_err(infrastructure)?;
    // Ctrl-C does not reach the supervisor's process group. This process ends it until the cluster is ready.
    let mut guard = StopSupervisor { pid: Some(supervisor.id()) };
    let begin = Instant::now();
    let state = loop {
        if let Some(state) = read_state(&args.name) {
            break state;
        }
        if let Ok(Some(status)) = supervisor.try_wait() {
            let tail = home::tail(&log, 20);
            return Err(Failure::Infrastructure(format!(
                "cluster {:?} did not start ({status}):\n{tail}",
                args.name
            )));
        }
        if begin.elapsed() > READY {
            let _ = supervisor.kill();
            return Err(Failure::Infrastructure(format!(
                "cluster {:?} was not ready after {} s; log: {}",
                args.name,
                READY.as_secs(),
                log.display()
            )));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    guard.pid = None;
    console.end();
    output::say(&format!("cluster {:?} is ready after {:.1} s", args.name, state.ready_seconds));
    output::data(&format!("export KUBECONFIG={}", state.kubeconfig.display()));
    Ok(Exit::Conformant)
}

async fn spec(args: &CreateArgs, given: &ProgramRequest, console: &Console) -> Result<ClusterSpec, Failure> {
    if let Some((name, _)) = given.charts.first() {
        return Err(Failure::Usage(format!(
            "--component {name}=chart:REF: local schedulers are processes; omit it"
        )));
    }
    let mut targets = target_selection::targets_on(args.kubernetes, &args.backend, None)?;
    let source = OperatorSource::of(args.operator.as_deref());
    let opened = operator::opened(&source, args.declaration.as_deref()).await?;
    if let Some(opened) = &opened {
        targets = operator::targets(opened, targets, args.backend == "all")?;
    }
    let schedulers = targets.iter().map(|target| target.scheduler()).collect();
    let spec = cluster_spec(args.kubernetes, given, &schedulers, console).await?;
    let has_controller = !source.is_existing();
    let operator = match opened {
        Some(opened) => Some(Arc::new(opened.build(console).await?)),
        None => None,
    };
    Ok(ClusterSpec { has_controller, operator, ..spec })
}

/// Stops the supervisor when dropped, unless `pid` is `None`.
struct StopSupervisor {
    pid: Option<u32>,
}

impl Drop for StopSupervisor {
    fn drop(&mut self) {
        let pid = self.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Owns a cluster until a signal ends this process. Returns an error if a component ends.
pub(crate) async fn supervise(args: &CreateArgs) -> Result<Exit, Failure> {
    // Handle SIGHUP, so that the supervisor survives when the terminal of `create` is closed.
    let hangup = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup());
    let given = ProgramRequest::of(&args.programs)?;
    let spec = spec(args, &given, &Console::default()).await?;
    let programs = programs(&given, &spec, &Console::default()).await?;
    let cluster = LocalCluster::start(&args.name, spec, programs).await?;
    if let Some(nodes) = &args.nodes {
        let shapes = node_shapes::parse(nodes)?.into_iter();
        let gpus = shapes.flat_map(|(count, gpus)| std::iter::repeat_n(gpus, count as usize));
        for (index, gpus) in (0..).zip(gpus) {
            deploy::create_unless_exists(&cluster.client(), &node(index, gpus).object()).await?;
        }
    }
    let state = ClusterState {
        supervisor: std::process::id(),
        kubeconfig: cluster.kubeconfig().into(),
        ready_seconds: cluster.ready_in.as_secs_f64(),
        has_controller: cluster.spec().has_controller,
        operator: cluster.spec().operator.as_ref().map(|operator| operator.word.clone()),
        kubernetes: args.kubernetes,
    };
    let text = serde_json::to_string_pretty(&state).map_err(|e| Failure::Infrastructure(e.to_string()))?;
    // `create` reads the file as soon as it exists, so it must be complete.
    let unfinished = state_file(&args.name).with_extension("unfinished");
    home::write(&unfinished, text)?;
    std::fs::rename(&unfinished, state_file(&args.name))
        .map_err(|e| Failure::Infrastructure(e.to_string()))?;
    loop {
        if let Some(death) = cluster.dead() {
            return Err(death.into());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let _ = &hangup;
    }
}

fn node(index: u32, gpus: u32) -> NodeSpec {
    let (rack, block) = rack_and_block(index);
    let labels = [(names::RACK.to_owned(), rack), (names::BLOCK.to_owned(), block)];
    NodeSpec {
        name: format!("node-{index}"),
        labels: labels.into(),
        taint: None,
        gpus,
        pods: PODS,
        template: None,
    }
}

async fn delete(name: &str) -> Result<Exit, Failure> {
    let state = if is_live(name)? { read_state(name) } else { None };
    let Some(state) = state else {
        return Err(Failure::Usage(format!(
            "no cluster {name:?} is running; `grove-conformance cluster list` shows all"
        )));
    };
    let supervisor = i32::try_from(state.supervisor).ok().and_then(Pid::from_raw);
    if let Some(pid) = supervisor {
        kill_process(pid, Signal::TERM).map_err(|e| {
            Failure::Infrastructure(format!("cannot stop the supervisor {}: {e}", state.supervisor))
        })?;
    }
    let begin = Instant::now();
    while is_live(name)? {
        if begin.elapsed() > Duration::from_secs(20) {
            return Err(Failure::Infrastructure(format!(
                "cluster {name:?} did not stop within 20 s: kill process {}, then run `grove-conformance \
                 clean`",
                state.supervisor
            )));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    home::remove_abandoned()?;
    output::say(&format!("cluster {name:?} is stopped"));
    Ok(Exit::Conformant)
}

fn list() -> Result<Exit, Failure> {
    let found = home::clusters()?;
    if found.is_empty() {
        output::say("no cluster is running");
    }
    for cluster in found {
        let description = match (cluster.live, read_state(&cluster.name)) {
            (true, Some(state)) => format!("up        {}", state.kubeconfig.display()),
            (true, None) => "up        (belongs to a run)".into(),
            (false, _) => "abandoned (`grove-conformance clean` removes it)".into(),
        };
        output::data(&format!("{:<24}{description}", cluster.name));
    }
    Ok(Exit::Conformant)
}
