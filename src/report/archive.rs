//! Packs a report's folder into a `.tar.gz` that an API server accepts: an in-cluster run sends it there.
//!
//! `report.yaml` is always included. Case folders are included completely or not at all: first those of cases
//! that did not pass, small before large. Each part is compressed separately, so that its size is known
//! before it is added; gzip allows concatenated parts.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use conformance_contract::verdict::Verdict;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::{CaseResult, Report, StoreError};

const END: [u8; 1024] = [0; 1024];

/// An archive and a count of what it leaves out.
#[derive(Debug)]
pub struct Packed {
    /// A gzip-compressed tar of the report and of the case folders that fit.
    pub archive: Vec<u8>,
    /// The artifact folders that did not fit.
    pub left_out: LeftOut,
}

/// Number of artifact folders that are not in an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Folders of cases that did not fail, were not flaky and had no error.
    pub as_expected: usize,
    /// Folders of all other cases.
    pub others: usize,
}

impl LeftOut {
    /// Whether the archive contains all folders.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { as_expected, others } = self;
        match (as_expected, others) {
            (_, 0) => write!(f, "the artifacts of cases that passed: {as_expected}"),
            (0, _) => write!(f, "the artifacts of cases that did not pass: {others}"),
            _ => write!(
                f,
                "the artifacts of cases that passed: {as_expected}, and that did not pass: {others}"
            ),
        }
    }
}

/// Packs `report.yaml` of a report's folder, and as many case artifacts as fit into `limit` bytes.
pub fn pack(folder: &Path, report: &Report, limit: usize) -> Result<Packed, StoreError> {
    let end = compressed(&END).map_err(at(folder))?;
    let mut archive = part(folder, Path::new("report.yaml"))?;
    let size = archive.len() + end.len();
    if size > limit {
        return Err(StoreError::TooLarge { path: folder.into(), size, limit });
    }
    let mut left_out = LeftOut::default();
    let mut parts = Vec::new();
    for case in report.targets.iter().flat_map(|target| &target.cases) {
        let Some(artifacts) = case.artifacts.as_deref().filter(|name| folder.join(name).is_dir()) else {
            continue;
        };
        parts.push((is_as_expected(case), part(folder, Path::new(artifacts))?));
    }
    parts.sort_by_key(|(as_expected, part)| (*as_expected, part.len()));
    for (as_expected, part) in parts {
        if archive.len() + part.len() + end.len() <= limit {
            archive.extend(part);
        } else if as_expected {
            left_out.as_expected += 1;
        } else {
            left_out.others += 1;
        }
    }
    archive.extend(end);
    Ok(Packed { archive, left_out })
}

/// Unpacks an archive into a folder.
pub fn unpack(archive: &[u8], folder: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    let mut archive = tar::Archive::new(MultiGzDecoder::new(archive));
    archive.set_preserve_permissions(false);
    archive.set_preserve_mtime(false);
    archive.unpack(folder).map_err(at(folder))
}

/// Whether the artifacts of the case are packed last.
fn is_as_expected(case: &CaseResult) -> bool {
    !matches!(case.outcome.verdict, Verdict::Fail | Verdict::Flaky | Verdict::Error)
}

fn part(folder: &Path, name: &Path) -> Result<Vec<u8>, StoreError> {
    let path = folder.join(name);
    let mut tar = tar::Builder::new(Vec::new());
    tar.mode(tar::HeaderMode::Deterministic);
    let added =
        if path.is_dir() { tar.append_dir_all(name, &path) } else { tar.append_path_with_name(&path, name) };
    let raw = added.and_then(|()| tar.into_inner()).map_err(at(&path))?;
    compressed(&raw[..raw.len() - END.len()]).map_err(at(&path))
}

fn compressed(raw: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(raw)?;
    encoder.finish()
}

fn at(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = PathBuf::from(path);
    move |source| StoreError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, read, write_all};

    /// About `bytes` of incompressible artifacts for each case.
    fn folder(bytes: usize) -> (tempfile::TempDir, Report) {
        let folder = tempfile::tempdir().unwrap();
        let mut report = fixture::report();
        let (mut number, mut state) = (0, 1_u64);
        for case in report.targets.iter_mut().flat_map(|target| &mut target.cases) {
            let artifacts = format!("artifacts/{number}");
            let noise = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            });
            let noise: Vec<u8> = noise.take(bytes).collect();
            std::fs::create_dir_all(folder.path().join(&artifacts)).unwrap();
            std::fs::write(folder.path().join(&artifacts).join("history.jsonl"), noise).unwrap();
            case.artifacts = Some(artifacts);
            number += 1;
        }
        write_all(folder.path(), &report).unwrap();
        (folder, report)
    }

    #[test]
    fn an_unpacked_archive_equals_the_packed_folder() {
        let (from, report) = folder(100);
        let packed = pack(from.path(), &report, usize::MAX).unwrap();
        assert!(packed.left_out.is_empty());
        let to = tempfile::tempdir().unwrap();
        unpack(&packed.archive, &to.path().join("shards/1")).unwrap();
        assert_eq!(read(&to.path().join("shards/1/report.yaml")).unwrap(), report);
        assert!(!to.path().join("shards/1/report.json").exists(), "report.yaml has the same content");
        for case in report.targets.iter().flat_map(|target| &target.cases) {
            let history = Path::new(case.artifacts.as_ref().unwrap()).join("history.jsonl");
            let read = |folder: &Path| std::fs::read(folder.join(&history)).unwrap();
            assert_eq!(read(&to.path().join("shards/1")), read(from.path()));
        }
    }

    #[test]
    fn artifacts_of_cases_that_passed_are_left_out_first() {
        const BYTES: usize = 20_000;
        let (from, report) = folder(BYTES);
        let cases = || report.targets.iter().flat_map(|target| &target.cases);
        let bad = cases().filter(|case| !is_as_expected(case)).count();
        assert!(bad > 0 && bad < cases().count(), "the fixture has both");
        let report_size =
            pack(from.path(), &report, usize::MAX).unwrap().archive.len() - cases().count() * BYTES;
        let limit = report_size + bad * (BYTES + 1_000);
        let packed = pack(from.path(), &report, limit).unwrap();
        assert!(packed.archive.len() <= limit);
        assert_eq!(packed.left_out, LeftOut { as_expected: cases().count() - bad, others: 0 });
        let to = tempfile::tempdir().unwrap();
        unpack(&packed.archive, to.path()).unwrap();
        for case in cases() {
            let is_unpacked = to.path().join(case.artifacts.as_ref().unwrap()).is_dir();
            assert_eq!(is_unpacked, !is_as_expected(case), "{}", case.id);
        }
    }

    #[test]
    fn a_report_that_exceeds_the_limit_is_refused() {
        let (from, report) = folder(1);
        let error = pack(from.path(), &report, 100).unwrap_err().to_string();
        assert!(error.contains("want at most 100"), "{error}");
    }

    #[rstest::rstest]
    #[case(12, 0, "the artifacts of cases that passed: 12")]
    #[case(12, 1, "the artifacts of cases that passed: 12, and that did not pass: 1")]
    #[case(0, 2, "the artifacts of cases that did not pass: 2")]
    fn the_left_out_artifacts_are_described(
        #[case] as_expected: usize,
        #[case] others: usize,
        #[case] text: &str,
    ) {
        assert_eq!(LeftOut { as_expected, others }.to_string(), text);
    }
}
