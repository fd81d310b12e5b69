//! The images of kind clusters as containers, without a cluster. They start, answer probes, stop on SIGTERM
//! within 5 s, and run as an unprivileged user with a read-only root. Without a Docker engine, the tests are
//! ignored, and the reason is printed.

use std::pin::Pin;
use std::time::{Duration, Instant};

use conformance_programs::images::{self, Image, NOBODY};
use conformance_programs::own_program::{CONTROLLER, PAUSE, PLUGIN};
use conformance_programs::{ProgramError, docker};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const STOPS: Duration = Duration::from_secs(5);
const PLUGIN_HEALTH: u16 = 9446;
const LISTENS_TO_SIGNALS: Duration = Duration::from_secs(1);
const LISTENS: Duration = Duration::from_secs(10);

/// A container that is removed with its contents when the test ends, regardless of the outcome.
struct Container(String);

impl Container {
    async fn start(image: &Image, flags: &[&str], args: &[&str]) -> Result<Self, ProgramError> {
        let mut words = vec!["run", "--detach", "--read-only"];
        words.extend(flags);
        words.push(&image.reference);
        words.extend(args);
        Ok(Self(docker::docker(words).await?.trim().to_owned()))
    }

    async fn port(&self, inside: u16) -> Result<u16, Box<dyn std::error::Error>> {
        let said = docker::docker(["port", &self.0, &inside.to_string()]).await?;
        let port = said.lines().next().and_then(|line| line.rsplit(':').next()).unwrap_or_default();
        Ok(port.trim().parse()?)
    }

    /// Stops the container. Exit code 0 shows that the program was not killed.
    async fn stops(self) -> Outcome {
        let begin = Instant::now();
        docker::docker(["stop", "--time", "30", &self.0]).await?;
        assert!(begin.elapsed() < STOPS, "it took {:?} to stop", begin.elapsed());
        let code = docker::docker(["inspect", "--format", "{{.State.ExitCode}}", &self.0]).await?;
        assert_eq!(code.trim(), "0", "the program exits by itself, it is not killed");
        Ok(())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = std::process::Command::new("docker").args(["rm", "--force", &self.0]).output();
    }
}

async fn get(port: u16, path: &str) -> std::io::Result<String> {
    let begin = Instant::now();
    loop {
        match ask(port, path).await {
            Ok(line) if !line.is_empty() => return Ok(line),
            answer if begin.elapsed() > LISTENS => return answer,
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn ask(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

async fn plugin() -> Outcome {
    let image = images::of_reference(PLUGIN, None, None).await?;
    let published = format!("--publish=127.0.0.1::{PLUGIN_HEALTH}");
    let container = Container::start(&image, &[&published], &["--no-node-watch", "--gpus=2"]).await?;
    let port = container.port(PLUGIN_HEALTH).await?;
    assert!(get(port, "/healthz").await?.contains("200"), "the plugin is alive");
    assert!(get(port, "/readyz").await?.contains("503"), "no kubelet has registered the plugin");
    container.stops().await
}

async fn controller() -> Outcome {
    let image = images::of_reference(CONTROLLER, None, Some(NOBODY)).await?;
    let user = docker::docker(["image", "inspect", "--format", "{{.Config.User}}", &image.reference]).await?;
    assert_eq!(user.trim(), NOBODY);
    let words =
        ["run", "--rm", "--read-only", &image.reference, "run", "--config=/none", "--managed-certificates=x"];
    let said = docker::docker(words).await.expect_err("it cannot start").to_string();
    assert!(said.contains("cannot read /none"), "{said}");
    Ok(())
}

/// The pause program stops on SIGTERM even as the first process of its container.
async fn pause() -> Outcome {
    let path = images::static_program(PAUSE, None).await?;
    let image = images::of_program(PAUSE, &path, Some(NOBODY)).await?;
    let container = Container::start(&image, &[], &[]).await?;
    // The pause program does not report when it is ready for signals.
    tokio::time::sleep(LISTENS_TO_SIGNALS).await;
    container.stops().await
}

#[allow(clippy::print_stderr)]
fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let runtime = || Runtime::new().expect("a runtime starts");
    let missing = runtime().block_on(docker::engine()).err();
    if let Some(missing) = &missing {
        eprintln!("containers: not run: {missing}");
    }
    let run = move |test: fn() -> Pin<Box<dyn Future<Output = Outcome>>>| {
        move || runtime().block_on(test()).map_err(|error| Failed::from(error.to_string()))
    };
    let trials = vec![
        Trial::test("containers::fake-gpu-plugin", run(|| Box::pin(plugin()))),
        Trial::test("containers::grove-backend-controller", run(|| Box::pin(controller()))),
        Trial::test("containers::pause", run(|| Box::pin(pause()))),
    ];
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(missing.is_some())).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
