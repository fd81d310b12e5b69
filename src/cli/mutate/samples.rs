//! The folders of `dev mutate`: one build and one baseline, and a folder per sample.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use conformance_mutation::baseline::{BaselineCase, JsonLines};
use conformance_mutation::mutation::Mutation;
use conformance_mutation::trial::Trial;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::BuiltOperator;
use crate::Failure;
use crate::args::MutateRunArgs;

const SAMPLES: &str = "samples";
const SAMPLE_FILE: &str = "sample.json";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SampleFolder(pub PathBuf);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedSample {
    pub seed: String,
    /// The digest of the built operator.
    pub operator: String,
    /// The digest of the operator's sources.
    pub sources: String,
    pub mutations: Vec<String>,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Usage(format!("{}: {error}", path.display()))
}

/// Each shard and each earlier run has its own file. A case counts once, and only for these sources.
pub(super) fn recorded_baseline(folder: &Path, sources: &str) -> Result<Vec<BaselineCase>, Failure> {
    let mut cases: Vec<BaselineCase> = lines(folder, "baseline")?;
    cases.retain(|case| case.operator == sources);
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    cases.dedup_by(|one, other| one.id == other.id);
    Ok(cases)
}

/// The values of all files with this name and those of its shards.
fn lines<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    for path in entries(folder)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if file.starts_with(name) && file.ends_with(".jsonl") {
            all.extend(JsonLines(path).read::<T>()?);
        }
    }
    Ok(all)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
        paths.push(entry.map_err(failed(folder))?.path());
    }
    paths.sort();
    Ok(paths)
}

impl SampleFolder {
    pub(super) fn of(folder: &Path, args: &MutateRunArgs) -> Self {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let plain = |letter| if is_plain(letter) { letter } else { '-' };
        let seed: String = args.seed.chars().map(plain).collect();
        let name = if seed.is_empty() { args.sample.to_string() } else { format!("{seed}-{}", args.sample) };
        Self(folder.join(SAMPLES).join(name))
    }

    pub(super) fn all_in(folder: &Path) -> Result<Vec<Self>, Failure> {
        Ok(entries(&folder.join(SAMPLES))?.into_iter().map(Self).collect())
    }

    pub(super) fn root(&self) -> Result<PathBuf, Failure> {
        let path = std::path::absolute(&self.0).map_err(failed(&self.0))?;
        Ok(path.ancestors().nth(2).unwrap_or(&path).to_owned())
    }

    /// Writes the sample before anything runs. A resumed run must draw the same sample from the same
    /// operator, because results identify mutations by their numbers.
    pub(super) fn record(
        &self,
        args: &MutateRunArgs,
        operator: &BuiltOperator,
        drawn: &[Mutation],
    ) -> Result<(), Failure> {
        let sample = RecordedSample {
            seed: args.seed.clone(),
            operator: operator.built.digest(),
            sources: operator.sources.clone(),
            mutations: drawn.iter().map(|mutation| mutation.id.clone()).collect(),
        };
        self.record_once(&sample)
    }

