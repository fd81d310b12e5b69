use std::path::Path;

use conformance_programs::docker::Engine;
use conformance_programs::{docker, home};

use crate::ClusterError;

/// Disk space for the containers and volumes of a cluster: about 800 MB on each of thirteen nodes.
const DISK_MIB: u64 = 12 * 1024;
/// For thirteen nodes. With the default of 128 instances, some kubelets and container runtimes never start.
const INOTIFY: [(&str, u64); 2] = [("max_user_instances", 768), ("max_user_watches", 49_152)];

/// Commands that prepare a Debian host. They need root.
pub const PREPARE_DEBIAN: &str = "apt-get update && apt-get install -y docker.io debootstrap && \
                                  sysctl -w fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=65536";

pub async fn check() -> Result<Engine, ClusterError> {
    let engine = docker::engine().await?;
    // Check the space only if the folder exists here, because the engine may run on another machine.
    if Path::new(&engine.root).is_dir() {
        home::require_space(Path::new(&engine.root), DISK_MIB, "for a kind cluster", "data-root of Docker")?;
    }
    for (name, needed) in INOTIFY {
        let path = format!("/proc/sys/fs/inotify/{name}");
        let found: u64 =
            std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(needed);
        if found < needed {
            return Err(ClusterError::Host {
                what: "inotify",
                found: format!("fs.inotify.{name} is {found}"),
                advice: format!("`sysctl fs.inotify.{name}={}`", needed),
            });
        }
    }
    Ok(engine)
}

/// Checks that an image is a kind node image, and that a privileged container of it starts.
pub async fn check_node_image(image: &str) -> Result<(), ClusterError> {
    let words =
        ["run", "--rm", "--privileged", "--network", "none", "--entrypoint", "cat", image, "/kind/version"];
    match docker::docker(words).await {
        Ok(_) => Ok(()),
        Err(error) => {
            let reason = error.to_string();
            let is_node = !reason.contains("No such file") && !reason.contains("executable file not found");
            Err(ClusterError::Host {
                what: "node image",
                found: if is_node {
                    format!("cannot start a privileged container of {image}: {reason}")
                } else {
                    format!("{image} is not a kind node image: /kind/version is missing")
                },
                advice: if is_node {
                    "kind nodes are privileged containers; allow them in the engine and its environment"
                        .into()
                } else {
                    "set another cluster.nodeImage, or none".into()
                },
            })
        }
    }
}
