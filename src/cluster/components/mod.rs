//! The programs a cluster is made of, built from pinned Go modules.
//!
//! `components/<module>/go.mod` at the top of the repository pins every version; the files are embedded here, so
//! an installed binary needs no checkout. [`crate::catalogue`] lists the programs, [`toolbox`] hands out their paths
//! (building what is missing), [`build`] runs Go, and [`modules`] asks before whether Go can get what it needs. A program built once is kept in the cache folder under a hash of
//! everything that went into it: it is rebuilt when that changes and never otherwise. Where no version of a module can be
//! downloaded that a build needs, an [`Amendment`] adds files to one that can. What else a module has (CRDs) is
//! read from its [`source`].

mod amendment;
mod build;
mod component;
mod modules;
mod toolbox;

pub use amendment::Amendment;
pub(crate) use build::{Build, COMPILER_FLAGS, Target, hex};
pub use build::{BuiltBy, Toolchain, source};
pub(crate) use component::module;
pub use component::{Component, Module, Purpose};
pub(crate) use modules::{PROXY_ANSWER, folder_of_go, to_download};
pub use toolbox::{Overrides, PlannedBuild, Program, Progress, Source, Toolbox, digest, must_be_of};
pub(crate) use toolbox::{built_once, cached};
