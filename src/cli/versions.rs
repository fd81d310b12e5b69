//! `dev versions`: lists the pinned version of each Go module, and newer releases on a module proxy.

use conformance_contract::kubernetes::Kubernetes;
use conformance_install::catalogue::catalogue;
use conformance_programs::components::{ModuleVersion, published};
use conformance_report::Exit;

use super::Failure;
use super::list::table;
use super::output::{self, Console};

/// Maximum number of newer releases in a row.
const MOST: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pin {
    /// Folder below `components/`.
    folder: &'static str,
    module: &'static str,
    version: &'static str,
}

pub(crate) async fn versions() -> Result<Exit, Failure> {
    let console = Console::default();
    let pins = pins();
    let mut table = table(["COMPONENT", "MODULE", "PINNED", "NEWER RELEASES"]);
    let mut unknown = Vec::new();
    for pin in &pins {
        console.now(&format!("asking for versions of {}", pin.module));
        let listed = match published(pin.module).await {
            Ok(all) => described(&newer(pin, &pins, &all)),
            Err(error) => {
                unknown.push(error.to_string());
                "unknown".to_owned()
            }
        };
        table.add_row([pin.folder, pin.module, pin.version, listed.as_str()]);
    }
    console.end();
    output::data(&table.to_string());
    if unknown.is_empty() {
        return Ok(Exit::Conformant);
    }
    Err(Failure::Infrastructure(unknown.join("\n")))
}

fn pins() -> Vec<Pin> {
    let mut pins = Vec::new();
    for component in Kubernetes::ALL.into_iter().flat_map(catalogue) {
        let (folder, module) = (component.module.name, component.module_path());
        let pin = Pin { folder, module, version: component.version };
        if !pins.contains(&pin) {
            pins.push(pin);
        }
    }
    pins
}

/// Returns newer releases, newest first. If a newer version is pinned too, only those of the pinned minor.
fn newer(pin: &Pin, pins: &[Pin], published: &[ModuleVersion]) -> Vec<String> {
    let Ok(pinned) = pin.version.parse::<ModuleVersion>() else { return Vec::new() };
    let is_newer = |other: &Pin| {
        other.module == pin.module
            && other.version.parse::<ModuleVersion>().is_ok_and(|other| other.is_newer_than(&pinned))
    };
    let has_newer_pin = pins.iter().any(is_newer);
    let mut found = Vec::new();
    for version in published {
        let is_in_row = !has_newer_pin || version.minor() == pinned.minor();
        if version.is_release() && version.is_newer_than(&pinned) && is_in_row {
            found.push(version.to_string());
        }
    }
    found.reverse();
    found
}

fn described(newer: &[String]) -> String {
    match newer.len().saturating_sub(MOST) {
        _ if newer.is_empty() => "none".to_owned(),
        0 => newer.join(", "),
        more => format!("{}, and {more} more", newer[..MOST].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(versions: &[&str]) -> Vec<ModuleVersion> {
        versions.iter().map(|version| version.parse().unwrap()).collect()
    }

    #[test]
    fn every_pinned_module_has_a_row() {
        let pins = pins();
        for (folder, module) in [
            ("etcd", "go.etcd.io/etcd/server/v3"),
            ("kubernetes-1.36", "k8s.io/kubernetes"),
            ("kubernetes-1.37", "k8s.io/kubernetes"),
            ("volcano", "volcano.sh/volcano"),
            ("cni", "github.com/containernetworking/plugins"),
            ("containerd", "github.com/containerd/containerd/v2"),
            ("kubeflow-trainer", "sigs.k8s.io/jobset"),
        ] {
            let rows = pins.iter().filter(|pin| (pin.folder, pin.module) == (folder, module)).count();
            assert_eq!(rows, 1, "{folder} {module}: {pins:?}");
        }
    }

    #[test]
    fn a_pin_has_the_newer_releases_of_its_row() {
        let pin = |folder, version| Pin { folder, module: "k8s.io/kubernetes", version };
        let pins = [pin("kubernetes-1.36", "v1.36.5"), pin("kubernetes-1.37", "v1.37.2")];
        let published =
            all(&["v1.35.9", "v1.36.5", "v1.36.6", "v1.37.2", "v1.37.10", "v1.38.0-alpha.1", "v1.38.0"]);
        assert_eq!(newer(&pins[0], &pins, &published), ["v1.36.6"]);
        assert_eq!(newer(&pins[1], &pins, &published), ["v1.38.0", "v1.37.10"]);
    }

    #[test]
    fn a_long_row_is_cut() {
        assert_eq!(described(&[]), "none");
        let versions: Vec<_> = (0..8).map(|patch| format!("v1.0.{patch}")).collect();
        assert_eq!(described(&versions[..2]), "v1.0.0, v1.0.1");
        assert_eq!(described(&versions), "v1.0.0, v1.0.1, v1.0.2, v1.0.3, v1.0.4, v1.0.5, and 2 more");
    }
}
