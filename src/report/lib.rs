//! What a run found, written down.
//!
//! The runner passes [`CaseResult`]s: which case judged which clause, with what [`Outcome`] and which
//! [`Violation`]s. Everything else follows from them by pure functions, so that no number is ever written by hand:
//! [`TargetReport::conclude`] gives one [`ClauseResult`] per clause of the contract, [`summarize`] the counts,
//! [`exit_code`] the process's exit status, and [`verify()`] checks whether a document is consistent with itself.
//! [`write_all`] stores the [`Report`] as YAML and JSON, together with JUnit XML and Markdown.
//!
//! - `model` and `seconds`: the versioned document; `verdict`: outcomes, and how several become one;
//!   `conclude`: from cases to clauses; `summary`: their counts; `exit`: the exit code table; `verify`: the
//!   check for edits by hand.
//! - `left_out`: what a run was asked to leave out, shards included; `merge`: one document of several; `declared`:
//!   the clause that follows from others; `features`: what became of what was declared; `evidence`: the file that is
//!   published beside a release.
//! - [`matrix`], [`reasons`], [`overview`]: what the texts share, the page in `conformance-page` included; `markdown`,
//!   `terminal`, `junit`: renderings; `side_by_side`: several runs in one text.
//! - `ai_conformance`: the form of the AI conformance programme;
//! - `annotations`: what GitHub Actions shows beside a workflow; `compare`: what changed between two reports; `table`:
//!   features of many.
//! - `lost`: shards of a run that left no report; `archive`: a report's folder as one file.
//! - `schema`: the published JSON Schema; `store`: the files; `v1alpha1`: reading the format before this one; `results`: what is
//!   written while a run goes on.
//!
//! The crate knows no judge, no cluster and no backend: of the suite it reads only the contract.

#![warn(missing_docs)]

mod accept;
mod ai_conformance;
mod annotations;
mod archive;
mod compare;
mod compare_markdown;
mod conclude;
mod declared;
mod evidence;
mod exit;
mod features;
#[cfg(test)]
mod fixture;
mod headline;
mod junit;
mod left_out;
mod lost;
mod markdown;
pub mod matrix;
mod merge;
mod model;
pub mod overview;
mod peak_memory;
mod processor_seconds;
pub mod reasons;
mod results;
mod schema;
mod seconds;
mod side_by_side;
mod store;
mod summary;
mod table;
mod terminal;
pub mod testing;
mod v1alpha1;
mod verify;

pub use accept::{AcceptedDeviation, AcceptedDeviations};
pub use ai_conformance::write_ai_conformance;
pub use annotations::annotations;
pub use archive::{LeftOut, Packed, pack, unpack};
pub use compare::{
    ChangedClause, ChangedDuration, ChangedFact, ChangedFeature, Comparison, Turn, Which, compare,
};
pub use conformance_contract::verdict::{Outcome, Verdict};
pub use conformance_contract::violation::{Proof, Violation};
pub use evidence::{EVIDENCE, Evidence, EvidenceError, read_evidence, write_evidence};
pub use exit::{Exit, exit_code};
pub use features::{FeatureEvidence, Probed, Standing};
pub use headline::{Headline, TargetResult};
pub use junit::{junit, junit_of_failure};
pub use left_out::{NoShard, Shard, interrupted, not_selected};
pub use lost::Lost;
pub use markdown::markdown;
pub use merge::{MergeError, MergeInput, Pair, merge};
pub use model::{
    API_VERSION, CaseResult, ClauseResult, Component, ComponentSource, ExceptedWrites, Features,
    Implementation, ImplementationFile, Judgement, KIND, Provider, Report, Settings, Suite, TargetReport,
    Timings, UnsupportedFeature,
};
pub use peak_memory::PeakMemory;
pub use processor_seconds::ProcessorSeconds;
pub use results::{RESULTS, ResultsFile, recover};
pub use schema::{evidence_schema, schema};
pub use seconds::Seconds;
pub use side_by_side::side_by_side;
pub use store::{StoreError, read, write_all, write_text};
pub use summary::{Counts, Summary, summarize};
pub use table::{Cell, Column, Source, Table, table};
pub use terminal::terminal;
pub use verify::{Discrepancy, HandEdited, verify};
