//! The programs of a cluster, built from pinned Go modules.
//!
//! `components/<module>/go.mod` pins every version. The files are embedded here, so an installed binary needs
//! no checkout. The cache folder keeps each program under a hash of all its inputs.
//!
//! - [`toolbox`] provides the programs and builds missing ones.
//! - [`release`] finds programs that were built for a release. [`mod@fetch`] writes them.
//! - [`toolchain`] is the user's Go. [`build`] runs it, in the folder that [`go_module`] writes.
//! - [`modules`] checks before a build whether Go can get its modules.
//! - An [`Amendment`] adds files to a module if no downloadable version has what a build needs.
//! - [`module_source`] is the source of a module, from which other files such as CRDs are read.

mod amendment;
mod build;
pub(crate) mod component;
mod digests;
mod fetch;
mod go_module;
mod module_source;
pub(crate) mod modules;
mod release;
mod toolbox;
pub(crate) mod toolchain;

pub use amendment::Amendment;
pub use build::BuiltBy;
pub(crate) use build::{Build, COMPILER_FLAGS, Target};
pub use component::{Component, Module, Purpose};
pub use digests::{digest, hex};
pub use fetch::{Fetched, ModuleFiles, fetch};
pub use module_source::{has_source, source};
pub use toolbox::{Overrides, PlannedBuild, Program, Progress, Source, Toolbox, reject_unknown_overrides};
pub(crate) use toolbox::{built_once, cached};
pub use toolchain::Toolchain;
