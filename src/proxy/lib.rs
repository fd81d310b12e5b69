//! A reverse proxy between one program and the API server, which injects faults into its traffic.
//!
//! The proxy knows only addresses, certificates and [`Rule`]s. It uses the client certificate of its only
//! program, so audit logs and admission see the same user as without a proxy. Clients must present a
//! certificate of the same authority.
//!
//! - `target`: the subject of a request, as in Kubernetes' own `RequestInfo`.
//! - `rule`, `patch`: rules as data: what they match, when they fire, and what they do.
//! - `rules`: a proxy's rules. `attempts`: how often each write was tried. `log`: the injected faults.
//! - `forward`: one request. `watching`: open watches. `status`: error responses like the API server's.
//! - `server`: connections from the program. `upstream`: connections to the API server.
//!
//! Both sides speak HTTP/1.1 and HTTP/2. Traffic that no rule matches passes unchanged, byte for byte, in any
//! encoding. For a rule that looks into objects ([`Action::looks_into_objects`]), the proxy requests JSON.
//! Upgrades (`exec`, `port-forward`) are refused with 501, because no controller or scheduler uses them.

#![warn(missing_docs)]

mod attempts;
mod body;
mod error;
mod forward;
mod log;
mod patch;
mod rule;
mod rules;
mod server;
mod status;
mod target;
mod upstream;
mod watching;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod watch_tests;

pub use error::ProxyError;
pub use log::Fault;
pub use patch::{Change, Edit, Patch};
pub use rule::{Action, Applied, Match, Rule, When};
pub use rules::{Counted, ProxyHandle, RuleId};
pub use server::{Credentials, Proxy, ProxyConfig};
pub use target::Verb;