    fn record_once(&self, sample: &RecordedSample) -> Result<(), Failure> {
        let file = self.0.join(SAMPLE_FILE);
        if !file.is_file() {
            std::fs::create_dir_all(&self.0).map_err(failed(&self.0))?;
            let text = serde_json::to_string_pretty(sample)
                .map_err(|error| Failure::Usage(format!("{SAMPLE_FILE}: {error}")))?;
            return std::fs::write(&file, text + "\n").map_err(failed(&file));
        }
        if self.recorded()? == *sample {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{}: the folder has results of another sample or another operator: remove it, or pass another \
             --output",
            self.0.display()
        )))
    }

    pub(super) fn recorded(&self) -> Result<RecordedSample, Failure> {
        let file = self.0.join(SAMPLE_FILE);
        let text = std::fs::read_to_string(&file).map_err(failed(&file))?;
        serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
    }

    /// The result of each mutation: a kill, a trivial trial, or the trial on the most cases.
    pub(super) fn trials(&self) -> Result<Vec<Trial>, Failure> {
        let mut trials: Vec<Trial> = lines(&self.0, "results")?;
        trials.sort_by_key(|trial| (trial.number, trial.verdict, Reverse(trial.cases)));
        trials.dedup_by(|one, other| one.id == other.id);
        Ok(trials)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use conformance_mutation::trial::TrialVerdict;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: MutateRunArgs,
    }

    fn args(words: &[&str]) -> MutateRunArgs {
        Line::parse_from(["run"].iter().chain(words)).args
    }

    #[test]
    fn every_sample_has_a_folder_of_its_own_next_to_the_build() {
        let root = tempfile::tempdir().unwrap();
        let folder = |words: &[&str]| SampleFolder::of(root.path(), &args(words));
        assert_eq!(folder(&[]).0, root.path().join("samples/200"));
        let one = folder(&["--seed", "../a", "--sample", "9"]);
        assert_eq!(one.0, root.path().join("samples/---a-9"));
        assert_eq!(one.root().unwrap(), root.path());
    }

    #[test]
    fn a_resumed_run_has_the_same_sample() {
        let root = tempfile::tempdir().unwrap();
        let folder = SampleFolder::of(root.path(), &args(&["--seed", "a"]));
        let sample = |seed: &str, sources: &str| RecordedSample {
            seed: seed.into(),
            operator: "1".into(),
            sources: sources.into(),
            mutations: vec!["a".into()],
        };
        assert!(folder.record_once(&sample("a", "1")).is_ok());
        assert!(folder.record_once(&sample("a", "1")).is_ok());
        for (seed, sources) in [("b", "1"), ("a", "2")] {
            let failure = folder.record_once(&sample(seed, sources)).unwrap_err().to_string();
            assert!(failure.contains("results of another sample"), "{failure}");
        }
        assert_eq!(SampleFolder::all_in(root.path()).unwrap(), [folder]);
    }

    #[test]
    fn the_last_result_of_a_mutation_counts_in_whichever_shard_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let line = |id: &str, number: u32, verdict: &str, cases: u32| {
            let trial = serde_json::json!({
                "id": id, "number": number, "kind": "boolean", "change": "",
                "verdict": verdict, "cases": cases, "seconds": 1.0,
            });
            format!("{trial}\n")
        };
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("results-1-of-2.jsonl", &(line("b", 2, "survived", 60) + &line("a", 1, "survived", 60)));
        write("results-2-of-2.jsonl", &(line("c", 3, "killed", 1) + &line("d", 4, "survived", 60)));
        let later =
            line("a", 1, "survived", 200) + &line("b", 2, "killed", 90) + &line("d", 4, "trivial", 61);
        write("results.jsonl", &later);
        let trials = SampleFolder(folder.path().into()).trials().unwrap();
        let last: Vec<_> =
            trials.iter().map(|trial| (trial.id.as_str(), trial.verdict, trial.cases)).collect();
        let (killed, survived) = (TrialVerdict::Killed, TrialVerdict::Survived);
        let trivial = ("d", TrialVerdict::Trivial, 61);
        assert_eq!(last, [("a", survived, 200), ("b", killed, 90), ("c", killed, 1), trivial]);
    }

    #[test]
    fn a_baseline_of_other_sources_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let line = |id: &str, operator: &str| {
            let case = serde_json::json!({
                "id": id, "operator": operator, "seconds": 1.0, "passed": true, "executed": [1],
            });
            format!("{case}\n")
        };
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("baseline.jsonl", &(line("aon/one", "1") + &line("aon/two", "0")));
        write("baseline-2-of-2.jsonl", &(line("aon/three", "1") + &line("aon/one", "1")));
        let cases = recorded_baseline(folder.path(), "1").unwrap();
        let ids: Vec<_> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["aon/one", "aon/three"]);
    }
}
