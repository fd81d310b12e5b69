//! `dev bench cold`: measures the commands of the README when nothing is built, in several checkouts
//! alternately. The downloads of Cargo and Go stay cached, because the network is not measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use conformance_cluster::ClusterError;
use conformance_programs::{home, processor_time};
use conformance_report::Exit;
use tokio::process::Command;

use crate::Failure;
use crate::args::ColdArgs;
use crate::output::{self, Console};

/// Disk space for the builds of one checkout.
const NEEDED_MIB: u64 = 12 * 1024;

struct Step {
    what: &'static str,
    /// The program on PATH. `None` stands for the suite, which the first step builds.
    program: Option<&'static str>,
    args: &'static [&'static str],
}

const FIRST_COMMAND: [Step; 3] = [
    Step {
        what: "suite",
        program: Some("cargo"),
        args: &["build", "--locked", "--bin", "grove-conformance"],
    },
    Step { what: "programs, one case", program: None, args: &["run", "aon/one-pod-short"] },
    Step { what: "cases", program: None, args: &["run"] },
];
const SECOND_COMMAND: [Step; 2] = [
    Step { what: "tests compiled", program: Some("cargo"), args: &["test", "--locked", "--no-run"] },
    Step { what: "tests", program: Some("cargo"), args: &["test", "--locked"] },
];

#[derive(Debug, Clone, Copy)]
struct Took {
    processor: Duration,
    wall: Duration,
}

/// Measures the checkouts. Every second round has the reverse order, so that no checkout always comes first.
pub(super) async fn cold(args: &ColdArgs) -> Result<Exit, Failure> {
    let console = Console::default();
    let steps = || FIRST_COMMAND.iter().chain(args.tests.then_some(&SECOND_COMMAND).into_iter().flatten());
    for dir in &args.dirs {
        if !dir.join("Cargo.toml").is_file() {
            return Err(Failure::Usage(format!(
                "{} is not a checkout: Cargo.toml is missing",
                dir.display()
            )));
        }
    }
    let mut sums: BTreeMap<&Path, Vec<Took>> = BTreeMap::new();
    for round in 0..args.rounds {
        let mut dirs: Vec<&Path> = args.dirs.iter().map(PathBuf::as_path).collect();
        if round % 2 == 1 {
            dirs.reverse();
        }
        for dir in dirs {
            let cache = home::cache();
            home::create_folder(&cache)?;
            home::require_space(&cache, NEEDED_MIB, "to build a checkout", home::CACHE_VARIABLE)?;
            // The folder is removed on drop, also after an interruption.
            let folder = tempfile::Builder::new().prefix("bench-cold-").tempdir_in(&cache);
            let folder = folder.map_err(ClusterError::file(&cache))?;
            sums.entry(dir).or_default().extend(run_steps(dir, folder.path(), steps(), &console).await?);
        }
    }
    console.end();
    for (dir, all) in sums {
        let per_round = |part: fn(&Took) -> Duration| {
            all.iter().map(part).sum::<Duration>().as_secs_f64() / f64::from(args.rounds)
        };
        let (processor, wall) = (per_round(|took| took.processor), per_round(|took| took.wall));
        output::data(&format!("{}: {processor:.0} CPU s, {wall:.0} s in all", dir.display()));
    }
    Ok(Exit::Conformant)
}

async fn run_steps(
    dir: &Path,
    folder: &Path,
    steps: impl Iterator<Item = &Step>,
    console: &Console,
) -> Result<Vec<Took>, Failure> {
    let mut all = Vec::new();
    for step in steps {
        console.now(&format!("{}: {}", dir.display(), step.what));
        let took = step.run(dir, folder).await?;
        let (processor, wall) = (took.processor.as_secs_f64(), took.wall.as_secs_f64());
        output::data(&format!("{:<20} {processor:>6.0} CPU s {wall:>6.0} s  {}", step.what, dir.display()));
        all.push(took);
    }
    Ok(all)
}

impl Step {
    async fn run(&self, dir: &Path, folder: &Path) -> Result<Took, Failure> {
        let target = folder.join("target");
        let suite = target.join("debug/grove-conformance");
        let program = self.program.map_or(suite.as_path(), Path::new);
        let log = folder.join("log");
        home::write(&log, "")?;
        let log_file = || std::fs::File::options().append(true).open(&log).map_err(ClusterError::file(&log));
        let (begin, before) = (Instant::now(), processor_time::of_ended_children());
        let mut command = Command::new(program);
        command
            .args(self.args)
            .args(self.program.is_none().then(|| format!("--output={}", folder.join("report").display())))
            .current_dir(dir)
            .env("CARGO_TARGET_DIR", &target)
            .env("GOCACHE", folder.join("go"))
            .env(home::CACHE_VARIABLE, folder.join("cache"))
            .stdin(Stdio::null())
            .stdout(log_file()?)
            .stderr(log_file()?)
            .kill_on_drop(true);
        let status = command.status().await;
        let took = Took {
            wall: begin.elapsed(),
            processor: processor_time::of_ended_children().saturating_sub(before),
        };
        match status {
            Ok(status) if status.success() => Ok(took),
            Ok(status) => {
                let tail = home::tail(&log, 15);
                Err(Failure::Infrastructure(format!(
                    "the step {:?} failed in {}: {status}\n{tail}",
                    self.what,
                    dir.display()
                )))
            }
            Err(error) => Err(Failure::Infrastructure(format!("{}: {error}", program.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(args: &'static [&'static str]) -> Result<Took, Failure> {
        let folder = tempfile::tempdir().unwrap();
        Step { what: "a step", program: Some("sh"), args }.run(folder.path(), folder.path()).await
    }

    #[tokio::test]
    async fn the_time_of_a_step_includes_its_children() {
        let took = run(&["-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'"]).await.unwrap();
        assert!(took.processor >= Duration::from_millis(50), "{took:?}");
    }

    #[tokio::test]
    async fn the_error_of_a_failed_step_has_its_last_lines() {
        let error = run(&["-c", "echo no space left >&2; exit 4"]).await.unwrap_err().to_string();
        assert!(error.contains("a step") && error.contains("exit status: 4"), "{error}");
        assert!(error.ends_with("no space left"), "{error}");
    }
}
