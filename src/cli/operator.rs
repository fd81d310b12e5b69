//! `--operator`: tests another operator instead of the reference controller.

use conformance_contract::target::Target;
use conformance_install::operator::{Declaration, Opened, Operator, open};
use conformance_report::{Implementation, ImplementationFile};

use super::args::{OperatorArgs, ProviderArgs, REFERENCE};
use super::{Failure, output};

/// The operator to start instead of the reference controller, if any. It is not built yet.
pub(crate) async fn opened(args: &OperatorArgs) -> Result<Option<Opened>, Failure> {
    match args.started() {
        Some(word) => Ok(Some(open(word, args.declares.as_deref()).await?)),
        None if args.operator.as_deref() == Some(REFERENCE) && args.declares.is_some() => {
            Err(Failure::Usage("--declares: the declaration of the reference controller is built in; pass it with another --operator".into()))
        }
        None => Ok(None),
    }
}

/// The operator of `--upgrade-from`; `None` for the reference controller. It is not tested, so its
/// declaration does not matter.
pub(crate) async fn replaced(word: &str) -> Result<Option<Opened>, Failure> {
    let args = OperatorArgs { operator: Some(word.to_owned()), ..OperatorArgs::default() };
    opened(&args).await.map_err(|failure| match failure {
        Failure::Usage(text) => Failure::Usage(format!("--upgrade-from: {text}")),
        other => other,
    })
}

/// The targets whose backends the operator has, with its declaration. A missing backend is an error if it was
/// requested by name. With `--backend all`, it is left out, and a message reports that.
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

/// The targets in the gang scopes that the operator's description names. The others are left out, and a
/// message reports that. It is an error if no target is left.
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

/// The targets with the declaration of an operator that runs in the user's cluster, and the declaration.
pub(crate) fn existing(
    operator: &OperatorArgs,
    provider: &ProviderArgs,
    backend: &str,
    targets: Vec<Target>,
) -> Result<(Vec<Target>, Option<ImplementationFile>), Failure> {
    let Some(path) = operator.declares.as_deref().filter(|_| operator.is_existing()) else {
        return Ok((targets, None));
    };
    let (name, version) = (&provider.operator_name, &provider.operator_version);
    let declaration = Declaration::of_version(path, name, version)?;
    let (present, missing): (Vec<_>, Vec<_>) =
        targets.into_iter().partition(|target| declaration.backends.contains_key(target.backend()));
    if let Some(target) = missing.first().filter(|_| backend != "all" || present.is_empty()) {
        return Err(Failure::Usage(format!(
            "--declares {}: no declaration for backend {}",
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
