//! Programs from the user's working tree, which the user's Go builds once per content of the tree.
//!
//! - [`checkout`]: version, commit and content of a folder
//! - [`release`]: documents that describe every release of a program
//! - [`build`]: runs Go on the tree and keeps the programs in the component cache
//! - [`placeholders`]: replaces `{version}` and other placeholders in texts

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
