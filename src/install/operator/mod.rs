//! Any operator, from its source or as a program: the value of `--operator`.
//!
//! A [`Description`] is data: how the program is built, started, configured and checked for readiness, and
//! which API objects it needs. [`open`] reads a description and checks its checkout, without running
//! anything. [`Opened::build`] builds the program into the component cache. The resulting [`Operator`]
//! replaces the reference controller in a local cluster: it is the same part, and the same
//! cases stop and start it.
//!
//! - [`word`]: the values of `--operator`, and the built-in descriptions
//! - [`description`]: the file's fields; [`template`]: its placeholders
//! - [`configuration`], [`objects`], [`roles`], [`process`]: the operator in one local cluster
//! - [`chart`]: the operator in a kind cluster
//! - [`declaration`]: which features it declares on which backend

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
