//! `--operator`: judges another operator instead of the reference operator.

use std::path::Path;

use conformance_contract::target::Target;
use conformance_install::operator::{Declaration, Opened, Operator, open};
use conformance_report::{Implementation, ImplementationFile};

use super::request::{OperatorRequest, OperatorSource};
use super::{Failure, output};

/// Opens the operator's description without building. `None`: the reference operator, or one already running.
pub(crate) async fn opened(
    source: &OperatorSource,
    declaration: Option<&Path>,
) -> Result<Option<Opened>, Failure> {
    match source {
        OperatorSource::Started(word) => Ok(Some(open(word, declaration).await?)),
        OperatorSource::Reference if declaration.is_some() => Err(Failure::Usage(
            "operator.declaration: the declaration of the reference operator is built in; pass it with \
             another --operator"
                .into(),
        )),
        OperatorSource::Reference | OperatorSource::Existing => Ok(None),
    }
}

/// Opens the operator that an upgrade replaces (`None`: the reference operator), which is not under test.
pub(crate) async fn replaced(source: &OperatorSource) -> Result<Option<Opened>, Failure> {
    opened(source, None).await.map_err(|failure| match failure {
        Failure::Usage(text) => Failure::Usage(format!("--upgrade-from: {text}")),
        other => other,
    })
}

/// Returns the targets whose backends the operator has, with its declaration. A missing backend is an error
/// if it was requested by name. With `--backend all`, it is left out, and a message reports that.
pub(crate) fn targets(opened: &Opened, targets: Vec<Target>, is_all: bool) -> Result<Vec<Target>, Failure> {
    let (present, missing): (Vec<_>, Vec<_>) =
        targets.into_iter().partition(|target| opened.has(target.backend()));
    if let Some(target) = missing.first().filter(|_| !is_all || present.is_empty()) {
        opened.must_have(target.backend())?;
    }
    for target in missing {
        output::say(&format!("{} does not have backend {}, which is not run", opened.name(), target.name()));
    }
    Ok(present.into_iter().map(|target| opened.declared(target)).collect())
}

/// Returns the targets in the description's gang scopes, and reports the others. An error if none is left.
pub(crate) fn in_its_scopes(opened: &Opened, targets: Vec<Target>) -> Result<Vec<Target>, Failure> {
    let (named, others) = opened.by_scope(targets);
    for scope in others.iter().filter_map(|target| target.scope()) {
        output::say(&format!(
            "the description of {} does not name gang scope {scope}, which is not run",
            opened.name()
        ));
    }
    if named.is_empty() {
        let no_scope = format!(
            "the description of {} names none of the selected gang scopes; pass --scope",
            opened.name()
        );
        return Err(Failure::Usage(no_scope));
    }
    Ok(named)
}

pub(crate) fn existing(
    operator: &OperatorRequest,
    is_all: bool,
    targets: Vec<Target>,
) -> Result<(Vec<Target>, Option<ImplementationFile>), Failure> {
    let Some(path) = operator.declaration.as_deref().filter(|_| operator.source.is_existing()) else {
        return Ok((targets, None));
    };
    let (name, version) = (&operator.name, &operator.version);
    let declaration = Declaration::of_version(path, name, version)?;
    let (present, missing): (Vec<_>, Vec<_>) =
        targets.into_iter().partition(|target| declaration.backends.contains_key(target.backend()));
    if let Some(target) = missing.first().filter(|_| !is_all || present.is_empty()) {
        return Err(Failure::Usage(format!(
            "operator.declaration {}: no declaration for backend {}",
            path.display(),
            target.name()
        )));
    }
    let declared =
        present.into_iter().map(|target| declaration.declared(format!("{name} {version}"), target));
    Ok((declared.collect(), Some(file(&declaration.release, &declaration.sha256))))
}

fn file(release: &str, sha256: &str) -> ImplementationFile {
    ImplementationFile { release: Some(release.to_owned()), digest: format!("sha256:{sha256}") }
}

pub(crate) fn implementation(operator: &Operator) -> Implementation {
    let description = ImplementationFile {
        release: operator.variant.clone(),
        digest: format!("sha256:{}", operator.description_sha256),
    };
    let declaration = operator.declaration.as_ref();
    Implementation {
        name: operator.description.name.clone(),
        version: operator.version.clone(),
        organization: operator.description.organization.clone(),
        url: operator.description.url.clone(),
        commit: operator.commit.clone(),
        description: Some(description),
        declaration: declaration.map(|declared| file(&declared.release, &declared.sha256)),
        cluster_admin: operator.is_cluster_admin(),
        reference: false,
    }
}
