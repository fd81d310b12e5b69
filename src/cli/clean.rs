//! `clean`: removes what killed runs left behind. Nothing that a live process holds is touched.

use conformance_cluster::{home, kind};
use conformance_report::Exit;

use super::args::CleanArgs;
use super::{Failure, output};

/// Cleans.
///
/// # Errors
/// [`Failure::Infrastructure`] for a folder that cannot be removed.
pub(crate) async fn clean(args: &CleanArgs) -> Result<Exit, Failure> {
    // Before the folders, by which live clusters are known.
    for name in kind::remove_abandoned().await? {
        output::data(&format!("removed the containers and volumes of kind cluster {name}"));
    }
    for name in home::remove_abandoned()? {
        output::data(&format!("removed the folder of cluster {name}"));
    }
    for found in home::clusters()? {
        output::say(&format!(
            "cluster {} is running and is kept; stop it with `grove-conformance down {0}`",
            found.name
        ));
    }
    if args.components {
        let cache = home::cache();
        if cache.exists() {
            std::fs::remove_dir_all(&cache)
                .map_err(|e| Failure::Infrastructure(format!("{}: {e}", cache.display())))?;
            output::data(&format!("removed {}", cache.display()));
        }
    }
    Ok(Exit::Conformant)
}
