use std::path::{Path, PathBuf};

use conformance_contract::clauses::Workload;
use conformance_driver::case::Case;
use conformance_driver::test_cluster::DEFAULT_SEED;
use conformance_fuzz::{self as fuzz, GeneratedWorkload};
use conformance_load::Size;
use conformance_run::feasibility::Knowledge;
use conformance_run::near_limit::{self, Judged};
use conformance_run::workload;

use super::{NodesSource, WorkloadNodes};
use crate::options::ProviderName;
use crate::{Failure, manifest_file, node_shapes, output};

#[derive(Debug, Clone)]
pub(crate) enum Cases {
    Suite(Workload),
    Load(LoadCase),
    Generated(GeneratedCases),
    /// Cases that compare the feasibility check with a scheduler.
    NearLimit(Vec<&'static Case>),
    OwnWorkload {
        file: PathBuf,
        nodes: NodesSource,
        case: &'static Case,
    },
    /// Questions without a verdict, about gangs of plain pods.
    Observations,
}

#[derive(Debug, Clone)]
pub(crate) struct LoadCase {
    pub nodes: String,
    pub pods: u32,
    pub update: bool,
    pub preempt: bool,
    pub case: &'static Case,
}

#[derive(Debug, Clone)]
pub(crate) struct GeneratedCases {
    /// `None` if the workloads are generated from the seed.
    pub file: Option<PathBuf>,
    pub cases: Vec<&'static Case>,
}

/// Maximum length of a file's name in a case id, because object names contain the id.
const MAX_NAME: usize = 24;
/// The gang scope of pairs near the limit: a PodGang is one unit with one topology constraint.
pub(super) const SCOPE_OF_PAIRS: &str = "PodGang";
const MAX_NODES: u32 = 10_000;

/// Reads the user's own workload. Rejects one that does not fit, and prints what only a scheduler can decide.
pub(super) fn own_workload(
    file: &Path,
    WorkloadNodes { source, nodes }: WorkloadNodes,
    provider: ProviderName,
) -> Result<Cases, Failure> {
    if provider != ProviderName::Local && !matches!(source, NodesSource::Shapes(_)) {
        return Err(Failure::Usage(
            "nodes of a file or of a cluster are simulated on a local control plane: pass --provider local, or \
             --nodes NODESxGPUS"
                .into(),
        ));
    }
    let text = manifest_file::read(file)
        .map_err(|error| Failure::Usage(format!("workload {}: {error}", file.display())))?;
    let knowledge = match provider {
        ProviderName::Local => Knowledge::Complete,
        ProviderName::Kind | ProviderName::Existing => Knowledge::OfHarness,
    };
    let accepted = workload::case(&text, nodes, knowledge);
    let accepted = accepted.map_err(|reason| Failure::of_workload(file, reason))?;
    if !accepted.undecided.is_empty() {
        output::say(&format!(
            "workload {}: only a scheduler can decide whether the pods fit, so pods that stay pending prove \
             nothing:\n  {}",
            file.display(),
            accepted.undecided.join("\n  ")
        ));
    }
    Ok(Cases::OwnWorkload { file: file.to_owned(), nodes: source, case: accepted.case })
}

/// Reads a generated workload, or generates `count` workloads with seeds from `seed` on.
pub(super) fn generated(file: Option<&Path>, count: u64, seed: Option<u64>) -> Result<Cases, Failure> {
    let Some(file) = file else {
        let first = seed.unwrap_or(DEFAULT_SEED);
        let seeds = (0..count).map(|number| first.wrapping_add(number));
        let cases = seeds.filter_map(|seed| fuzz::case(&format!("{}/{seed}", fuzz::GROUP))).collect();
        return Ok(Cases::Generated(GeneratedCases { file: None, cases }));
    };
    let usage = |reason: String| Failure::Usage(format!("fuzz {}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| usage(error.to_string()))?;
    let workload = GeneratedWorkload::read(&text).map_err(|error| usage(error.to_string()))?;
    let cases = vec![workload.case(&name(file))];
    Ok(Cases::Generated(GeneratedCases { file: Some(file.to_owned()), cases }))
}

pub(super) fn pairs(ids: &[String], count: u32, seed: Option<u64>) -> Result<Vec<Judged>, Failure> {
    let seed = seed.unwrap_or(DEFAULT_SEED);
    let seed = u32::try_from(seed)
        .map_err(|_| Failure::Usage(format!("--seed {seed}: expected at most {}", u32::MAX)))?;
    let parsed = |id: &String| {
        near_limit::parsed(id).ok_or_else(|| {
            Failure::Usage(format!(
                "{id} is not the id of a pair: expected {}/SEED-NUMBER",
                near_limit::GROUP
            ))
        })
    };
    let chosen: Vec<(u32, u32)> = match ids {
        [] => (0..count).map(|number| (seed, number)).collect(),
        ids => ids.iter().map(parsed).collect::<Result<_, _>>()?,
    };
    let judged = |(seed, number): (u32, u32)| {
        Judged::of(seed, number).map_err(|error| {
            Failure::Infrastructure(format!("{}/{seed}-{number}: {error}", near_limit::GROUP))
        })
    };
    chosen.into_iter().map(judged).collect()
}

fn name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let kept = stem.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    let name: String = kept.take(MAX_NAME).collect();
    name.trim_matches('-').to_owned()
}

pub(super) fn load(nodes: &str, pods: u32, update: bool, preempt: bool) -> Result<Cases, Failure> {
    let (count, gpus) = node_shapes::parse_one(nodes, MAX_NODES)?;
    let size = Size::new(count, gpus, pods).map_err(|reason| {
        Failure::Usage(format!("--nodes {nodes} --pods {pods}: {reason}: pass fewer pods, or more nodes"))
    })?;
    let mut size = size.updating(update);
    if preempt {
        size = size.preempting().map_err(|reason| {
            Failure::Usage(format!(
                "--nodes {nodes} --pods {pods} --preempt: {reason}: pass as many pods as the nodes have GPUs, a \
                 multiple of 8"
            ))
        })?;
    }
    let case = size.case();
    Ok(Cases::Load(LoadCase { nodes: nodes.to_owned(), pods, update, preempt, case }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("reports/generated-volcano-17.yaml", "generated-volcano-17")]
    #[case("A very long name, with words in it.yaml", "a-very-long-name--with-w")]
    fn a_case_is_named_after_its_file(#[case] file: &str, #[case] wanted: &str) {
        assert_eq!(name(Path::new(file)), wanted);
    }
}
