//! The report: what a run found, and its renderings.
//!
//! A run passes one [`CaseResult`] per case, with the [`Outcome`] and the [`Violation`]s of each clause. Pure
//! functions derive the rest: [`TargetReport::conclude`] one [`ClauseResult`] per clause, [`summarize`] the
//! counts, and [`exit_code`] the exit status. [`verify()`] checks that a document follows from its cases.
//! [`write_all`] stores the [`Report`] as YAML, JSON, JUnit XML and Markdown.
//!
//! - Document: `model`, `seconds`, `processor_seconds`, `peak_memory`; its JSON Schema (`schema`); reading
//!   and writing (`store`); the previous version (`v1alpha1`); what is written during a run (`results`).
//! - Derivation: `conclude`, `declared`, `features`, `precondition`, `summary`, `headline`, `exit`, `verify`,
//!   `evidence`.
//! - Several runs: `left_out` and `lost` (shards), `merge`, `compare`, `table`, `accept`, `archive`.
//!   `compact` builds the reports of `results/`, and `published` their tables, with the rows of `areas`.
//! - Renderings: [`matrix`], [`reasons`] and [`overview`] prepare the data, also for `conformance-page`.
//!   `markdown`, `terminal`, `junit`, `annotations` (GitHub Actions) and `ai_conformance` render it.

#![warn(missing_docs)]

mod accept;
mod ai_conformance;
mod ai_requirements;
mod annotations;
mod archive;
mod areas;
mod change_kind;
mod compact;
mod compare;
mod compare_figures;
mod compare_markdown;
mod conclude;
mod critical_path;
mod declared;
mod evidence;
mod exit;
mod features;
#[cfg(test)]
mod fixture;
mod headline;
mod junit;
mod left_out;
mod links;
mod lost;
mod markdown;
pub mod matrix;
mod merge;
mod model;
pub mod overview;
mod peak_memory;
mod precondition;
mod processor_seconds;
mod published;
pub mod reasons;
mod results;
mod schema;
mod seconds;
mod store;
mod summary;
mod table;
mod terminal;
pub mod testing;
mod v1alpha1;
mod verify;

pub use accept::{AcceptedDeviation, AcceptedDeviations};
pub use ai_conformance::{write_ai_conformance, write_operator_conformance};
pub use annotations::annotations;
pub use archive::{LeftOut, Packed, pack, unpack};
pub use change_kind::ChangeKind;
pub use compact::{
    COMPACT, CompactError, CompactReport, CompactRun, CompactTarget, Stated, read_compact, write_compact,
};
pub use compare::{ChangedClause, ChangedDuration, ChangedFact, ChangedFeature, Comparison, compare};
pub use compare_figures::ChangedFigure;
pub use conformance_contract::verdict::{Outcome, Verdict};
pub use conformance_contract::violation::{Proof, Violation};
pub use critical_path::{CriticalPath, CriticalStep};
pub use evidence::{EVIDENCE, Evidence, EvidenceError, read_evidence, write_evidence};
pub use exit::{Exit, exit_code};
pub use features::{FeatureEvidence, Probed, Standing};
pub use headline::{Headline, TargetResult};
pub use junit::junit;
pub use left_out::{InvalidShard, Shard, after_first_failure, interrupted, not_selected, skipped};
pub use links::published;
pub use lost::LostShard;
pub use markdown::markdown;
pub use merge::{FilePair, MergeError, MergeInput, merge};
pub use model::{
    API_VERSION, CaseResult, ClauseResult, Component, ComponentSource, ExceptedWrites, Features,
    Implementation, ImplementationFile, Judgement, KIND, Provider, Report, Settings, Suite, TargetReport,
    Timings, UnsupportedFeature,
};
pub use peak_memory::PeakMemory;
pub use precondition::precondition_failed;
pub use processor_seconds::ProcessorSeconds;
pub use published::{Published, read_published, results_page, with_results};
pub use results::{RESULTS, ResultsFile, recover};
pub use schema::{compact_schema, evidence_schema, schema};
pub use seconds::Seconds;
pub use store::{StoreError, read, write_all, write_text};
pub use summary::{Counts, Summary, summarize};
pub use table::{Cell, Column, Source, Table, table};
pub use terminal::{brief_terminal, terminal};
pub use verify::{Discrepancy, HandEdited, verify};
