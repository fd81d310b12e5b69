//! Starts child processes that never outlive their owner. The launcher `__exec` asks the kernel to send it
//! SIGKILL when its parent dies. It then checks that the parent still runs, and executes the program.
//!
//! The kernel sends the signal when the *thread* that spawned the child ends, so each child has its own
//! thread here. Each child also has its own process group, so that Ctrl-C reaches only the owner.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use tokio::sync::watch;

use super::{home, processor_time};
use crate::ProgramError;

static LIVE: std::sync::LazyLock<watch::Sender<usize>> = std::sync::LazyLock::new(|| watch::Sender::new(0));

/// Waits until all children have ended. Returns `false` after `limit`.
pub async fn all_ended(limit: Duration) -> bool {
    let mut live = LIVE.subscribe();
    tokio::time::timeout(limit, live.wait_for(|count| *count == 0)).await.is_ok()
}

/// A channel that notifies when a child starts, and when a child has ended and its exit status is available.
pub fn changes() -> watch::Receiver<usize> {
    LIVE.subscribe()
}

pub const EXEC_VERB: &str = "__exec";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    pub name: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct Launcher {
    program: PathBuf,
}

impl Launcher {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    pub async fn start(&self, spec: &ProcessSpec, log: &Path) -> Result<Process, ProgramError> {
        if let Some(parent) = log.parent() {
            home::create_folder(parent)?;
        }
        let out = File::options().create(true).append(true).open(log).map_err(ProgramError::file(log))?;
        let err = out.try_clone().map_err(ProgramError::file(log))?;
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
                    processor_time::count_until_exit(child.id(), &name);
                    let status = child.wait();
                    // Publish the status before the count, because watchers of the count read the status.
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

fn failed(name: &str, what: &str, log: &Path) -> ProgramError {
    ProgramError::Process {
        process: name.into(),
        what: what.into(),
        log: log.into(),
        tail: home::tail(log, 15),
    }
}

#[derive(Debug)]
pub struct Process {
    pub name: String,
    pub pid: u32,
    pub log: PathBuf,
    /// `None` while the process runs. The inner value is `None` if the exit status is unknown.
    exit: watch::Receiver<Option<Option<ExitStatus>>>,
    /// The value of [`killed_for_memory`] when the process started.
    killed_before: u64,
}

/// Returns how many processes the kernel has killed for lack of memory, in any control group.
fn killed_for_memory() -> u64 {
    let counters = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = counters.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn ending(status: ExitStatus, killed_for_memory: bool) -> String {
    if status.signal() == Some(Signal::KILL.as_raw()) && killed_for_memory {
        "was killed by the kernel for lack of memory; `doctor` shows what a run needs".to_owned()
    } else {
        format!("ended with {status}")
    }
}

impl Process {
    /// Returns how the process ended, for messages, or `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        self.exit.borrow().as_ref().map(|status| match status {
            Some(status) => ending(*status, killed_for_memory() > self.killed_before),
            None => "ended".to_owned(),
        })
    }

    pub fn death(&self) -> Option<ProgramError> {
        self.ended().map(|what| failed(&self.name, &what, &self.log))
    }

    pub fn exit_code(&self) -> Option<i32> {
        self.exit.borrow().as_ref().and_then(|status| status.as_ref().and_then(ExitStatus::code))
    }

    pub fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }

    pub fn signal(&self, signal: Signal) {
        if self.exit.borrow().is_none()
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            // The exit status is published microseconds after the child is reaped. The kernel reuses a
            // process id only after all other ids, so no other process has this id yet.
            let _ = kill_process(pid, signal);
        }
    }

    pub async fn wait(&self) {
        let mut exit = self.exit.clone();
        let _ = exit.wait_for(Option::is_some).await;
    }

    /// Sends SIGTERM, and kills the process after `grace`. Returns whether it exited by itself.
    pub async fn stop(&self, grace: Duration) -> bool {
        self.signal(Signal::TERM);
        if tokio::time::timeout(grace, self.wait()).await.is_ok() {
            return true;
        }
        self.kill().await;
        false
    }

    pub async fn kill(&self) {
        self.signal(Signal::KILL);
        self.wait().await;
    }
}

pub fn exec(args: impl IntoIterator<Item = String>) -> String {
    let mut args = args.into_iter();
    let parent = args.next().and_then(|raw| raw.parse::<i32>().ok()).and_then(Pid::from_raw);
    let Some(program) = args.next() else { return "the launcher needs a parent's id and a program".into() };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!("cannot tie {program} to its parent: {error}");
    }
    // If the parent died before the request, the kernel will never send the signal.
    if parent.is_none() || getppid() != parent {
        return format!("{program} was not started: its parent has exited");
    }
    format!("cannot start {program}: {}", Command::new(&program).args(args).exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kill_for_lack_of_memory_is_reported_as_such() {
        let killed = ExitStatus::from_raw(Signal::KILL.as_raw());
        assert_eq!(ending(killed, false), "ended with signal: 9 (SIGKILL)");
        assert!(ending(killed, true).contains("lack of memory"));
        assert_eq!(ending(ExitStatus::from_raw(1 << 8), true), "ended with exit status: 1");
    }
}
