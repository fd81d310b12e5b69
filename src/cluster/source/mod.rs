//! Programs that the user has the source of: an operator's or a scheduler's working tree, built with the user's Go, once
//! per content.
//!
//! - [`checkout`]: version, commit and content of a folder;
//! - [`release`]: what a recipe says of every release, and where releases differ;
//! - [`build`]: Go, run on the tree; the programs are kept in the component cache;
//! - [`placeholders`]: `{version}` and the like.

mod build;
mod checkout;
mod error;
mod placeholders;
mod release;

pub use build::GoBuild;
#[cfg(test)]
pub(crate) use build::tests::{folder, put};
pub(crate) use build::{Buildable, Module, Tree};
pub use checkout::VersionFrom;
pub(crate) use checkout::{UNKNOWN, revision};
pub use error::SourceError;
pub(crate) use placeholders::{Values, fill};
pub(crate) use release::{NoRelease, When, document, for_release, top};
