//! The node image for kind: published, or built from `images/node/Dockerfile` and named by its inputs' hash.

use std::path::{Path, PathBuf};
use std::time::Duration;

use conformance_contract::kubernetes::Kubernetes;
use conformance_install::catalogue::components_of_node_image;
use conformance_programs::components::{Overrides, Progress, Toolbox};
use conformance_programs::own_program::PAUSE;
use conformance_programs::{docker, home, images};
use sha2::{Digest, Sha256};
use tokio::process::Command;

use crate::ClusterError;

/// How long a registry may take to answer before the image is built.
const ANSWER: Duration = Duration::from_secs(15);
/// How long a pull may take before the image is built.
const PULL: Duration = Duration::from_secs(300);
/// Packages in addition to Debian's minimal system.
const PACKAGES: &str = "systemd,iproute2,iptables,kmod,mount,ethtool,conntrack,socat,ebtables,jq,procps,\
                        ca-certificates,libseccomp2,util-linux,crun";
/// Debian release with systemd 252, the last version that boots on hosts with cgroup v1.
const SUITE: &str = "bookworm";
const EXCLUDED: [&str; 6] = [
    "./dev",
    "./var/cache/apt",
    "./var/lib/apt/lists",
    "./usr/share/doc",
    "./usr/share/man",
    "./usr/share/locale",
];

const NODE: &str = include_str!("../../../images/node/Dockerfile");
const KUBE_PROXY: &str = include_str!("../../../images/node/kube-proxy.Dockerfile");
const FILES: [(&str, u32, &str); 9] = [
    (
        "etc/containerd/config.toml",
        0o644,
        include_str!("../../../images/node/files/etc/containerd/config.toml"),
    ),
    ("etc/crictl.yaml", 0o644, include_str!("../../../images/node/files/etc/crictl.yaml")),
    (
        "etc/systemd/system/containerd.service",
        0o644,
        include_str!("../../../images/node/files/etc/systemd/system/containerd.service"),
    ),
    (
        "etc/systemd/system/kubelet.service",
        0o644,
        include_str!("../../../images/node/files/etc/systemd/system/kubelet.service"),
    ),
    (
        "kind/manifests/default-cni.yaml",
        0o644,
        include_str!("../../../images/node/files/kind/manifests/default-cni.yaml"),
    ),
    (
        "kind/manifests/default-storage.yaml",
        0o644,
        include_str!("../../../images/node/files/kind/manifests/default-storage.yaml"),
    ),
    (
        "usr/local/bin/oci-runtime",
        0o755,
        include_str!("../../../images/node/files/usr/local/bin/oci-runtime"),
    ),
    ("usr/local/bin/entrypoint", 0o755, include_str!("../../../images/node/files/usr/local/bin/entrypoint")),
    (
        "usr/local/bin/pod-network",
        0o755,
        include_str!("../../../images/node/files/usr/local/bin/pod-network"),
    ),
];

const PROGRAMS: [(&str, &str); 9] = [
    ("kubelet", "usr/bin"),
    ("kubeadm", "usr/bin"),
    ("kubectl", "usr/bin"),
    ("containerd", "usr/local/bin"),
    ("containerd-shim-runc-v2", "usr/local/bin"),
    ("ctr", "usr/local/bin"),
    ("crictl", "usr/local/bin"),
    ("ptp", "opt/cni/bin"),
    ("host-local", "opt/cni/bin"),
];

/// The node image to use: the published one if the engine has it or can pull it, otherwise the built one.
pub async fn published_or_built(
    kubernetes: Kubernetes,
    overrides: &Overrides,
    progress: &dyn Progress,
) -> Result<String, ClusterError> {
    let published = kubernetes.node_image();
    if let Some(image) = published
        && is_pulled(kubernetes).await
    {
        return Ok(image.into());
    }
    // Prefer an image that this machine has already built, so that most runs need no registry.
    let recipe = Recipe::prepare(kubernetes, overrides, progress).await?;
    if docker::has_image(&recipe.reference).await {
        return Ok(recipe.reference);
    }
    if let Some(image) = published {
        let inspected = tokio::time::timeout(ANSWER, docker::docker(["manifest", "inspect", image])).await;
        if matches!(inspected, Ok(Ok(_))) {
            let pulled = tokio::time::timeout(PULL, docker::docker(["pull", "--quiet", image])).await;
            if matches!(pulled, Ok(Ok(_))) {
                return Ok(image.into());
            }
        }
        tracing::info!(image, "no registry has the node image; building one");
    }
    recipe.build().await
}

pub(super) async fn is_pulled(kubernetes: Kubernetes) -> bool {
    match kubernetes.node_image() {
        Some(image) => docker::has_image(image).await,
        None => false,
    }
}

pub async fn build(
    kubernetes: Kubernetes,
    overrides: &Overrides,
    progress: &dyn Progress,
) -> Result<String, ClusterError> {
    let recipe = Recipe::prepare(kubernetes, overrides, progress).await?;
    if docker::has_image(&recipe.reference).await { Ok(recipe.reference) } else { recipe.build().await }
}

struct Recipe {
    kubernetes: Kubernetes,
    toolbox: Toolbox,
    pause: PathBuf,
    reference: String,
}

