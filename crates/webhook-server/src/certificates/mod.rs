//! The webhooks' certificate, made and renewed by the program itself.
//!
//! All replicas serve the certificate of one Secret, and each of them sees to it that the Secret has a good one
//! and that the webhook configurations carry its authority. There is no leader for that: a replica that loses
//! a race reads again.
//!
//! Two rules make a change-over that refuses nobody. A replica serves a certificate only after the webhook
//! configurations carry its authority; and they carry the authority before it as well, for replicas that have
//! not followed yet. A third rule keeps a slow replica from taking an authority back: it reads a configuration
//! before it reads the Secret, and changes the configuration only if nobody else has since.
//!
//! - `content`: what the Secret holds, and whether it is any good
//! - `configurations`: the authority in the webhook configurations
//! - `keeper`: the loop, and the Secret
//! - `options`: whether there is all that, or files; a part of a program's command line

mod configurations;
mod content;
mod keeper;
mod options;

pub use keeper::Keeper;
pub use options::CertificateOptions;

/// Where the certificate and its authority are kept, by name.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The Secret, in the namespace of the webhooks' Service.
    pub secret: &'static str,
    /// The MutatingWebhookConfigurations that carry the authority.
    pub mutating: &'static [&'static str],
    /// The ValidatingWebhookConfigurations that do.
    pub validating: &'static [&'static str],
}

/// Why the certificate could not be seen to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// A request failed.
    #[error("cannot {verb} {name}: {source}")]
    Api {
        /// What was tried, such as `patch`.
        verb: &'static str,
        /// The object.
        name: &'static str,
        /// The answer.
        source: kube::Error,
    },
    /// Other replicas were faster again and again.
    #[error("the Secret changes faster than it can be read")]
    Contended,
    /// No certificate could be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// A certificate was made, but it would not do.
    #[error("a new certificate would be no good: {0}")]
    Useless(String),
    /// The certificate could not be served.
    #[error("cannot serve the certificate: {0}")]
    Serve(std::io::Error),
    /// Webhook configurations are missing.
    #[error("not installed: {0}")]
    NotInstalled(String),
}

impl CertificateError {
    /// A failed request as an error, for `map_err`.
    fn api(verb: &'static str, name: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Api { verb, name, source }
    }

    /// Whether another replica was faster: no warning is due.
    fn is_lost_race(&self) -> bool {
        match self {
            Self::Api { source: kube::Error::Api(status), .. } => status.is_conflict(),
            Self::Contended => true,
            _ => false,
        }
    }
}
