//! A page's style and script, and its Content-Security-Policy, which allows only these two by their digests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub(crate) const STYLE: &str = include_str!("assets/page.css");
pub(crate) const SCRIPT: &str = include_str!("assets/page.js");
pub(crate) const NO_SCRIPT: &str = "";

pub(crate) fn policy(script: &str) -> String {
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let script = if script.is_empty() { "'none'".to_owned() } else { digest(script) };
    format!(
        "default-src 'none'; style-src {}; script-src {script}; base-uri 'none'; form-action 'none'",
        digest(STYLE)
    )
}
