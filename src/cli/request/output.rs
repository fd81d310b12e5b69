use std::path::PathBuf;

use conformance_report::AcceptedDeviations;

use crate::options::OutputOptions;
use crate::{Failure, accept};

#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub folder: PathBuf,
    pub quiet: bool,
    pub baseline: Option<PathBuf>,
    pub accepted: Option<AcceptedDeviations>,
    pub evidence: Option<PathBuf>,
}

impl Output {
    pub(super) fn of(options: OutputOptions) -> Result<Self, Failure> {
        if let Some(folder) = options.evidence.as_ref().and_then(|file| file.parent())
            && !folder.as_os_str().is_empty()
            && !folder.is_dir()
        {
            return Err(Failure::Usage(format!(
                "output.evidence: folder {} does not exist: create it",
                folder.display()
            )));
        }
        Ok(Self {
            folder: options.folder.unwrap_or_else(|| "conformance-report".into()),
            quiet: options.quiet.unwrap_or_default(),
            baseline: options.baseline,
            accepted: accept::read(options.accept.as_deref())?,
            evidence: options.evidence,
        })
    }
}
