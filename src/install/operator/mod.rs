//! Operators that the user selects with `--operator`, from their source or as programs.
//!
//! [`open()`] reads a [`Description`] without running anything. [`Opened::build`] builds the program. The
//! resulting [`Operator`] replaces the reference operator.
//!
//! - [`word`]: the values of `--operator`, and the built-in descriptions
//! - [`description`]: the fields of the file; [`chart`], [`roles`], [`template`]: parts of it
//! - [`configuration`], [`objects`], [`process`]: the operator in one local cluster
//! - [`chart_values`]: the operator in a kind cluster
//! - [`declaration`]: the features that it declares on each backend

mod chart;
mod chart_values;
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
mod description_tests;
#[cfg(test)]
mod tests;

pub use chart::{InitProgram, OperatorChart};
pub use chart_values::OperatorImages;
pub use declaration::{Declaration, Declared, TakenOver};
pub use description::{Description, Metrics, Readiness};
pub use error::OperatorError;
pub use open::{Opened, Operator, open};
pub use process::OperatorHome;
pub use roles::{RoleBlock, RoleFile};
