//! The webhooks' certificate, created and renewed by the program itself.
//!
//! All replicas serve the certificate of one Secret, and each one maintains it. No leader is needed: a
//! replica that loses a race reads again. Three rules prevent refused calls during a renewal:
//! - A replica serves a certificate only after the webhook configurations contain its authority.
//! - The configurations also contain the previous authority, for replicas that still serve the old
//!   certificate.
//! - A replica reads a configuration before the Secret, and patches it only if it has not changed since. So a
//!   slow replica cannot remove a newer authority.

mod configurations;
mod content;
mod keeper;
mod options;

pub use keeper::Keeper;
pub use options::CertificateOptions;

#[derive(Clone, Copy, Debug)]
pub struct CertificateObjects {
    /// In the namespace of the webhooks' Service.
    pub secret: &'static str,
    pub mutating: &'static [&'static str],
    pub validating: &'static [&'static str],
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    #[error("cannot {verb} {name}: {source}")]
    Api { verb: &'static str, name: &'static str, source: kube::Error },
    /// Other replicas changed the Secret before each attempt.
    #[error("the Secret changes faster than it can be read")]
    Contended,
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("a new certificate would be no good: {0}")]
    Useless(String),
    #[error("cannot serve the certificate: {0}")]
    Serve(std::io::Error),
    #[error("not installed: {0}")]
    NotInstalled(String),
}

impl CertificateError {
    fn api(verb: &'static str, name: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Api { verb, name, source }
    }

    /// This deserves no warning.
    fn is_lost_race(&self) -> bool {
        match self {
            Self::Api { source: kube::Error::Api(status), .. } => status.is_conflict(),
            Self::Contended => true,
            _ => false,
        }
    }
}
