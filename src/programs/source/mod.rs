//! Programs from the user's source: a working tree of an operator or a scheduler, built with the user's Go
//! once per content.
//!
//! - [`checkout`]: version, commit and content of a folder
//! - [`release`]: the common part of a recipe, and the differences between releases
//! - [`build`]: runs Go on the tree and keeps the programs in the component cache
//! - [`placeholders`]: fills `{version}` and others in texts

mod build;
mod checkout;
mod error;
mod placeholders;
mod release;

pub use build::{Buildable, GoBuild, Module, Tree, linker_flags};
pub use checkout::{Revision, UNKNOWN, VersionFrom, revision};
pub use error::SourceError;
pub use placeholders::{UnknownPlaceholder, Values, fill};
pub use release::{DocumentError, NoRelease, When, document, for_release, top};
