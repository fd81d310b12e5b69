//! Our images as containers, without a cluster: they start, answer probes, stop on SIGTERM within 5 s, and run as
//! nobody with a read-only root. Where no Docker engine answers the tests are *ignored*, and the reason is printed.

use std::path::Path;
use std::time::{Duration, Instant};

use grove_conformance::cluster::docker;
use grove_conformance::cluster::images::{self, Image, NOBODY};
use libtest_mimic::{Arguments, Failed, Trial};
use testcontainers::core::{IntoContainerPort, WaitFor};
use testcontainers::runners::AsyncRunner;
use testcontainers::{GenericImage, ImageExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// What a user may expect of an image.
const STOPS: Duration = Duration::from_secs(5);
const PLUGIN_HEALTH: u16 = 9446;
/// A program in a container that has started listens.
const LISTENS: Duration = Duration::from_secs(10);

async fn image(program: &str, path: &str, user: Option<&str>) -> Result<Image, Box<dyn std::error::Error>> {
    let program_file = images::statically(program, Path::new(path)).await?;
    Ok(images::of_program(program, &program_file, user).await?)
}

fn of(image: &Image) -> GenericImage {
    let (name, tag) = image.reference.rsplit_once(':').unwrap_or((&image.reference, "latest"));
    GenericImage::new(name, tag)
}

/// The status line of a GET, asked again until somebody listens.
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

/// The plugin lives without a kubelet, says that it is not registered, and ends when it is told to.
async fn plugin() -> Outcome {
    let image = image("fake-gpu-plugin", env!("CARGO_BIN_EXE_fake-gpu-plugin"), None).await?;
    let container = of(&image)
        .with_exposed_port(PLUGIN_HEALTH.tcp())
        .with_wait_for(WaitFor::seconds(1))
        .with_cmd(["--no-node-watch", "--gpus=2"])
        .with_readonly_rootfs(true)
        .start()
        .await?;
    let port = container.get_host_port_ipv4(PLUGIN_HEALTH.tcp()).await?;
    assert!(get(port, "/healthz").await?.contains("200"), "it lives");
    assert!(get(port, "/readyz").await?.contains("503"), "no kubelet has taken it");
    stops(container).await
}

/// The controller runs as nobody, and says what it lacks where there is no configuration.
async fn controller() -> Outcome {
    let path = env!("CARGO_BIN_EXE_grove-backend-controller");
    let image = image("grove-backend-controller", path, Some(NOBODY)).await?;
    let user = docker::docker(["image", "inspect", "--format", "{{.Config.User}}", &image.reference]).await?;
    assert_eq!(user.trim(), NOBODY);
    let words =
        ["run", "--rm", "--read-only", &image.reference, "run", "--config=/none", "--managed-certificates=x"];
    let said = docker::docker(words).await.expect_err("it cannot start").to_string();
    assert!(said.contains("cannot read /none"), "{said}");
    Ok(())
}

/// The sandbox program ends at once when it is told to, as first process too.
async fn pause() -> Outcome {
    let image = image("pause", env!("CARGO_BIN_EXE_pause"), Some(NOBODY)).await?;
    let container = of(&image).with_wait_for(WaitFor::seconds(1)).with_readonly_rootfs(true).start().await?;
    stops(container).await
}

async fn stops(container: testcontainers::ContainerAsync<GenericImage>) -> Outcome {
    let begin = Instant::now();
    container.stop_with_timeout(Some(30)).await?;
    assert!(begin.elapsed() < STOPS, "it took {:?} to stop", begin.elapsed());
    let code = container.exit_code().await?;
    assert_eq!(code, Some(0), "it was asked, not killed");
    container.rm().await?;
    Ok(())
}

#[allow(clippy::print_stderr)]
fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let runtime = || Runtime::new().expect("a runtime starts");
    let missing = runtime().block_on(docker::engine()).err();
    if let Some(missing) = &missing {
        eprintln!("containers: not run: {missing}");
    }
    let run = move |test: fn() -> futures::future::BoxFuture<'static, Outcome>| {
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
