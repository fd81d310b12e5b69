//! A reverse proxy between one program and the API server, which injects faults into what goes through it.
//!
//! Nothing of clusters is in it: it is given addresses, certificates and [`Rule`]s, and neither knows nor cares who the
//! program is. One proxy serves one identity, with whose client certificate it asks the API server, so that audit logs
//! and admission still show who wrote. Whoever connects has to show a certificate of the same authority.
//!
//! - `target`: what a request is about, as Kubernetes' own `RequestInfo` has it;
//! - `rule`, `patch`: rules as data: what they match, when they fire, what they do;
//! - `rules`: the rules of a running proxy: who fires, who waits, what was counted; `log`: what was done, as JSON lines;
//! - `status`: refusals as the API server words them;
//! - `watching`: open watches, event by event;
//! - `forward`: one request from end to end; `upstream`: the API server's side, `server`: the program's.
//!
//! HTTP/1.1 and HTTP/2 on both sides. What no rule is about passes byte for byte, in whatever encoding. A rule that looks
//! into objects ([`Action::looks_into_objects`]) makes the proxy ask for JSON in the client's stead. Upgrades (`exec`,
//! `port-forward`) are refused with 501: no controller and no scheduler makes them.

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

pub use error::ProxyError;
pub use log::Fault;
pub use patch::{Change, Edit, Patch};
pub use rule::{Action, Applied, Match, Rule, When};
pub use rules::{Counted, ProxyHandle, RuleId};
pub use server::{Credentials, Proxy, ProxyConfig};
pub use target::Verb;
