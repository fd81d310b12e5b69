//! One certificate authority per cluster, and one identity per component, which has a token and a certificate.
//!
//! A token costs the API server nothing to look up; a client's certificate it verifies with every request, which was a
//! twentieth of its processor time. What needs a certificate is the connection to a fault proxy.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use sha2::{Digest, Sha256};

use crate::components::hex;
use crate::{ClusterError, home};

/// Who a token or a client certificate speaks for: of a certificate the common name is the user, the organisation the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity<'a> {
    /// Name of the kubeconfig.
    pub file: &'a str,
    /// User.
    pub user: &'a str,
    /// Group.
    pub group: Option<&'a str>,
}

/// The user of a kubeconfig that asks the API server itself.
pub(super) const TOKEN: &str = "token";
/// The user of a kubeconfig that asks a fault proxy.
pub(super) const CERTIFICATE: &str = "certificate";

/// The harness: cluster administrator.
pub(super) const ADMIN: Identity<'static> =
    Identity { file: "admin", user: "grove-conformance", group: Some("system:masters") };
/// kube-controller-manager; its controllers act as service accounts of their own.
pub(super) const CONTROLLER_MANAGER: Identity<'static> =
    Identity { file: "kube-controller-manager", user: "system:kube-controller-manager", group: None };
/// KWOK plays every kubelet.
pub(super) const KWOK: Identity<'static> =
    Identity { file: "kwok", user: "kwok", group: Some("system:masters") };
/// The reference backend controller speaks for the service account that its RBAC binds.
pub(super) const CONTROLLER: Identity<'static> = Identity {
    file: "grove-backend-controller",
    user: "system:serviceaccount:grove-system:grove-backend-controller",
    group: Some("system:serviceaccounts"),
};

/// A cluster's certificate authority and the files it has written.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A certificate and its key, as files.
#[derive(Debug, Clone)]
pub(super) struct KeyFiles {
    /// PEM certificate.
    pub certificate: PathBuf,
    /// PEM key, PKCS #8.
    pub key: PathBuf,
}

/// The key pair of service account tokens, as files.
#[derive(Debug, Clone)]
pub(super) struct ServiceAccountKeys {
    /// PEM key, PKCS #8.
    pub private: PathBuf,
    /// PEM public key.
    pub public: PathBuf,
}

fn wrong(error: impl std::fmt::Display) -> ClusterError {
    ClusterError::Certificates(error.to_string())
}

impl Authority {
    /// Makes a CA whose files go to `folder`.
    ///
    /// # Errors
    /// [`ClusterError::Certificates`], [`ClusterError::File`].
    pub(super) fn new(folder: &Path) -> Result<Self, ClusterError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "grove-conformance");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().map_err(wrong)?).map_err(wrong)?;
        home::write(&folder.join("ca.crt"), issuer.pem())?;
        Ok(Self { issuer, folder: folder.into() })
    }

    /// The CA's certificate, PEM.
    pub(super) fn bundle(&self) -> String {
        self.issuer.pem()
    }

    /// The CA's certificate, as a file.
    pub(super) fn bundle_file(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// A serving certificate for loopback and the given names.
    ///
    /// # Errors
    /// [`ClusterError::Certificates`], [`ClusterError::File`].
    pub(super) fn serving(&self, name: &str, names: &[&str]) -> Result<KeyFiles, ClusterError> {
        let names: Vec<String> =
            names.iter().chain(&["127.0.0.1", "localhost"]).map(|n| (*n).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(wrong)?;
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

    /// A key pair for service account tokens, as `service-account.key` (signs) and `service-account.pub` (verifies).
    ///
    /// # Errors
    /// [`ClusterError::Certificates`], [`ClusterError::File`].
    pub(super) fn service_account_keys(&self) -> Result<ServiceAccountKeys, ClusterError> {
        let keys = ServiceAccountKeys {
            private: self.folder.join("service-account.key"),
            public: self.folder.join("service-account.pub"),
        };
        let pair = KeyPair::generate().map_err(wrong)?;
        home::write(&keys.private, pair.serialize_pem())?;
        home::write(&keys.public, pair.public_key_pem())?;
        Ok(keys)
    }

    /// The tokens of every identity that has a kubeconfig, as kube-apiserver reads them.
    pub(super) fn tokens(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    /// A kubeconfig with a token for `identity`, against `server`, and with a client certificate beside it ([`CERTIFICATE`]).
    ///
    /// # Errors
    /// [`ClusterError::Certificates`], [`ClusterError::File`].
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
        // JSON is YAML.
        home::write(&path, config.to_string())?;
        Ok(path)
    }

    /// A token of its own, made of its key, which the API server knows when it is started after this.
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
        let key = KeyPair::generate().map_err(wrong)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(wrong)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}
