//! `run --results PLACE`: where a pod leaves its report, because its folder is lost when it ends. The pod
//! succeeds once the report is there, regardless of the verdicts: Kubernetes must retry a killed pod, not a
//! failed case.

use std::path::{Path, PathBuf};

use conformance_cluster::access::{Access, namespace_of_pod};
use conformance_cluster::suite::results::{self, LIMIT};
use conformance_page::PAGE;
use conformance_report as report;
use conformance_report::{Exit, Report, StoreError};

use super::args::{ResultsPlace, RunArgs};
use super::{Failure, in_cluster, output};

/// The environment variable with Sonobuoy's results folder.
const SONOBUOY_VARIABLE: &str = "SONOBUOY_RESULTS_DIR";
/// Sonobuoy's default results folder.
pub(crate) const SONOBUOY_FOLDER: &str = "/tmp/sonobuoy/results";
/// The file that names the results file for Sonobuoy.
const DONE: &str = "done";
const WHOLE: [&str; 5] = ["report.yaml", "report.json", "report.md", "junit.xml", PAGE];

/// Leaves a run's report, or the error that prevented it, at the requested place.
pub(crate) async fn publish(
    place: ResultsPlace,
    args: &RunArgs,
    judged: Result<Report, Failure>,
) -> Result<Exit, Failure> {
    match place {
        ResultsPlace::Configmaps => to_config_maps(args, &judged?).await,
        ResultsPlace::Sonobuoy => {
            let folder =
                std::env::var_os(SONOBUOY_VARIABLE).map_or_else(|| SONOBUOY_FOLDER.into(), PathBuf::from);
            let left = judged.and_then(|report| {
                to_sonobuoy(&args.report_dir, &report, &folder).map_err(infrastructure)?;
                Ok(Exit::Conformant)
            });
            if let Err(failure) = &left {
                failed(&folder, failure).map_err(infrastructure)?;
            }
            left
        }
    }
}

async fn to_config_maps(args: &RunArgs, report: &Report) -> Result<Exit, Failure> {
    let client = Access::Pod.client().await?;
    let namespace = namespace_of_pod()?;
    let packed = report::pack(&args.report_dir, report, &["report.yaml"], LIMIT).map_err(infrastructure)?;
    let left_out = (!packed.left_out.is_empty()).then(|| packed.left_out.to_string());
    let share = match args.shards {
        Some(shards) => (in_cluster::index()?, shards.get()),
        None => (0, 1),
    };
    results::store(&client, &namespace, share, &packed.archive, left_out).await?;
    output::say(&format!(
        "stored {:.1} MB of results in namespace {namespace}",
        packed.archive.len() as f64 / 1e6
    ));
    // An interrupted run leaves its partial results, and may be started again.
    Ok(if report.incomplete { Exit::Inconclusive } else { Exit::Conformant })
}

/// Sonobuoy takes the file whose path is in the done file, and unpacks it if it is an archive.
fn to_sonobuoy(report_dir: &Path, report: &Report, folder: &Path) -> Result<(), StoreError> {
    let packed = report::pack(report_dir, report, &WHOLE, usize::MAX)?;
    let file = folder.join("results.tar.gz");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Io { path, source }
    };
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    std::fs::write(&file, packed.archive).map_err(at(&file))?;
    done(folder, &file)
}

/// A run without a report becomes one test that ended in an error.
fn failed(folder: &Path, failure: &Failure) -> Result<(), StoreError> {
    let file = folder.join("junit.xml");
    std::fs::create_dir_all(folder).map_err(|source| StoreError::Io { path: folder.into(), source })?;
    report::write_text(&file, &report::junit_of_failure(&failure.to_string())?)?;
    done(folder, &file)
}

/// Written last, and in one piece: Sonobuoy takes the results as soon as the file exists.
fn done(folder: &Path, file: &Path) -> Result<(), StoreError> {
    report::write_text(&folder.join(DONE), &file.display().to_string())
}

fn infrastructure(error: StoreError) -> Failure {
    Failure::Infrastructure(format!("the results cannot be stored: {error}"))
}

#[cfg(test)]
mod tests {
    use conformance_report::testing;

    use super::*;

    #[test]
    fn sonobuoy_is_told_of_an_archive_with_the_whole_report() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let report = testing::report(Vec::new());
        report::write_all(from.path(), &report).unwrap();
        std::fs::write(from.path().join(PAGE), "<html>").unwrap();
        to_sonobuoy(from.path(), &report, to.path()).unwrap();
        let file = std::fs::read_to_string(to.path().join(DONE)).unwrap();
        assert_eq!(file, to.path().join("results.tar.gz").display().to_string());
        let unpacked = tempfile::tempdir().unwrap();
        report::unpack(&std::fs::read(file).unwrap(), unpacked.path()).unwrap();
        for name in WHOLE {
            assert!(unpacked.path().join(name).is_file(), "{name}");
        }
    }

    #[test]
    fn sonobuoy_is_told_why_there_is_no_report() {
        let folder = tempfile::tempdir().unwrap();
        failed(folder.path(), &Failure::Infrastructure("no <rights>".into())).unwrap();
        let file = std::fs::read_to_string(folder.path().join(DONE)).unwrap();
        let junit = std::fs::read_to_string(file).unwrap();
        assert!(junit.contains("<error") && junit.contains("no &lt;rights&gt;"), "{junit}");
    }
}
