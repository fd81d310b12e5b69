//! Reads and writes the files of a report, each under a temporary name that is then renamed. Documents of
//! another kind are rejected first, so that the error names the real problem.

use std::{
    fs, io,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{API_VERSION, KIND, Report, junit, markdown, v1alpha1};

/// Why a report could not be stored or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant")]
pub enum StoreError {
    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot write {file}: {message}")]
    Render { file: &'static str, message: String },
    #[error("{}: {message}", .path.display())]
    Malformed { path: PathBuf, message: String },
    #[error("{}: the report alone has {size} bytes, want at most {limit}", .path.display())]
    TooLarge { path: PathBuf, size: usize, limit: usize },
    #[error("{}: there is nothing to recover, the run was killed before its first case", .path.display())]
    NoRun { path: PathBuf },
    #[error(
        "{}: expected {} {wanted}, found {api_version} {kind}",
        .path.display(), API_VERSION
    )]
    NotAReport { path: PathBuf, wanted: &'static str, api_version: String, kind: String },
}

/// Writes all four files into `folder`, created if necessary. Files written before an error stay.
pub fn write_all(folder: &Path, report: &Report) -> Result<Vec<PathBuf>, StoreError> {
    let render = |file: &'static str| move |message: String| StoreError::Render { file, message };
    let yaml = serde_yaml::to_string(report).map_err(|error| render("report.yaml")(error.to_string()))?;
    let json =
        serde_json::to_string_pretty(report).map_err(|error| render("report.json")(error.to_string()))?;
    let xml = junit(report).map_err(|error| render("junit.xml")(error.to_string()))?;
    let files = [
        ("report.yaml", yaml),
        ("report.json", json + "\n"),
        ("junit.xml", xml),
        ("report.md", markdown(report)),
    ];
    fs::create_dir_all(folder).map_err(|source| StoreError::Io { path: folder.to_owned(), source })?;
    files
        .into_iter()
        .map(|(name, text)| {
            let path = folder.join(name);
            match write_atomically(folder, &path, &text) {
                Ok(()) => Ok(path),
                Err(source) => Err(StoreError::Io { path, source }),
            }
        })
        .collect()
}

fn write_atomically(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let readable = fs::Permissions::from_mode(0o644);
    let mut file = tempfile::Builder::new().prefix(".report-").permissions(readable).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a text file atomically.
pub fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    write_atomically(folder, path, text).map_err(|source| StoreError::Io { path: path.to_owned(), source })
}

/// Reads a report as JSON from a `.json` file, otherwise as YAML. A report of v1alpha1 is converted.
pub fn read(path: &Path) -> Result<Report, StoreError> {
    let text = text(path)?;
    let head: Head = parse(path, &text)?;
    if (head.api_version.as_str(), head.kind.as_str()) != (v1alpha1::API_VERSION, KIND) {
        return head.document(path, &text, KIND);
    }
    serde_json::from_value(v1alpha1::converted(parse(path, &text)?))
        .map_err(|error| StoreError::Malformed { path: path.to_owned(), message: error.to_string() })
}

/// Writes a document as JSON to a `.json` file, otherwise as YAML.
pub(super) fn write_document(path: &Path, document: &impl Serialize) -> Result<(), StoreError> {
    let render = |message| StoreError::Render { file: "the document", message };
    let text = match is_json(path) {
        true => serde_json::to_string_pretty(document)
            .map(|text| text + "\n")
            .map_err(|e| render(e.to_string()))?,
        false => serde_yaml::to_string(document).map_err(|e| render(e.to_string()))?,
    };
    write_text(path, &text)
}

pub(super) fn read_document<T: DeserializeOwned>(path: &Path, wanted: &'static str) -> Result<T, StoreError> {
    let text = text(path)?;
    parse::<Head>(path, &text)?.document(path, &text, wanted)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    api_version: String,
    kind: String,
}

impl Default for Head {
    fn default() -> Self {
        Self { api_version: "no apiVersion".to_owned(), kind: "and no kind".to_owned() }
    }
}

impl Head {
    /// Parses the document if it has the expected kind and this version.
    fn document<T: DeserializeOwned>(
        self,
        path: &Path,
        text: &str,
        wanted: &'static str,
    ) -> Result<T, StoreError> {
        let Self { api_version, kind } = self;
        if (api_version.as_str(), kind.as_str()) != (API_VERSION, wanted) {
            return Err(StoreError::NotAReport { path: path.to_owned(), wanted, api_version, kind });
        }
        parse(path, text)
    }
}

fn text(path: &Path) -> Result<String, StoreError> {
    fs::read_to_string(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, StoreError> {
    let parsed = if is_json(path) {
        serde_json::from_str(text).map_err(|error| error.to_string())
    } else {
        serde_yaml::from_str(text).map_err(|error| error.to_string())
    };
    parsed.map_err(|message| StoreError::Malformed { path: path.to_owned(), message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, verify};

    fn stored(name: &str, text: &str) -> Result<Report, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        read(&path).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
    }

    #[test]
    fn the_document_of_every_verdict() {
        let _redacted = fixture::redacted();
        insta::assert_snapshot!(serde_yaml::to_string(&fixture::report()).unwrap());
    }

    #[test]
    fn a_written_report_is_read_back_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let report = fixture::report();
        let reports = folder.path().join("new/reports");
        for _ in 0..2 {
            let paths = write_all(&reports, &report).unwrap();
            let names: Vec<_> =
                paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
            assert_eq!(names, ["report.yaml", "report.json", "junit.xml", "report.md"]);
            assert_eq!(fs::read_dir(&reports).unwrap().count(), 4, "nothing temporary stays");
        }
        for name in ["report.yaml", "report.json"] {
            let read = read(&reports.join(name)).unwrap();
            assert_eq!(read, report, "{name}");
            assert_eq!(verify(&read), Ok(()));
        }
    }

    #[rstest::rstest]
    #[case::kind(
        "report.yaml",
        "apiVersion: v1\nkind: Pod\n",
        "expected conformance.grove.io/v1alpha2 ConformanceReport, found v1 Pod"
    )]
    #[case::neither("report.yaml", "targets: []\n", "found no apiVersion and no kind")]
    #[case::version(
        "report.json",
        r#"{"apiVersion": "conformance.grove.io/v2", "kind": "ConformanceReport"}"#,
        "found conformance.grove.io/v2 ConformanceReport"
    )]
    #[case::syntax("report.json", "{", "EOF while parsing an object at line 1 column 1")]
    #[case::field(
        "report.yaml",
        "apiVersion: conformance.grove.io/v1alpha2\nkind: ConformanceReport\n",
        "missing field `date`"
    )]
    fn a_file_that_is_no_report_is_refused_with_its_name(
        #[case] name: &str,
        #[case] text: &str,
        #[case] message: &str,
    ) {
        let error = stored(name, text).unwrap_err();
        assert!(error.starts_with(&format!("/{name}: ")) && error.contains(message), "{error}");
    }

    #[test]
    fn an_unknown_verdict_is_refused_with_its_path() {
        let yaml = serde_yaml::to_string(&fixture::report()).unwrap();
        let error = stored("report.yaml", &yaml.replacen("verdict: fail", "verdict: failed", 1)).unwrap_err();
        assert!(error.contains("targets[0]") && error.contains("unknown variant `failed`"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(Path::new("no/such/report.yaml")).unwrap_err().to_string();
        assert!(error.starts_with("no/such/report.yaml: "), "{error}");
    }
}
