//! Installs schedulers from their Helm charts (`--component NAME=chart:REF`), and operators from theirs. Uses
//! the Helm on PATH, with the user's repositories and logins.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::docker::output;
use conformance_programs::{ProgramError, home};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::descriptions::installation;
use crate::InstallError;

pub use super::package::Package;

/// Includes the pull of the chart's images.
const TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// An OCI reference, a chart of a repository, an archive or a folder.
    pub reference: String,
    pub repository: Option<String>,
    /// By default the newest one, or the one in the folder.
    pub version: Option<String>,
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reference)?;
        if let Some(version) = &self.version {
            write!(f, "@{version}")?;
        }
        match &self.repository {
            Some(repository) => write!(f, " of {repository}"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected CHART, CHART@VERSION or @VERSION")]
pub struct NoChart;

#[derive(Debug, Clone)]
pub struct Release {
    pub scheduler: Scheduler,
    pub package: &'static Package,
    pub chart: Chart,
}

impl Release {
    /// `None` for kube-scheduler.
    pub fn pinned(scheduler: Scheduler) -> Option<Self> {
        let package = installation(scheduler).package?;
        let chart = Chart {
            reference: package.chart.to_owned(),
            repository: package.repository.map(str::to_owned),
            version: Some(package.version.to_owned()),
        };
        Some(Self { scheduler, package, chart })
    }

    /// `CHART`, `CHART@VERSION`, or `@VERSION` for another version of the current chart.
    pub fn with_chart(self, words: &str) -> Result<Self, NoChart> {
        let (reference, version) = match words.rsplit_once('@') {
            // The text after `@` is a digest, or the rest of a folder's name.
            Some((_, tail)) if tail.contains([':', '/']) => (words, None),
            Some((reference, version)) => (reference, Some(version)),
            None => (words, None),
        };
        let chart = match (reference, version) {
            (_, Some("")) | ("", None) => return Err(NoChart),
            ("", Some(version)) => Chart { version: Some(version.to_owned()), ..self.chart },
            (reference, version) => Chart {
                reference: reference.to_owned(),
                repository: None,
                version: version.map(str::to_owned),
            },
        };
        Ok(Self { chart, ..self })
    }

    fn release(&self) -> ReleaseOf<'_> {
        ReleaseOf { name: self.package.release, namespace: self.package.namespace, chart: &self.chart }
    }

    pub fn args(&self, kubeconfig: &Path, values: &Path) -> Vec<String> {
        self.release().args(kubeconfig, values)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct ReleaseOf<'a> {
    pub name: &'a str,
    pub namespace: &'a str,
    pub chart: &'a Chart,
}

impl ReleaseOf<'_> {
    fn args(&self, kubeconfig: &Path, values: &Path) -> Vec<String> {
        let mut args: Vec<String> =
            ["upgrade", "--install", self.name, &self.chart.reference].map(str::to_owned).into();
        let mut option = |name: &str, value: &str| args.extend([name.to_owned(), value.to_owned()]);
        if let Some(repository) = &self.chart.repository {
            option("--repo", repository);
        }
        if let Some(version) = &self.chart.version {
            option("--version", version);
        }
        option("--namespace", self.namespace);
        option("--kubeconfig", &kubeconfig.display().to_string());
        option("--values", &values.display().to_string());
        option("--timeout", &format!("{}s", TIMEOUT.as_secs()));
        args.extend(["--create-namespace", "--wait"].map(str::to_owned));
        args
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub scheduler: Scheduler,
    pub release: String,
    pub chart: String,
    pub version: String,
    /// SHA-256 of the objects of the chart, hexadecimal.
    pub sha256: String,
}

#[derive(Debug, Deserialize)]
struct Listed {
    chart: String,
    #[serde(default)]
    app_version: String,
}

#[derive(Debug, Clone)]
pub struct Helm {
    program: &'static str,
    first: Vec<String>,
}

impl Helm {
    pub fn on_path() -> Self {
        Self { program: "helm", first: Vec::new() }
    }

    /// Such as `v3.19.0+g3d8990f`.
    pub async fn version(&self) -> Result<String, InstallError> {
        match self.run(["version", "--short"]).await {
            Ok(version) => Ok(version.trim().to_owned()),
            Err(error) => Err(InstallError::Helm { reason: error.to_string() }),
        }
    }

    /// Waits until the objects are ready. `folder` keeps the values file.
    pub async fn install(
        &self,
        release: &Release,
        kubeconfig: &Path,
        folder: &Path,
    ) -> Result<Installed, ProgramError> {
        let values = (release.package.values)();
        self.install_chart(release.release(), &values, kubeconfig, folder).await?;
        self.installed(release, kubeconfig).await
    }

    pub async fn install_chart(
        &self,
        release: ReleaseOf<'_>,
        values: &Value,
        kubeconfig: &Path,
        folder: &Path,
    ) -> Result<(), ProgramError> {
        let file = folder.join(format!("{}.json", release.name));
        home::write(&file, format!("{values:#}\n"))?;
        let args = release.args(kubeconfig, &file);
        self.run(args.iter().map(String::as_str)).await.map(drop)
    }

    async fn installed(&self, release: &Release, kubeconfig: &Path) -> Result<Installed, ProgramError> {
        let (name, kubeconfig) = (release.package.release, kubeconfig.display().to_string());
        let options = ["--namespace", release.package.namespace, "--kubeconfig", &kubeconfig];
        let filter = format!("^{name}$");
        let list = ["list", "--filter", &filter, "--output", "json"];
        let output = self.run(list.into_iter().chain(options)).await?;
        let listed: Option<Listed> =
            serde_json::from_str(&output).ok().and_then(|all: Vec<Listed>| all.into_iter().next());
        let Some(listed) = listed else {
            let reason = format!("release {name} is not in the output: {}", output.trim());
            return Err(ProgramError::Command { command: "helm list --output json".into(), reason });
        };
        let manifest = self.run(["get", "manifest", name].into_iter().chain(options)).await?;
        let chart = &release.chart;
        let version = match &chart.version {
            _ if !listed.app_version.is_empty() => listed.app_version,
            Some(version) => version.clone(),
            None => "unknown".into(),
        };
        Ok(Installed {
            scheduler: release.scheduler,
            release: name.to_owned(),
            chart: format!("{} ({})", listed.chart, chart.repository.as_ref().unwrap_or(&chart.reference)),
            version,
            sha256: Sha256::digest(manifest).iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    async fn run<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Result<String, ProgramError> {
        let mut command = Command::new(self.program);
        command.args(&self.first).args(words);
        // The environment must not select another cluster than --kubeconfig.
        for variable in ["HELM_KUBECONTEXT", "HELM_KUBEAPISERVER", "HELM_KUBETOKEN"] {
            command.env_remove(variable);
        }
        output(command).await
    }
}

#[cfg(test)]
#[path = "helm_tests.rs"]
mod tests;
