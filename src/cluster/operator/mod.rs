//! Any operator, from its source or as a program: what `--operator` names.
//!
//! A [`Description`] is data: how the program is built, started, configured and known to be ready, and what it needs of
//! the API. [`open`] reads one and looks at the checkout that it is about, without running anything; [`Opened::build`]
//! builds its program into the component cache. What comes of it, an [`Operator`], takes the reference controller's
//! place in a [local cluster](crate::local): the same part, stopped and started by the same cases.
//!
//! - [`word`]: what may be written behind `--operator`, and the descriptions that this program brings;
//! - [`description`]: the file's fields; [`template`]: its placeholders;
//! - [`configuration`], [`objects`], [`roles`], [`process`], [`webhooks`]: what becomes of it in one cluster;
//! - [`chart`]: the same in a cluster of containers;
//! - [`declaration`]: which features it declares on which backend.

mod chart;
mod configuration;
mod declaration;
mod description;
mod error;
mod objects;
mod open;
mod process;
mod roles;
mod template;
mod webhooks;
mod word;

#[cfg(test)]
mod tests;

pub use chart::{InitProgram, OperatorChart, OperatorImages};
pub use declaration::{Declaration, Declared};
pub use description::{Description, Metrics, Readiness};
pub use error::OperatorError;
pub use open::{Opened, Operator, open};
pub use process::OperatorHome;
pub use roles::{RoleBlock, RoleFile};
