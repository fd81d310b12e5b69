//! One certificate authority per cluster, and one identity per component with a token and a certificate.
//!
//! Direct connections use tokens, because the API server verifies a client certificate with every request,
//! which took 5 % of its processor time. Only connections through a fault proxy use certificates.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use conformance_programs::components::hex;
use conformance_programs::home;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use sha2::{Digest, Sha256};

use crate::ClusterError;

/// A user and group of the API server; in a certificate, the common name and the organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity<'a> {
    pub file: &'a str,
    pub user: &'a str,
    pub group: Option<&'a str>,
}

/// The kubeconfig user for direct connections to the API server.
pub(super) const TOKEN: &str = "token";
/// The kubeconfig user for connections through a fault proxy.
pub(super) const CERTIFICATE: &str = "certificate";

pub(super) const ADMIN: Identity<'static> =
    Identity { file: "admin", user: "grove-conformance", group: Some("system:masters") };
/// The identity of the process. Each of its controllers uses a service account instead.
pub(super) const CONTROLLER_MANAGER: Identity<'static> =
    Identity { file: "kube-controller-manager", user: "system:kube-controller-manager", group: None };
/// KWOK acts as the kubelet of every node.
pub(super) const KWOK: Identity<'static> =
    Identity { file: "kwok", user: "kwok", group: Some("system:masters") };
/// The service account that the RBAC of the reference operator names.
pub(super) const CONTROLLER: Identity<'static> = Identity {
    file: "grove-backend-controller",
    user: "system:serviceaccount:grove-system:grove-backend-controller",
    group: Some("system:serviceaccounts"),
};

pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
pub(super) struct KeyFiles {
    /// PEM.
    pub certificate: PathBuf,
    /// PEM, PKCS #8.
    pub key: PathBuf,
}

#[derive(Debug, Clone)]
pub(super) struct ServiceAccountKeys {
    /// PEM, PKCS #8.
    pub private: PathBuf,
    /// PEM.
    pub public: PathBuf,
}

fn failed(error: impl std::fmt::Display) -> ClusterError {
    ClusterError::Certificates(error.to_string())
}

impl Authority {
    pub(super) fn new(folder: &Path) -> Result<Self, ClusterError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "grove-conformance");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().map_err(failed)?).map_err(failed)?;
        home::write(&folder.join("ca.crt"), issuer.pem())?;
        Ok(Self { issuer, folder: folder.into() })
    }

    pub(super) fn bundle(&self) -> String {
        self.issuer.pem()
    }

    pub(super) fn bundle_file(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// Creates a serving certificate for loopback and the given names.
    pub(super) fn serving(&self, name: &str, names: &[&str]) -> Result<KeyFiles, ClusterError> {
        let names: Vec<String> =
            names.iter().chain(&["127.0.0.1", "localhost"]).map(|n| (*n).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let (certificate, key) = self.sign(params)?;
        let files = KeyFiles {
            certificate: self.folder.join(format!("{name}.crt")),
            key: self.folder.join(format!("{name}.key")),
        };
        home::write(&files.certificate, certificate)?;
        home::write(&files.key, key)?;
        Ok(files)
    }

    /// Creates the keys of service account tokens: `service-account.key` signs, and `.pub` verifies.
    pub(super) fn service_account_keys(&self) -> Result<ServiceAccountKeys, ClusterError> {
        let keys = ServiceAccountKeys {
            private: self.folder.join("service-account.key"),
            public: self.folder.join("service-account.pub"),
        };
        let pair = KeyPair::generate().map_err(failed)?;
        home::write(&keys.private, pair.serialize_pem())?;
        home::write(&keys.public, pair.public_key_pem())?;
        Ok(keys)
    }

    /// Returns the path of the file with the tokens of all kubeconfigs, in the format of kube-apiserver.
    pub(super) fn tokens(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    /// Writes a kubeconfig. Its user [`TOKEN`] has a token, and [`CERTIFICATE`] a client certificate.
    pub(super) fn kubeconfig(&self, identity: Identity<'_>, server: &str) -> Result<PathBuf, ClusterError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, identity.user);
        if let Some(group) = identity.group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.sign(params)?;
        let token = self.token(identity, &key)?;
        let base64 = |text: String| k8s_openapi::ByteString(text.into_bytes());
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "cluster",
            "clusters": [{"name": "cluster", "cluster": {
                "server": server, "certificate-authority-data": base64(self.bundle())}}],
            "users": [
                {"name": TOKEN, "user": {"token": token}},
                {"name": CERTIFICATE, "user": {
                    "client-certificate-data": base64(certificate), "client-key-data": base64(key)}},
            ],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": TOKEN}}],
        });
        let path = self.folder.join(format!("{}.kubeconfig", identity.file));
        // JSON is valid YAML.
        home::write(&path, config.to_string())?;
        Ok(path)
    }

    /// Adds a token for an identity to [`Authority::tokens`], which the API server reads when it starts.
    fn token(&self, Identity { user, group, .. }: Identity<'_>, key: &str) -> Result<String, ClusterError> {
        let token = hex(&Sha256::digest(key));
        let path = self.tokens();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| writeln!(file, "{token},\"{user}\",,\"{}\"", group.unwrap_or_default()))
            .map_err(ClusterError::file(&path))?;
        Ok(token)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<(String, String), ClusterError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}
