//! The nodes of a user's own workload: shapes, a file, or those of a cluster.

use std::path::{Path, PathBuf};

use conformance_cluster::access::Access;
use conformance_cluster::copied_nodes;
use conformance_cluster::kubeconfig::KubeconfigSource;
use conformance_driver::case::Nodes;
use conformance_run::node_templates::Templates;
use conformance_run::workload;

use crate::args::NodesArgs;
use crate::manifest_file::{self, ManifestFileError};
use crate::{Failure, node_shapes, output, provider};

#[derive(Debug, Clone)]
pub(crate) struct WorkloadNodes {
    pub source: NodesSource,
    pub nodes: Vec<Nodes>,
}

#[derive(Debug, Clone)]
pub(crate) enum NodesSource {
    Shapes(String),
    File(PathBuf),
    Cluster {
        /// The templates as the text of a file, without data that only this cluster needs.
        copy: String,
    },
}

impl NodesSource {
    /// The file in the report's folder that contains the copy of a cluster's nodes.
    pub(crate) const COPY: &'static str = "nodes.yaml";
}

impl WorkloadNodes {
    /// Reads the nodes. Sends only read requests to a cluster.
    pub(crate) async fn of(args: &NodesArgs) -> Result<Self, Failure> {
        if let Some(file) = &args.nodes_from {
            let context = args.nodes_from_context.clone();
            return Self::of_cluster(KubeconfigSource { context, ..KubeconfigSource::of_file(file) }).await;
        }
        Self::of_word(args.nodes.as_deref().unwrap_or_default())
    }

    fn of_word(word: &str) -> Result<Self, Failure> {
        let file = Path::new(word);
        let not_shapes = match node_shapes::parse(word) {
            Ok(shapes) => {
                let nodes = workload::in_racks(&shapes);
                return Ok(Self { source: NodesSource::Shapes(word.to_owned()), nodes });
            }
            Err(failure) => failure,
        };
        let looks_like_shapes =
            word.starts_with(|first: char| first.is_ascii_digit()) && !word.contains(['.', '/']);
        if looks_like_shapes && !file.is_file() {
            return Err(not_shapes);
        }
        let usage = |reason: &dyn std::fmt::Display| Failure::Usage(format!("--nodes {word}: {reason}"));
        let advice = "pass NODESxGPUS, or a file of Nodes";
        let text = manifest_file::read(file).map_err(|error| match error {
            ManifestFileError::Unreadable(error) => usage(&format!("{error}: {advice}")),
            other => usage(&other),
        })?;
        let templates = Templates::read(&text, word).map_err(|error| usage(&error))?;
        Ok(Self { source: NodesSource::File(file.to_owned()), nodes: templates.nodes() })
    }

    async fn of_cluster(kubeconfig: KubeconfigSource) -> Result<Self, Failure> {
        let usage = |reason: &dyn std::fmt::Display| Failure::Usage(format!("--nodes-from: {reason}"));
        provider::readable(&kubeconfig).await.map_err(|failure| match failure {
            Failure::Usage(reason) => usage(&reason),
            other => other,
        })?;
        let source = kubeconfig.to_string();
        let objects = copied_nodes::read(&Access::Kubeconfig(kubeconfig)).await?;
        let read = Templates::of_cluster(objects, &source);
        let advice =
            "save the nodes with `kubectl get nodes -o yaml`, edit them, and pass the file as --nodes FILE";
        let (templates, left_out) = read.map_err(|error| usage(&format!("{source}: {error}; {advice}")))?;
        if left_out > 0 {
            output::say(&format!(
                "--nodes-from: {left_out} ResourceSlices are not copied, because their devices belong to no \
                 single node"
            ));
        }
        let comment = format!("Nodes like those of the cluster of {source}.");
        let copy = templates.write(&comment).map_err(|error| Failure::Infrastructure(error.to_string()))?;
        Ok(Self { source: NodesSource::Cluster { copy }, nodes: templates.nodes() })
    }
}
