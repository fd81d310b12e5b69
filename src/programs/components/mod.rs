//! The programs of a cluster, built from pinned Go modules. This program contains the `go.mod` files, so it
//! needs no checkout. The cache keeps each built program under a hash of all its inputs.
//!
//! - [`toolbox`] provides the programs and builds missing ones.
//! - [`release`] finds programs that were built for a release, which [`mod@fetch`] writes.
//! - [`toolchain`] is the user's Go. [`build`] runs it in the folder that [`go_module`] writes.
//! - [`modules`] checks before a build whether Go can get the modules.
//! - An [`Amendment`] adds files that no published version of a module has.
//! - [`module_source`] is the source of a module, from which the harness reads files such as CRDs.
//! - An [`OtherVersion`] replaces the pinned one; [`mod@published`] asks module proxies for versions.
//! - [`overrides`] replace pinned programs.

mod amendment;
mod build;
pub(crate) mod component;
mod digests;
mod fetch;
mod go_module;
mod module_source;
mod module_version;
pub(crate) mod modules;
mod other_version;
mod overrides;
mod published;
mod release;
#[cfg(test)]
mod testing;
mod toolbox;
pub(crate) mod toolchain;
mod version_go_mod;

pub use amendment::Amendment;
pub use build::BuiltBy;
pub(crate) use build::{Build, COMPILER_FLAGS, Target};
pub use component::{Component, Module, Purpose};
pub use digests::{digest, hex};
pub use fetch::{Fetched, ModuleFiles, fetch};
pub use module_source::{has_source, source};
pub use module_version::{ModuleVersion, NoVersion};
pub use other_version::OtherVersion;
pub use overrides::{Overrides, Replacement, reject_unknown_overrides, to_build_for};
pub use published::published;
pub use toolbox::{PlannedBuild, Program, Progress, Source, Toolbox};
pub(crate) use toolbox::{built_once, cached};
pub use toolchain::Toolchain;
