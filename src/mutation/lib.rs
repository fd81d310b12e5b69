//! Mutations by machine: small changes of the reference operator that nobody chose. They measure the suite
//! without the bias of mutants that were written together with their cases.
//!
//! - [`population`] finds every mutation in the operator's source, and [`sample`] draws some of them;
//! - `rewrite` turns a file into one that contains all of its mutations, each behind a switch;
//! - [`compile`] builds a copy of the operator from such files. `GROVE_MUTATION` is the number of the
//!   mutation to turn on. The program appends each executed one to the file in `GROVE_MUTATION_SITES`;
//! - [`baseline`] is what each case executes without a mutation. [`trial`] tries one mutation, [`session`]
//!   many. [`score`] counts the results. `order` chooses the cases of a mutation. The caller provides the
//!   control planes.
//! - [`page`] publishes the results of several samples.

pub mod baseline;
pub mod compile;
mod error;
mod find;
pub mod mutation;
mod order;
pub mod page;
pub mod population;
mod rewrite;
pub mod sample;
pub mod score;
pub mod session;
mod sources;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod trial;
mod workspace;

pub use error::MutationError;

pub const VARIABLE: &str = "GROVE_MUTATION";
pub const SITES_VARIABLE: &str = "GROVE_MUTATION_SITES";
/// Mutations that change nothing that a clause promises, each with the reason ([`score::equivalents`]).
pub const EQUIVALENT: &str = include_str!("equivalent.txt");

pub fn workspace() -> &'static std::path::Path {
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
