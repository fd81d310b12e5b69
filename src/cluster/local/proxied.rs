//! Fault proxies between parts and the API server, one per part. A restart of the part keeps the rules.

use std::collections::btree_map::Entry;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::part::Part;
use conformance_programs::ports::{self, Port};
use conformance_programs::{ProgramError, home};
use conformance_proxy::{Credentials, Proxy, ProxyConfig, ProxyHandle};
use k8s_openapi::ByteString;
use serde_json::Value;

use super::LocalCluster;
use super::certs::{CERTIFICATE, TOKEN};
use crate::ClusterError;

impl LocalCluster {
    /// Returns a part's proxy. A part in [`ClusterSpec::proxied`] uses its proxy from its next start on.
    pub fn proxy(&self, part: Part) -> Result<ProxyHandle, ClusterError> {
        let missing = || ProgramError::NoProgram {
            program: format!("a fault proxy of {}, which does not use the API server", part.program()),
            reason: "cannot start",
        };
        let kubeconfig = self.layout.kubeconfig(part).ok_or_else(missing)?;
        self.with_proxy(part, kubeconfig, |proxy| proxy.handle())
    }

    fn with_proxy<T>(
        &self,
        part: Part,
        kubeconfig: &Path,
        read: impl FnOnce(&Proxy) -> T,
    ) -> Result<T, ClusterError> {
        let mut proxies = self.proxies.0.lock();
        let (proxy, _) = match proxies.entry(part) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.start_proxy(part, kubeconfig)?),
        };
        Ok(read(proxy))
    }

    pub(super) fn fault_log(&self, part: Part) -> PathBuf {
        self.logs().join(format!("{}.faults.jsonl", part.program()))
    }

    pub(super) fn route(&self, part: Part, spec: &ClusterSpec) -> Result<(), ClusterError> {
        let Some(kubeconfig) = self.layout.kubeconfig(part) else { return Ok(()) };
        if spec.proxied.contains(&part) {
            let url = self.with_proxy(part, kubeconfig, Proxy::url)?;
            return set_server(kubeconfig, &url, CERTIFICATE);
        }
        self.proxies.0.lock().remove(&part);
        set_server(kubeconfig, &self.layout.server(), TOKEN)
    }

    fn start_proxy(&self, part: Part, kubeconfig: &Path) -> Result<(Proxy, Port), ClusterError> {
        let read = |path: &Path| std::fs::read_to_string(path).map_err(ClusterError::file(path));
        let serving = &self.layout.serving;
        let port = ports::reserve()?;
        let log = self.fault_log(part);
        if let Some(folder) = log.parent() {
            home::create_folder(folder)?;
        }
        let config = ProxyConfig {
            name: part.program().into(),
            port: port.number,
            serving: Credentials { certificate: read(&serving.certificate)?, key: read(&serving.key)? },
            identity: identity(&configuration(kubeconfig)?)?,
            ca: self.layout.ca_bundle.clone(),
            server: self.layout.server(),
            log: Some(log),
        };
        let proxy = Proxy::start(&config)?;
        for rule in self.spec().rules.remove(&part).into_iter().flatten() {
            proxy.handle().add(rule)?;
        }
        Ok((proxy, port))
    }
}

fn configuration(kubeconfig: &Path) -> Result<Value, ClusterError> {
    let text = std::fs::read_to_string(kubeconfig).map_err(ClusterError::file(kubeconfig))?;
    serde_json::from_str(&text).map_err(unusable)
}

fn unusable(error: impl Display) -> ClusterError {
    ClusterError::Certificates(format!("a kubeconfig of the cluster: {error}"))
}

fn identity(configuration: &Value) -> Result<Credentials, ClusterError> {
    let mut users = configuration["users"].as_array().into_iter().flatten();
    let user = users.find(|user| user["name"] == CERTIFICATE).map_or(&Value::Null, |user| &user["user"]);
    let pem = |name: &str| {
        let bytes: ByteString = serde_json::from_value(user[name].clone()).map_err(unusable)?;
        String::from_utf8(bytes.0).map_err(unusable)
    };
    Ok(Credentials { certificate: pem("client-certificate-data")?, key: pem("client-key-data")? })
}

/// Replaces the server in a kubeconfig. Writes nothing if the kubeconfig already has this server.
fn set_server(kubeconfig: &Path, server: &str, user: &str) -> Result<(), ClusterError> {
    let mut configuration = configuration(kubeconfig)?;
    let current = &mut configuration["clusters"][0]["cluster"]["server"];
    if current == server {
        return Ok(());
    }
    *current = server.into();
    configuration["contexts"][0]["context"]["user"] = user.into();
    Ok(home::write(kubeconfig, configuration.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::certs::{Authority, CONTROLLER};

    #[test]
    fn the_server_of_a_kubeconfig_is_replaced_and_restored() {
        let folder = tempfile::tempdir().expect("folder");
        let authority = Authority::new(folder.path()).expect("an authority");
        let path = authority.kubeconfig(CONTROLLER, "https://127.0.0.1:1").expect("a kubeconfig");
        let before = std::fs::read_to_string(&path).expect("a file");
        let identity_in = |configuration: &Value| identity(configuration).expect("an identity");
        let direct = identity_in(&configuration(&path).expect("JSON"));
        set_server(&path, "https://127.0.0.1:2", CERTIFICATE).expect("written");
        let proxied = configuration(&path).expect("JSON");
        assert_eq!(proxied["clusters"][0]["cluster"]["server"], "https://127.0.0.1:2");
        assert_eq!(proxied["contexts"][0]["context"]["user"], CERTIFICATE);
        assert!(
            direct.certificate.starts_with("-----BEGIN CERTIFICATE") && direct.key.contains("PRIVATE KEY")
        );
        assert_eq!(identity_in(&proxied).key, direct.key, "the identity is the same");
        set_server(&path, "https://127.0.0.1:1", TOKEN).expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), before);
    }
}
