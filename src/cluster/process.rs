//! Child processes that never outlive their owner.
//!
//! Every child starts through a tiny launcher (the hidden `__exec` verb of `grove-conformance`): it asks the kernel
//! to kill it when its parent dies, checks that its parent is still the expected one, and executes the program. The
//! parent-death signal is tied to the *thread* that spawned the child, so each child has its own thread here, which
//! spawns it, waits for it and reports its end: it lives exactly as long as the child. Each child has its own
//! process group, so that Ctrl-C reaches only the owner, which stops them in order.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use tokio::sync::watch;

use super::{ClusterError, home, processor_time};

/// How many children of this process have not ended.
static LIVE: std::sync::LazyLock<watch::Sender<usize>> = std::sync::LazyLock::new(|| watch::Sender::new(0));

/// Waits until every child of this process has ended; `false` if `limit` runs out first.
pub async fn all_ended(limit: Duration) -> bool {
    let mut live = LIVE.subscribe();
    tokio::time::timeout(limit, live.wait_for(|count| *count == 0)).await.is_ok()
}

/// Changes whenever a child of this process begins or ends; how each ended is known by then.
pub fn changes() -> watch::Receiver<usize> {
    LIVE.subscribe()
}

/// The hidden verb that [`exec`] serves.
pub const EXEC_VERB: &str = "__exec";

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    /// The component's name, for messages and the log's file name.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables on top of the owner's.
    pub env: Vec<(String, String)>,
}

/// Starts processes through the launcher.
#[derive(Debug, Clone)]
pub struct Launcher {
    program: PathBuf,
}

impl Launcher {
    /// `program` is a `grove-conformance` executable, which serves the launcher's verb.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Starts a process; its output is appended to `log`.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it cannot be spawned, [`ClusterError::File`] for the log.
    pub async fn start(&self, spec: &ProcessSpec, log: &Path) -> Result<Process, ClusterError> {
        if let Some(parent) = log.parent() {
            home::make(parent)?;
        }
        let out = File::options().create(true).append(true).open(log).map_err(ClusterError::file(log))?;
        let err = out.try_clone().map_err(ClusterError::file(log))?;
        let mut command = Command::new(&self.program);
        command
            .arg(EXEC_VERB)
            .arg(std::process::id().to_string())
            .arg(&spec.program)
            .args(&spec.args)
            .envs(spec.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0);
        let (spawned, pid) = tokio::sync::oneshot::channel();
        let (ended, exit) = watch::channel(None);
        let name = spec.name.clone();
        std::thread::Builder::new()
            .name(format!("child-{}", spec.name))
            .spawn(move || match command.spawn() {
                Err(error) => drop(spawned.send(Err(error))),
                Ok(mut child) => {
                    LIVE.send_modify(|count| *count += 1);
                    drop(spawned.send(Ok(child.id())));
                    processor_time::count_until_its_end(child.id(), &name);
                    let status = child.wait();
                    // First: who watches for ends looks which one it was.
                    ended.send_replace(Some(status.ok()));
                    LIVE.send_modify(|count| *count -= 1);
                }
            })
            .map_err(|e| failed(&spec.name, &format!("could not be started: {e}"), log))?;
        let pid = pid
            .await
            .map_err(|_| failed(&spec.name, "could not be started", log))?
            .map_err(|e| failed(&spec.name, &format!("could not be started: {e}"), log))?;
        tracing::debug!(process = spec.name, pid, "started");
        Ok(Process {
            name: spec.name.clone(),
            pid,
            log: log.into(),
            exit,
            killed_before: killed_for_memory(),
        })
    }
}

fn failed(name: &str, what: &str, log: &Path) -> ClusterError {
    ClusterError::Process {
        process: name.into(),
        what: what.into(),
        log: log.into(),
        tail: home::tail(log, 15),
    }
}

/// A running (or ended) child.
#[derive(Debug)]
pub struct Process {
    /// The component's name.
    pub name: String,
    /// Process id.
    pub pid: u32,
    /// Where its output goes.
    pub log: PathBuf,
    exit: watch::Receiver<Option<Option<ExitStatus>>>,
    killed_before: u64,
}

/// How many processes the kernel has killed for lack of memory, in whatever control group.
fn killed_for_memory() -> u64 {
    let counters = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = counters.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// How a process ended, for messages.
fn ending(status: ExitStatus, killed_for_memory: bool) -> String {
    if status.signal() == Some(Signal::KILL.as_raw()) && killed_for_memory {
        "was killed, and the kernel says for lack of memory; `doctor` says what a run needs".to_owned()
    } else {
        format!("ended with {status}")
    }
}

impl Process {
    /// How it ended, for messages, or `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        self.exit.borrow().as_ref().map(|status| match status {
            Some(status) => ending(*status, killed_for_memory() > self.killed_before),
            None => "ended".to_owned(),
        })
    }

    /// The error of a process that should be running and is not.
    pub fn death(&self) -> Option<ClusterError> {
        self.ended().map(|what| failed(&self.name, &what, &self.log))
    }

    /// The exit code, if it ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit.borrow().as_ref().and_then(|status| status.as_ref().and_then(ExitStatus::code))
    }

    /// Its resident memory in bytes, while it runs.
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }

    /// Sends a signal; a process that has ended is left alone.
    pub fn signal(&self, signal: Signal) {
        if self.exit.borrow().is_none()
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            // Between the reaping of a child and its report lie microseconds, and the kernel hands ids out in
            // a circle: the id cannot belong to another process yet. An error means "gone".
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits until it has ended.
    pub async fn wait(&self) {
        let mut exit = self.exit.clone();
        // The sender is dropped only after it has sent.
        let _ = exit.wait_for(Option::is_some).await;
    }

    /// Asks it to stop, kills it when `grace` is over; whether it stopped by itself.
    pub async fn stop(&self, grace: Duration) -> bool {
        self.signal(Signal::TERM);
        if tokio::time::timeout(grace, self.wait()).await.is_ok() {
            return true;
        }
        self.kill().await;
        false
    }

    /// Kills it and waits for its end.
    pub async fn kill(&self) {
        self.signal(Signal::KILL);
        self.wait().await;
    }
}

/// The launcher: `__exec PARENT PROGRAM ARGS…`. Returns only if it could not become the program.
pub fn exec(args: impl IntoIterator<Item = String>) -> String {
    let mut args = args.into_iter();
    let parent = args.next().and_then(|raw| raw.parse::<i32>().ok()).and_then(Pid::from_raw);
    let Some(program) = args.next() else { return "the launcher needs a parent's id and a program".into() };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!("cannot tie {program} to its parent: {error}");
    }
    // The parent may have died before the request was made; then nobody would send the signal any more.
    if parent.is_none() || getppid() != parent {
        return format!("{program} was not started: its parent is gone");
    }
    format!("cannot start {program}: {}", Command::new(&program).args(args).exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_killed_for_memory_is_told_from_who_is_killed() {
        let killed = ExitStatus::from_raw(Signal::KILL.as_raw());
        assert_eq!(ending(killed, false), "ended with signal: 9 (SIGKILL)");
        assert!(ending(killed, true).contains("lack of memory"));
        assert_eq!(ending(ExitStatus::from_raw(1 << 8), true), "ended with exit status: 1");
    }
}
