//! What a run found, written down.
//!
//! The runner hands over [`CaseResult`]s: which case judged which clause, with what [`Outcome`] and on what
//! [`Violation`]s. Everything else follows from them by pure functions, so that no number is ever written by
//! hand: [`ProfileReport::conclude`] gives one [`ClauseResult`] per clause of the contract, [`summarize`] the
//! counts, [`exit_code`] the process's exit status, and [`verify()`] says whether a document still agrees
//! with itself. [`write_all`] stores the [`Report`] as YAML and JSON, and JUnit XML and Markdown with it.
//!
//! - `model` and `seconds`: the versioned document; `verdict`: outcomes, and how several become one;
//!   `conclude`: from cases to clauses; `summary`: their counts; `exit`: the exit code table; `verify`: the
//!   check for edits by hand.
//! - `left_out`: what a run was asked to leave out, shards included; `merge`: one document of several; `declared`:
//!   the clause that follows from others.
//! - `matrix`, `reasons`, `overview`: what the texts share; `markdown`, `terminal`, `junit`: renderings.
//! - `schema`: the published JSON Schema; `store`: the files.
//!
//! The module knows no judge, no cluster and no backend: of the suite it reads the clause table only.

mod conclude;
mod declared;
mod exit;
#[cfg(test)]
mod fixture;
mod junit;
mod left_out;
mod markdown;
mod matrix;
mod merge;
mod model;
mod overview;
mod reasons;
mod schema;
mod seconds;
mod store;
mod summary;
mod terminal;
mod verify;

pub use conformance_contract::verdict::{Outcome, Verdict};
pub use conformance_contract::violation::{Proof, Violation};
pub use exit::{Exit, exit_code};
pub use junit::junit;
pub use left_out::{NoShard, Shard, not_selected};
pub use markdown::markdown;
pub use merge::{MergeError, Pair, Source, merge};
pub use model::{
    API_VERSION, CaseResult, ClauseResult, Component, ComponentSource, Features, Implementation,
    ImplementationFile, Judgement, KIND, ProfileReport, Provider, Report, Settings, Suite, Timings,
    UnsupportedFeature,
};
pub use schema::schema;
pub use seconds::Seconds;
pub use store::{StoreError, read, write_all};
pub use summary::{Counts, Summary, summarize};
pub use terminal::terminal;
pub use verify::{Discrepancy, HandEdited, verify};
