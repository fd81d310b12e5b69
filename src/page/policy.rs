//! What a page consists of beside its content: one style, one script, and the policy by which a browser runs these two and
//! loads nothing. So no text of a report, whoever wrote it, can become a program.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The style of every page.
pub(crate) const STYLE: &str = include_str!("assets/page.css");
/// The script of a report's page.
pub(crate) const SCRIPT: &str = include_str!("assets/page.js");
/// A page without one.
pub(crate) const NO_SCRIPT: &str = "";

/// The policy of a page with that script.
pub(crate) fn policy(script: &str) -> String {
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let script = if script.is_empty() { "'none'".to_owned() } else { digest(script) };
    format!(
        "default-src 'none'; style-src {}; script-src {script}; base-uri 'none'; form-action 'none'",
        digest(STYLE)
    )
}
