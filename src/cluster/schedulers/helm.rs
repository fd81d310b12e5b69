//! Schedulers from their Helm charts (`--install helm`), in the user's own versions. An operator's chart is installed by the
//! same [`Helm`].
//!
//! A scheduler's own file has the name of its chart, its values, and where its objects are ([`Package`]). This file
//! has what is common: which chart is used, Helm's arguments, and the parsing of what Helm reports. Helm is the
//! user's, found on PATH, with the user's repositories and logins. [`crate::kind`] runs it and waits for the
//! schedulers.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::in_cluster::Deployed;
use super::installation;
use crate::docker::output;
use crate::{ClusterError, home};

/// How long helm may take for one chart. Images come from a registry.
const TIMEOUT: Duration = Duration::from_secs(600);

/// How a scheduler's chart is installed.
#[derive(Debug)]
pub struct Package {
    /// The release's name. Objects of some charts are named after it.
    pub release: &'static str,
    /// The release's namespace, which need not be that of the pods.
    pub namespace: &'static str,
    /// The chart that is taken unless the user names another: an OCI reference, or its name in `repository`.
    pub chart: &'static str,
    /// URL of the chart's repository.
    pub repository: Option<&'static str>,
    /// The chart's version.
    pub version: &'static str,
    /// The chart's values.
    pub values: fn() -> Value,
    /// Where what the chart makes is found.
    pub deployed: Deployed,
}

/// A chart, as helm is asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// An OCI reference, a chart of a repository, an archive or a folder.
    pub reference: String,
    /// URL of the repository in which `reference` is a name.
    pub repository: Option<String>,
    /// Its version; without one the newest, or the one that is in the folder.
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

/// Words that name no chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected CHART, CHART@VERSION or @VERSION")]
pub struct NoChart;

/// A chart that is to be installed.
#[derive(Debug, Clone)]
pub struct Release {
    /// Which scheduler it brings.
    pub scheduler: Scheduler,
    /// How it is installed.
    pub package: &'static Package,
    /// The chart.
    pub chart: Chart,
}

impl Release {
    /// A scheduler's pinned chart; none of kube-scheduler.
    pub fn pinned(scheduler: Scheduler) -> Option<Self> {
        let package = installation(scheduler).package?;
        let chart = Chart {
            reference: package.chart.to_owned(),
            repository: package.repository.map(str::to_owned),
            version: Some(package.version.to_owned()),
        };
        Some(Self { scheduler, package, chart })
    }

    /// The same of the chart that the user names: `CHART`, `CHART@VERSION`, or `@VERSION`, another version of the one
    /// that it was.
    ///
    /// # Errors
    /// [`NoChart`].
    pub fn with_chart(self, words: &str) -> Result<Self, NoChart> {
        let (reference, version) = match words.rsplit_once('@') {
            // What follows is a digest, or the rest of a folder's name.
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

    /// What helm is asked for.
    fn wanted(&self) -> Wanted<'_> {
        let Package { release, namespace, .. } = *self.package;
        Wanted { release, namespace, chart: &self.chart }
    }

    /// The arguments of helm that install it.
    pub fn args(&self, kubeconfig: &Path, values: &Path) -> Vec<String> {
        self.wanted().args(kubeconfig, values)
    }
}

/// A release of a chart, whatever is in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The release's name.
    pub release: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The chart.
    pub chart: &'a Chart,
}

impl Wanted<'_> {
    fn args(&self, kubeconfig: &Path, values: &Path) -> Vec<String> {
        let mut args: Vec<String> =
            ["upgrade", "--install", self.release, &self.chart.reference].map(str::to_owned).into();
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

/// What helm has installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// The release's name.
    pub release: String,
    /// Name and version of the chart, and where it came from.
    pub chart: String,
    /// Version of what is in it, as the chart says.
    pub version: String,
    /// SHA-256 of the objects that the chart has made, hexadecimal.
    pub sha256: String,
}

/// A line of `helm list`.
#[derive(Debug, Deserialize)]
struct Listed {
    chart: String,
    #[serde(default)]
    app_version: String,
}

/// The program.
#[derive(Debug, Clone)]
pub struct Helm {
    program: &'static str,
    /// Words before all others.
    first: Vec<String>,
}

impl Helm {
    /// The one on PATH, whether it is there or not.
    pub fn on_path() -> Self {
        Self { program: "helm", first: Vec::new() }
    }

    /// Its version, such as `v3.19.0+g3d8990f`.
    ///
    /// # Errors
    /// [`ClusterError::Helm`]: it cannot be run.
    pub async fn version(&self) -> Result<String, ClusterError> {
        match self.run(["version", "--short"]).await {
            Ok(version) => Ok(version.trim().to_owned()),
            Err(error) => Err(ClusterError::Helm { reason: error.to_string() }),
        }
    }

    /// Installs a scheduler's chart into the cluster of `kubeconfig` and waits until what it makes is ready. The values
    /// are left in `folder`.
    ///
    /// # Errors
    /// [`ClusterError::Command`] with the end of what helm says; [`ClusterError::File`].
    pub async fn install(
        &self,
        release: &Release,
        kubeconfig: &Path,
        folder: &Path,
    ) -> Result<Installed, ClusterError> {
        self.put(release.wanted(), &(release.package.values)(), kubeconfig, folder).await?;
        self.installed(release, kubeconfig).await
    }

    /// The same of any chart.
    ///
    /// # Errors
    /// As [`Helm::install`].
    pub(crate) async fn put(
        &self,
        wanted: Wanted<'_>,
        values: &Value,
        kubeconfig: &Path,
        folder: &Path,
    ) -> Result<(), ClusterError> {
        let file = folder.join(format!("{}.json", wanted.release));
        home::write(&file, format!("{values:#}\n"))?;
        let args = wanted.args(kubeconfig, &file);
        self.run(args.iter().map(String::as_str)).await.map(drop)
    }

    /// What there is of a release.
    async fn installed(&self, release: &Release, kubeconfig: &Path) -> Result<Installed, ClusterError> {
        let (name, kubeconfig) = (release.package.release, kubeconfig.display().to_string());
        let place = ["--namespace", release.package.namespace, "--kubeconfig", &kubeconfig];
        let filter = format!("^{name}$");
        let list = ["list", "--filter", &filter, "--output", "json"];
        let said = self.run(list.into_iter().chain(place)).await?;
        let listed: Option<Listed> =
            serde_json::from_str(&said).ok().and_then(|all: Vec<Listed>| all.into_iter().next());
        let Some(listed) = listed else {
            let reason = format!("no release {name} in what it says: {}", said.trim());
            return Err(ClusterError::Command { command: "helm list --output json".into(), reason });
        };
        let manifest = self.run(["get", "manifest", name].into_iter().chain(place)).await?;
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

    async fn run<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Result<String, ClusterError> {
        let mut command = Command::new(self.program);
        command.args(&self.first).args(words);
        // The cluster is that of --kubeconfig, whatever the user's shell is set to.
        for variable in ["HELM_KUBECONTEXT", "HELM_KUBEAPISERVER", "HELM_KUBETOKEN"] {
            command.env_remove(variable);
        }
        output(command).await
    }
}

#[cfg(test)]
#[path = "helm_tests.rs"]
mod tests;
