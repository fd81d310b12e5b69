//! Finds the kubeconfig as kubectl does: a given file, `$KUBECONFIG` (merged), or `~/.kube/config`.

use std::fmt;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::ClusterError;

const VARIABLE: &str = "KUBECONFIG";
const DEFAULT_FILE: &str = ".kube/config";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubeconfigSource {
    /// `None` selects `$KUBECONFIG`, or `~/.kube/config`.
    pub file: Option<PathBuf>,
    /// `None` selects the current context.
    pub context: Option<String>,
}

impl KubeconfigSource {
    pub fn of_file(file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), context: None }
    }

    /// Whether the user has a kubeconfig. A given file need not exist, but the default file must.
    pub fn is_given(&self) -> bool {
        let default_file = || std::env::home_dir().is_some_and(|home| home.join(DEFAULT_FILE).is_file());
        self.file.is_some() || variable().is_some() || default_file()
    }

    /// Reads the configuration without a request to the API server.
    pub async fn config(&self) -> Result<Config, ClusterError> {
        let unusable =
            |source| ClusterError::Kubeconfig { kubeconfig: self.to_string(), source: Box::new(source) };
        let read = match &self.file {
            Some(file) => Kubeconfig::read_from(file),
            None => Kubeconfig::read(),
        };
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let mut config =
            Config::from_custom_kubeconfig(read.map_err(unusable)?, &options).await.map_err(unusable)?;
        // No read timeout, because watches stay open for minutes. Callers set timeouts for other requests.
        config.read_timeout = None;
        Ok(config)
    }

    /// Returns the options with which this program and kubectl find the same kubeconfig, each after a space.
    pub fn options(&self) -> String {
        let file = self.file.as_deref().map(Path::display);
        let file = file.map(|file| format!(" --kubeconfig {file}")).unwrap_or_default();
        let context = self.context.as_deref().map(|context| format!(" --context {context}"));
        file + &context.unwrap_or_default()
    }
}

fn variable() -> Option<String> {
    let files = std::env::var_os(VARIABLE)?.to_string_lossy().into_owned();
    (!files.is_empty()).then_some(files)
}

impl fmt::Display for KubeconfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options();
        match (&self.file, variable()) {
            (Some(_), _) => f.write_str(options.trim_start()),
            (None, Some(files)) => write!(f, "{VARIABLE}={files}{options}"),
            (None, None) => write!(f, "~/{DEFAULT_FILE}{options}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(context: Option<&str>) -> (tempfile::TempDir, KubeconfigSource) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: one\n\
                    clusters: [{name: one, cluster: {server: 'http://127.0.0.1:1'}}, \
                    {name: two, cluster: {server: 'http://127.0.0.1:2'}}]\n\
                    contexts: [{name: one, context: {cluster: one, user: u}}, \
                    {name: two, context: {cluster: two, user: u}}]\nusers: [{name: u, user: {}}]\n";
        std::fs::write(&path, text).unwrap();
        let context = context.map(str::to_owned);
        (folder, KubeconfigSource { context, ..KubeconfigSource::of_file(path) })
    }

    #[tokio::test]
    async fn a_context_selects_the_server() {
        for (context, server) in [(None, "http://127.0.0.1:1/"), (Some("two"), "http://127.0.0.1:2/")] {
            let (_folder, source) = source(context);
            assert_eq!(source.config().await.unwrap().cluster_url.to_string(), server);
        }
    }

    #[tokio::test]
    async fn an_unknown_context_is_reported_with_its_kubeconfig() {
        let (_folder, source) = source(Some("three"));
        let error = source.config().await.err().unwrap().to_string();
        assert!(error.starts_with(&source.to_string()) && error.contains("three"), "{error}");
    }

    #[test]
    fn the_options_find_the_same_kubeconfig() {
        let dev = Some("dev".to_owned());
        let named = KubeconfigSource { context: dev.clone(), ..KubeconfigSource::of_file("admin.conf") };
        assert_eq!(named.options(), " --kubeconfig admin.conf --context dev");
        assert_eq!(named.to_string(), "--kubeconfig admin.conf --context dev");
        assert_eq!(KubeconfigSource { file: None, context: dev }.options(), " --context dev");
        assert_eq!(KubeconfigSource::default().options(), "");
    }
}
