//! The program creates and renews the webhooks' certificate itself. All replicas serve the certificate of one
//! Secret, and each one maintains it. No leader is needed: a replica that loses a race reads the Secret
//! again. Three rules prevent refused calls during a renewal:
//! - A replica serves a certificate only after the webhook configurations contain its authority.
//! - The configurations also contain the previous authority, for replicas that serve the old certificate.
//! - A replica reads a configuration before the Secret, and patches the configuration only if it has not
//!   changed since. So a slow replica cannot remove a newer authority.

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
    #[error("other replicas changed the Secret before each write of this replica")]
    Contended,
    #[error("cannot create a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("a new certificate would be invalid: {0}")]
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

    /// A lost race needs no warning: the next check reads the other replica's write.
    fn is_lost_race(&self) -> bool {
        match self {
            Self::Api { source: kube::Error::Api(status), .. } => status.is_conflict(),
            Self::Contended => true,
            _ => false,
        }
    }
}
