//! Reads the files and checks the source, so that all errors are reported before anything is built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use conformance_contract::target::Target;
use conformance_programs::ProgramError;
use conformance_programs::components::{Program, Progress, Source, hex};
use conformance_programs::source::{GoBuild, Module, Tree, revision};
use sha2::{Digest, Sha256};

use super::chart::OperatorChart;
use super::declaration::Declaration;
use super::description::{Description, Read};
use super::error::OperatorError;
use super::roles;
use super::word::Word;
use crate::InstallError;

#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    description: Description,
    tree: Tree,
    /// The folder to which `program` is relative.
    folder: PathBuf,
    variant: Option<String>,
    declaration: Option<Declaration>,
    word: String,
    sha256: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    pub description: Description,
    pub declaration: Option<Declaration>,
    pub version: String,
    pub commit: Option<String>,
    pub variant: Option<String>,
    pub description_sha256: String,
    pub sha256: String,
    pub is_built: bool,
    /// The value of the flag that names the operator, with absolute paths.
    pub word: String,
    pub(super) dir: PathBuf,
    pub(super) program: PathBuf,
}

/// `declares` replaces the declaration that the description names. All errors are usage errors.
pub async fn open(word: &str, declares: Option<&Path>) -> Result<Opened, OperatorError> {
    let parsed = Word::parse(word)?;
    let word = parsed.absolute();
    let (text, path, given) = match &parsed {
        Word::Of(recipe, dir) => {
            (recipe.description.to_owned(), PathBuf::from(recipe.path), Some(dir.as_path()))
        }
        Word::File(path) => (read(path)?, path.clone(), None),
    };
    let Read { description, dir, variant } = Description::read(&text, &path, given)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let declared = match (declares, &parsed, &description.declares) {
        (Some(path), ..) => Some((read(path)?, path.to_owned())),
        (None, Word::Of(recipe, _), _) => {
            let (path, text) = recipe.declaration;
            Some((text.to_owned(), path.into()))
        }
        (None, Word::File(_), Some(file)) => Some((read(&folder.join(file))?, folder.join(file))),
        (None, Word::File(_), None) => None,
    };
    let declaration = match declared {
        Some((text, path)) => Some(Declaration::read(&text, &path, &description.name, &dir)?),
        None => None,
    };
    roles::rules(&description.roles, &dir, &description.backends.keys().cloned().collect::<Vec<_>>())?;
    let revision = revision(&dir, &description.version).await;
    let sha256 = hex(&Sha256::digest(&text));
    let tree = Tree { dir, revision };
    Ok(Opened { description, tree, folder, variant, declaration, word, sha256 })
}

fn read(path: &Path) -> Result<String, OperatorError> {
    std::fs::read_to_string(path).map_err(OperatorError::in_file(path))
}

impl Opened {
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Whether the description has the backend, and so does the declaration, if there is one.
    pub fn has(&self, backend: &str) -> bool {
        let is_declared = |declaration: &Declaration| declaration.backends.contains_key(backend);
        self.description.backends.contains_key(backend) && self.declaration.as_ref().is_none_or(is_declared)
    }

    #[must_use]
    pub fn declared(&self, target: Target) -> Target {
        let Some(declaration) = &self.declaration else { return target };
        declaration.declared(format!("{} {}", self.description.name, self.tree.revision.version), target)
    }

    /// Splits targets into those whose gang scope the operator has, and the others. A backend without
    /// `gangScopes` has only the first scope of its scheduler.
    #[must_use]
    pub fn by_scope(&self, targets: Vec<Target>) -> (Vec<Target>, Vec<Target>) {
        let mut with_a_scope = BTreeSet::new();
        targets.into_iter().partition(|target| {
            let backend = self.description.backends.get(target.backend());
            let scopes = backend.map(|backend| &backend.gang_scopes).filter(|scopes| !scopes.is_empty());
            match (target.scope(), scopes) {
                (Some(scope), Some(scopes)) => scopes.iter().any(|known| known == scope),
                (Some(_), None) => with_a_scope.insert(target.scheduler()),
                (None, _) => true,
            }
        })
    }

    pub fn must_have(&self, backend: &str) -> Result<(), OperatorError> {
        if self.has(backend) {
            return Ok(());
        }
        let declared = self.description.backends.keys().filter(|name| self.has(name)).cloned().collect();
        let operator = self.description.name.clone();
        Err(OperatorError::Backend { operator, backend: backend.into(), declared })
    }

    pub async fn build(self, progress: &dyn Progress) -> Result<Operator, InstallError> {
        let program = match (&self.description.build, &self.description.program) {
            (Some(build), _) => self.built(&self.description.name, build, progress).await?,
            (None, program) => self.given(program.as_deref().unwrap_or(Path::new("")))?,
        };
        Ok(Operator {
            description: self.description,
            declaration: self.declaration,
            version: self.tree.revision.version,
            commit: self.tree.revision.commit,
            variant: self.variant,
            description_sha256: self.sha256,
            sha256: program.sha256,
            is_built: program.source == Source::Built,
            word: self.word,
            dir: self.tree.dir,
            program: program.path,
        })
    }

    pub fn chart(&self) -> Option<&OperatorChart> {
        self.description.chart.as_ref()
    }

    /// `None` if the operator has no init containers.
    pub async fn build_init(&self, progress: &dyn Progress) -> Result<Option<PathBuf>, InstallError> {
        let Some(init) = self.chart().and_then(|chart| chart.init.as_ref()) else { return Ok(None) };
        let program = self.built(&init.name, &init.build, progress).await?;
        Ok(Some(program.path))
    }

    async fn built(
        &self,
        name: &str,
        build: &GoBuild,
        progress: &dyn Progress,
    ) -> Result<Program, ProgramError> {
        let module = Module { folder: &build.module, inputs: &build.inputs, ldflags: &build.ldflags };
        self.tree.module(module).await?.build(name, &build.package, progress).await
    }

    fn given(&self, program: &Path) -> Result<Program, InstallError> {
        let path = self.folder.join(program);
        let path = path.canonicalize().map_err(OperatorError::in_file(&path))?;
        Ok(Program::given(&self.description.name, self.tree.revision.version.clone(), path)?)
    }
}

impl Operator {
    pub fn is_cluster_admin(&self) -> bool {
        self.description.cluster_admin || self.description.identity.is_none()
    }
}