impl Recipe {
    async fn prepare(
        kubernetes: Kubernetes,
        overrides: &Overrides,
        progress: &dyn Progress,
    ) -> Result<Self, ClusterError> {
        let toolbox =
            Toolbox::prepare_only(components_of_node_image(kubernetes), overrides, progress).await?;
        let pause = images::static_program(PAUSE, None).await?;
        let mut hash = Sha256::new();
        let version = kubernetes.version();
        for part in [NODE, KUBE_PROXY, PACKAGES, SUITE, version] {
            hash.update(part.as_bytes());
        }
        for (name, mode, content) in FILES {
            hash.update(format!("{name} {mode:o} {content}").as_bytes());
        }
        for program in toolbox.programs() {
            hash.update(program.sha256.as_bytes());
        }
        let key: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let reference = format!("grove-conformance/node:{version}-{key}");
        Ok(Self { kubernetes, toolbox, pause, reference })
    }

    async fn build(&self) -> Result<String, ClusterError> {
        let root = debian().await?;
        let folder = tempfile::tempdir_in(home::cache()).map_err(ClusterError::file(home::cache()))?;
        let context = folder.path();
        link(&root, &context.join("rootfs.tar"))?;
        let images = self.control_plane(context).await?;
        let archive = context.join("images.tar").display().to_string();
        docker::docker(["save", "--output", &archive].into_iter().chain(images.iter().map(String::as_str)))
            .await?;
        for (name, target) in PROGRAMS {
            copy(&self.toolbox.get(name)?.path, &context.join("bin").join(target).join(name))?;
        }
        home::write(&context.join("files/kind/version"), self.kubernetes.version())?;
        for (name, mode, content) in FILES {
            let path = context.join("files").join(name);
            home::write(&path, content)?;
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&path, mode).map_err(ClusterError::file(&path))?;
        }
        docker::build(&self.reference, NODE, context).await?;
        Ok(self.reference.clone())
    }

    async fn control_plane(&self, context: &Path) -> Result<Vec<String>, ClusterError> {
        let mut kubeadm = Command::new(&self.toolbox.get("kubeadm")?.path);
        kubeadm.args(["config", "images", "list", "--kubernetes-version", self.kubernetes.version()]);
        let mut references = Vec::new();
        for reference in docker::output(kubeadm).await?.lines() {
            let name =
                reference.rsplit('/').next().and_then(|tail| tail.split(':').next()).unwrap_or_default();
            match name {
                // Omit CoreDNS, because the configurations in kind-configs/ disable it.
                "coredns" => continue,
                "kube-proxy" => {
                    copy(&self.toolbox.get(name)?.path, &context.join(name))?;
                    docker::build(reference, KUBE_PROXY, context).await?;
                }
                "pause" => {
                    images::named(name, &self.pause, None, reference).await?;
                    // The pods of cases use another tag of this image.
                    let (repository, _) = reference.split_once(':').unwrap_or((reference, ""));
                    let for_workloads = format!("{repository}:3.10");
                    images::named(name, &self.pause, None, &for_workloads).await?;
                    references.push(for_workloads);
                }
                name => drop(images::named(name, &self.toolbox.get(name)?.path, None, reference).await?),
            }
            references.push(reference.to_owned());
        }
        Ok(references)
    }
}

/// Returns a tar archive of a minimal Debian with [`PACKAGES`]. It is created once.
async fn debian() -> Result<PathBuf, ClusterError> {
    let key: String = Sha256::digest(PACKAGES).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let tar = home::cache().join("debian").join(format!("{SUITE}-{key}.tar"));
    if tar.is_file() {
        return Ok(tar);
    }
    let missing = |found: String| ClusterError::Host {
        what: "node image",
        found,
        advice: "a build needs root and debootstrap (apt-get install debootstrap); or name an image in \
                 cluster.nodeImage"
            .into(),
    };
    if !rustix::process::geteuid().is_root() {
        return Err(missing("no registry has the image, and this user is not root".into()));
    }
    let folder = tempfile::tempdir_in(home::cache()).map_err(ClusterError::file(home::cache()))?;
    let root = folder.path().join("root");
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", &format!("--include={PACKAGES}"), SUITE]).arg(&root);
    docker::output(debootstrap)
        .await
        .map_err(|error| missing(format!("no registry has the image, and its build failed: {error}")))?;
    home::create_folder(tar.parent().unwrap_or(&tar))?;
    let unfinished = tar.with_extension("unfinished");
    let mut pack = Command::new("tar");
    pack.arg("--create").arg("--file").arg(&unfinished).arg("--directory").arg(&root);
    pack.args(EXCLUDED.map(|path| format!("--exclude={path}"))).arg(".");
    docker::output(pack).await?;
    std::fs::rename(&unfinished, &tar).map_err(ClusterError::file(&tar))?;
    Ok(tar)
}

fn copy(from: &Path, to: &Path) -> Result<(), ClusterError> {
    home::create_folder(to.parent().unwrap_or(to))?;
    std::fs::copy(from, to).map(drop).map_err(ClusterError::file(from))
}

fn link(from: &Path, to: &Path) -> Result<(), ClusterError> {
    std::fs::hard_link(from, to)
        .or_else(|_| std::fs::copy(from, to).map(drop))
        .map_err(ClusterError::file(to))
}
