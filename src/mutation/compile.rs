//! Builds the rewritten operator without the mutations that do not compile, to which the errors point.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::MutationError;
use crate::mutation::{Kind, Mutation};
use crate::population::Population;
use crate::rewrite::Rewritten;
use crate::workspace::{WRAPPER, Workspace};

const OPERATOR: &str = "grove-backend-controller";
/// Each attempt drops all mutations that the errors name. rustc reports type errors, borrow errors and unset
/// variables in separate passes, and only for one crate at a time.
const MOST_ROUNDS: usize = 40;
const RESULT_FILE: &str = "built.json";
/// At most one in this many mutations of a kind may be dropped.
const MOST_DROPPED: usize = 4;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Built {
    pub program: PathBuf,
    pub mutations: Vec<Mutation>,
    pub dropped: Vec<Dropped>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    pub mutation: Mutation,
    pub error: String,
}

#[derive(Debug)]
pub struct BuildFolders<'a> {
    pub root: &'a Path,
    pub copy: &'a Path,
    /// The target folder for compiled dependencies, which the usual build shares.
    pub dependencies: Option<&'a Path>,
}

/// `progress` gets a line for each attempt.
pub fn build(
    population: &Population,
    folders: &BuildFolders<'_>,
    progress: impl FnMut(String),
) -> Result<Built, MutationError> {
    let dropped = write_compilable(population, folders, progress)?;
    finish(population, dropped, folders)
}

/// Copies and rewrites the operator without the mutations that do not compile. Returns those.
fn write_compilable(
    population: &Population,
    folders: &BuildFolders<'_>,
    mut progress: impl FnMut(String),
) -> Result<BTreeMap<u32, String>, MutationError> {
    let workspace = Workspace::copy(folders.root, folders.copy)?;
    let mut dropped: BTreeMap<u32, String> = earlier_drops(population, folders.copy);
    for round in 1..=MOST_ROUNDS {
        let numbers: BTreeSet<u32> = dropped.keys().copied().collect();
        let files = population.rewritten(&numbers);
        workspace.write_sources(folders.root, &files, population.mutations.len())?;
        let checked = cargo("check", folders)?;
        let errors = checked.errors();
        if errors.is_empty() {
            return if checked.has_succeeded { Ok(dropped) } else { Err(MutationError::Cargo(checked.log)) };
        }
        let found = culprits(&errors, &files);
        progress(format!(
            "attempt {round}: {} errors, {} of {} mutations dropped",
            errors.len(),
            dropped.len() + found.len(),
            population.mutations.len()
        ));
        if found.is_empty() {
            let text = errors[0]["rendered"].as_str().unwrap_or_default();
            return Err(MutationError::Unexplained(text.into()));
        }
        dropped.extend(found);
    }
    Err(MutationError::TooManyRounds(MOST_ROUNDS))
}

fn finish(
    population: &Population,
    dropped: BTreeMap<u32, String>,
    folders: &BuildFolders<'_>,
) -> Result<Built, MutationError> {
    let built = cargo("build", folders)?;
    let program = built.executable().ok_or(MutationError::Cargo(built.log))?;
    let result = Built::of(population, dropped, program);
    let path = folders.copy.join(RESULT_FILE);
    let text = serde_json::to_string_pretty(&result).map_err(MutationError::json(&path))?;
    std::fs::write(&path, text).map_err(MutationError::file(&path))?;
    Ok(result)
}

impl Built {
    fn of(population: &Population, dropped: BTreeMap<u32, String>, program: PathBuf) -> Self {
        let numbers: BTreeSet<u32> = dropped.keys().copied().collect();
        let by_number = |(number, error): (u32, String)| {
            let mutation = population.mutations[number as usize - 1].clone();
            Dropped { mutation, error }
        };
        Self {
            program,
            mutations: population.without(&numbers),
            dropped: dropped.into_iter().map(by_number).collect(),
        }
    }

    pub fn read(folder: &Path) -> Result<Self, MutationError> {
        let path = folder.join(RESULT_FILE);
        let text = std::fs::read_to_string(&path).map_err(MutationError::file(&path))?;
        serde_json::from_str(&text).map_err(MutationError::json(&path))
    }

