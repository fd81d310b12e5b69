//! An authority signs one certificate, and its key is discarded. So a reader of the Secret can impersonate
//! the webhooks, but cannot issue more certificates. Lifetime and names are stored only in the certificate.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, RootCertStore};
use time::OffsetDateTime;

const AUTHORITY: &str = "ca.crt";
const PREVIOUS_AUTHORITY: &str = "previous-ca.crt";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// A certificate is replaced when less than one third of its lifetime is left.
const RENEWAL_FRACTION: u32 = 3;
/// Tolerated clock skew: a certificate is valid from this long before its creation.
const SKEW: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub service: String,
    pub namespace: String,
    pub lifetime: Duration,
}

impl Subject {
    /// The DNS names in the certificate. API servers use the last one.
    fn names(&self) -> [String; 3] {
        let Self { service, namespace, .. } = self;
        [service.clone(), format!("{service}.{namespace}"), format!("{service}.{namespace}.svc")]
    }
}

/// All fields contain PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Content {
    authority: Vec<u8>,
    previous: Option<Vec<u8>>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CertificateState {
    Valid,
    DueForRenewal,
    Invalid(String),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Secret has no {0}")]
pub(super) struct MissingKey(&'static str);

impl Content {
    /// The certificate is valid from `now`. The authority of `old` is kept as the previous one.
    pub(super) fn issue(old: Option<&Self>, subject: &Subject, now: UnixTime) -> Result<Self, rcgen::Error> {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::from_secs(now.as_secs());
        let valid = |mut params: CertificateParams| {
            params.not_before = now - SKEW;
            params.not_after = now + subject.lifetime;
            params.distinguished_name.push(DnType::CommonName, subject.service.as_str());
            params
        };
        let mut authority = valid(CertificateParams::default());
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let mut params = valid(CertificateParams::new(subject.names())?);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        let previous = old.map(|old| old.authority.clone());
        Ok(Self {
            authority: authority.pem().into_bytes(),
            previous: previous.filter(|previous| authorities(previous).is_ok()),
            certificate: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
        })
    }

    pub(super) fn read(secret: &Secret) -> Result<Self, MissingKey> {
        let field = |key: &str| {
            let found = secret.data.as_ref().and_then(|data| data.get(key));
            found.map(|ByteString(bytes)| bytes.clone())
        };
        let required = |key: &'static str| field(key).ok_or(MissingKey(key));
        Ok(Self {
            authority: required(AUTHORITY)?,
            previous: field(PREVIOUS_AUTHORITY),
            certificate: required(CERTIFICATE)?,
            key: required(KEY)?,
        })
    }

    pub(super) fn data(&self) -> BTreeMap<String, ByteString> {
        let fields = [
            (AUTHORITY, Some(&self.authority)),
            (PREVIOUS_AUTHORITY, self.previous.as_ref()),
            (CERTIFICATE, Some(&self.certificate)),
            (KEY, Some(&self.key)),
        ];
        let present = fields.into_iter().filter_map(|(key, bytes)| bytes.map(|bytes| (key, bytes)));
        present.map(|(key, bytes)| (key.to_owned(), ByteString(bytes.clone()))).collect()
    }

    pub(super) fn pair(&self) -> (Vec<u8>, Vec<u8>) {
        (self.certificate.clone(), self.key.clone())
    }

    /// Contains also the previous authority, because another replica may still serve a certificate of it.
    pub(super) fn bundle(&self) -> Vec<u8> {
        let mut bundle = self.authority.clone();
        if let Some(previous) = self.previous.as_ref().filter(|previous| authorities(previous).is_ok()) {
            if !bundle.ends_with(b"\n") {
                bundle.push(b'\n');
            }
            bundle.extend_from_slice(previous);
        }
        bundle
    }

    pub(super) fn check(&self, subject: &Subject, now: UnixTime) -> CertificateState {
        let ahead = Duration::from_secs(now.as_secs()) + subject.lifetime / RENEWAL_FRACTION;
        match self.verify(subject, UnixTime::since_unix_epoch(ahead)) {
            Ok(()) => CertificateState::Valid,
            Err(rustls::Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            )) => CertificateState::DueForRenewal,
            Err(error) => CertificateState::Invalid(error.to_string()),
        }
    }

    /// Verifies the certificate as a client does.
    fn verify(&self, subject: &Subject, at: UnixTime) -> Result<(), rustls::Error> {
        let provider = Arc::new(default_provider());
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(general)?;
        let pair = CertifiedKey::from_der(certificates(&self.certificate)?, key, &provider)?;
        let (certificate, others) = pair.cert.split_first().ok_or(rustls::Error::NoCertificatesPresented)?;
        let roots = Arc::new(authorities(&self.authority)?);
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots, provider).build().map_err(general)?;
        for name in subject.names() {
            let name = ServerName::try_from(name).map_err(general)?;
            verifier.verify_server_cert(certificate, others, &name, &[], at)?;
        }
        Ok(())
    }
}

fn authorities(pem: &[u8]) -> Result<RootCertStore, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate)?;
    }
    if roots.is_empty() { Err(general("no certificate authority")) } else { Ok(roots) }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, rustls::Error> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(general)
}

fn general(error: impl Display) -> rustls::Error {
    rustls::Error::General(error.to_string())
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
