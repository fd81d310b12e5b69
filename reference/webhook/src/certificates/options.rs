use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum_server::tls_rustls::RustlsConfig;
use clap::Args;
use kube::Client;

use super::content::Subject;
use super::{CertificateObjects, Keeper};
use crate::serve::{ServerError, tls_of_files};

const LIFETIME_SECONDS: u64 = 90 * 24 * 3600;

/// The certificate of the webhooks: files read at start, or a Secret that the program maintains.
#[derive(Args, Clone, Debug)]
pub struct CertificateOptions {
    /// Certificate of the webhooks, PEM
    #[arg(long, required_unless_present = "managed_certificates", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, PEM
    #[arg(long, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Create and renew the certificate for this Service of the webhooks, in a Secret
    #[arg(long, value_name = "SERVICE", conflicts_with_all = ["tls_cert", "tls_key"])]
    managed_certificates: Option<String>,
    /// Lifetime of a certificate; it is replaced after two thirds
    #[arg(long, hide = true, value_name = "SECONDS", default_value_t = LIFETIME_SECONDS,
          value_parser = clap::value_parser!(u64).range(1..=40 * LIFETIME_SECONDS))]
    certificate_life: u64,
}

impl CertificateOptions {
    /// The keeper is `None` if the certificate comes from files. A crypto provider must be installed.
    pub async fn open(
        self,
        client: &Client,
        address: SocketAddr,
        namespace: &str,
        kept: CertificateObjects,
    ) -> Result<(RustlsConfig, Option<Keeper>), ServerError> {
        match (self.managed_certificates, self.tls_cert, self.tls_key) {
            (Some(service), ..) => {
                let lifetime = Duration::from_secs(self.certificate_life);
                let subject = Subject { service, namespace: namespace.to_owned(), lifetime };
                let keeper = Keeper::new(client, subject, kept);
                Ok((keeper.tls(), Some(keeper)))
            }
            (None, Some(certificate), Some(key)) => {
                Ok((tls_of_files(address, &certificate, &key).await?, None))
            }
            // The command line requires either files or a Service.
            _ => Err(ServerError::webhooks(address)(io::Error::other("there is no certificate"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        _certificates: CertificateOptions,
    }

    #[rstest::rstest]
    #[case::neither("", false)]
    #[case::files("--tls-cert=c --tls-key=k", true)]
    #[case::no_key("--tls-cert=c", false)]
    #[case::no_certificate("--tls-key=k", false)]
    #[case::managed("--managed-certificates=svc", true)]
    #[case::managed_briefly("--managed-certificates=svc --certificate-life=60", true)]
    #[case::no_life("--managed-certificates=svc --certificate-life=0", false)]
    #[case::both("--managed-certificates=svc --tls-cert=c --tls-key=k", false)]
    fn certificates_come_from_one_place(#[case] args: &str, #[case] accepted: bool) {
        let parsed = Line::try_parse_from(std::iter::once("program").chain(args.split_whitespace()));
        assert_eq!(parsed.is_ok(), accepted);
    }
}