    pub fn check_sources(&self, population: &Population, folder: &Path) -> Result<(), MutationError> {
        let dropped: BTreeSet<u32> = self.dropped.iter().map(|one| one.mutation.number).collect();
        if population.without(&dropped) == self.mutations {
            return Ok(());
        }
        Err(MutationError::OtherSources(folder.into()))
    }

    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for mutation in &self.mutations {
            digest.update(format!("{} {} {}\n", mutation.number, mutation.id, mutation.change));
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn losses(&self) -> BTreeMap<Kind, (usize, usize)> {
        let mut losses: BTreeMap<Kind, (usize, usize)> = BTreeMap::new();
        for mutation in &self.mutations {
            losses.entry(mutation.kind).or_default().1 += 1;
        }
        for dropped in &self.dropped {
            let (lost, all) = losses.entry(dropped.mutation.kind).or_default();
            *lost += 1;
            *all += 1;
        }
        losses
    }

    pub fn incomplete_kinds(&self) -> Vec<Kind> {
        let too_many = |(_, (lost, all)): &(Kind, (usize, usize))| lost * MOST_DROPPED > *all;
        self.losses().into_iter().filter(too_many).map(|(kind, _)| kind).collect()
    }
}

/// The mutations that an earlier build of the same population dropped, with their errors. They stay dropped.
fn earlier_drops(population: &Population, folder: &Path) -> BTreeMap<u32, String> {
    let Ok(earlier) = Built::read(folder) else { return BTreeMap::new() };
    if earlier.check_sources(population, folder).is_err() {
        return BTreeMap::new();
    }
    earlier.dropped.into_iter().map(|one| (one.mutation.number, one.error)).collect()
}

struct Messages {
    lines: Vec<Value>,
    has_succeeded: bool,
    log: String,
}

fn cargo(command: &str, folders: &BuildFolders<'_>) -> Result<Messages, MutationError> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // `cargo run` sets these variables for this program. Build scripts read them, and would run again.
    for (name, _) in std::env::vars_os() {
        let is_of_package =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_of_package) {
            cargo.env_remove(name);
        }
    }
    cargo.current_dir(folders.copy).args([command, "--offline", "--message-format=json"]);
    cargo.args(["--package", OPERATOR, "--bin", OPERATOR]);
    cargo.arg("--target-dir").arg(folders.copy.join("target"));
    cargo.env("RUSTC_WORKSPACE_WRAPPER", folders.copy.join(WRAPPER));
    if let Some(dependencies) = folders.dependencies {
        cargo.env("CARGO_BUILD_BUILD_DIR", dependencies);
    }
    let output = cargo.output().map_err(|error| MutationError::Cargo(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Messages {
        lines: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        has_succeeded: output.status.success(),
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

impl Messages {
    fn errors(&self) -> Vec<&Value> {
        let messages = self.lines.iter().map(|line| &line["message"]);
        messages
            .filter(|message| message["level"].as_str().is_some_and(|level| level.starts_with("error")))
            .filter(
                // The last error only counts the other errors.
                |message| message["spans"].as_array().is_some_and(|spans| !spans.is_empty()),
            )
            .collect()
    }

    fn executable(&self) -> Option<PathBuf> {
        let built = self.lines.iter().filter(|line| line["target"]["name"] == OPERATOR);
        built.filter_map(|line| line["executable"].as_str()).next_back().map(PathBuf::from)
    }
}

struct Place<'a> {
    file: &'a Rewritten,
    bytes: Range<usize>,
    is_primary: bool,
}

/// The places of an error, or of a note, in rewritten files. A place inside a macro is that of its call.
fn places_of<'a>(message: &Value, files: &'a BTreeMap<String, Rewritten>) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for span in message["spans"].as_array().into_iter().flatten() {
        let is_primary = span["is_primary"] == true;
        let mut span = span;
        while !span.is_null() {
            let byte = |end: &str| span[end].as_u64().and_then(|byte| usize::try_from(byte).ok());
            if let Some(file) = span["file_name"].as_str().and_then(|name| files.get(name))
                && let (Some(start), Some(end)) = (byte("byte_start"), byte("byte_end"))
            {
                places.push(Place { file, bytes: start..end, is_primary });
                break;
            }
            span = &span["expansion"]["span"];
        }
    }
    places
}

/// The names in an error, such as `cliques` in "when `cliques` is dropped".
fn names(error: &Value) -> Vec<&str> {
    let labels = error["spans"].as_array().into_iter().flatten().map(|span| &span["label"]);
    let texts = labels.chain([&error["message"]]).filter_map(Value::as_str);
    let mut names: Vec<&str> = texts.flat_map(|text| text.split('`').skip(1).step_by(2)).collect();
    names.retain(|name| !name.is_empty());
    names
}

/// The primary place of an error, and the text from its first place to its last one in that file.
fn extent<'a, 'b>(places: &'b [Place<'a>]) -> Option<(&'b Place<'a>, Range<usize>)> {
    let place = places.iter().find(|place| place.is_primary)?;
    let mut extent = place.bytes.clone();
    for other in places.iter().filter(|other| std::ptr::eq(other.file, place.file)) {
        extent = extent.start.min(other.bytes.start)..extent.end.max(other.bytes.end);
    }
    Some((place, extent))
}

/// The mutations that cause the errors, each with its error. A cause has a text that begins or ends at the
/// error's place. Otherwise the first step that finds one decides: a removed statement before the place, the
/// smallest mutation around it, all mutations in the error's extent.
fn culprits(errors: &[&Value], files: &BTreeMap<String, Rewritten>) -> BTreeMap<u32, String> {
    let mut by_evidence: [BTreeMap<u32, String>; 4] = Default::default();
    for error in errors {
        let places = places_of(error, files);
        let message = error["message"].as_str().unwrap_or_default();
        let mut found: [Vec<u32>; 4] = Default::default();
        for is_primary in [true, false] {
            let of_rank = places.iter().filter(|place| place.is_primary == is_primary);
            found[0] = of_rank.flat_map(|place| place.file.at_edges_of(&place.bytes)).collect();
            if !found[0].is_empty() {
                break;
            }
        }
        if let Some((place, extent)) = extent(&places) {
            // A value is still borrowed, was moved, or is not set, because a statement before it was removed.
            let before = extent.start..place.bytes.start;
            found[1].extend(place.file.last_removed(&before, &names(error)));
            // The note of such an error: "this reinitialization might get skipped".
            let children = error["children"].as_array().into_iter().flatten();
            for note in children.filter(|child| child["level"] == "note") {
                let places = places_of(note, files);
                found[1].extend(places.iter().filter_map(|of| of.file.removed_around(&of.bytes)));
            }
            found[2].extend(place.file.around(&place.bytes).into_iter().next());
            found[3].extend(place.file.inside(&extent));
        }
        for (numbers, all) in found.into_iter().zip(&mut by_evidence) {
            all.extend(numbers.into_iter().map(|number| (number, message.to_owned())));
        }
    }
    by_evidence.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
