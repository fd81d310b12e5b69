//! Writes the files of a pinned module to disk, so that Go can use them.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::amendment::NoCopy;
use super::component::Module;
use super::digests::hex;
use crate::{ProgramError, home};

/// Writes `go.mod` and `go.sum` into the cache. An amended module also needs [`complete`].
pub(super) fn materialise(module: &'static Module) -> Result<PathBuf, ProgramError> {
    let mut hash = Sha256::new_with_prefix(format!("{}{}", module.go_mod, module.go_sum));
    if let Some(amendment) = module.amendment {
        amendment.hash_into(&mut hash);
    }
    let digest = hex(&hash.finalize());
    let folder = home::cache().join("modules").join(format!("{}-{}", module.name, &digest[..16]));
    for (name, content) in [("go.mod", module.go_mod), ("go.sum", module.go_sum)] {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(content) {
            home::replace(&path, content)?;
        }
    }
    Ok(folder)
}

pub(super) async fn complete(module: &'static Module) -> Result<PathBuf, ProgramError> {
    let folder = materialise(module)?;
    if let Some(amendment) = module.amendment {
        amendment.copy_into(&folder, None).await.map_err(|error| no_copy(module, error))?;
    }
    Ok(folder)
}

pub(super) fn no_copy(module: &'static Module, error: NoCopy) -> ProgramError {
    let reason = match error {
        NoCopy::File(error) => return error,
        NoCopy::NotCached => "GOPROXY=off".to_owned(),
        NoCopy::Go(reason) => reason,
    };
    ProgramError::Modules { module: module.name, reason }
}
