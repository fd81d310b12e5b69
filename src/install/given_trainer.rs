//! A Kubeflow Trainer that the user gives, as a folder with its program and manifests
//! (`--component trainer-controller-manager=DIR`) or a checkout (`src:DIR`). It runs with the pinned JobSet.

use std::path::{Path, PathBuf};

use conformance_programs::components::{PlannedBuild, Program, Progress};
use conformance_programs::source::{Module, SourceError, Tree, UNKNOWN, VersionFrom, revision, top};
use serde_json::{Map, Value};

use crate::schedulers::Files;
use crate::{InstallError, manifests};

const FOLDER: &str = "--component trainer-controller-manager";
pub const PROGRAM: &str = "trainer-controller-manager";
pub(crate) const BASE: &str = "manifests/base";
/// The manifests that the harness reads, below [`BASE`].
pub(crate) const MANIFESTS: [&str; 6] = [
    "crds/trainer.kubeflow.org_trainjobs.yaml",
    RUNTIMES,
    "crds/trainer.kubeflow.org_clustertrainingruntimes.yaml",
    "rbac/role.yaml",
    "webhook/manifests.yaml",
    "webhook/kustomization.yaml",
];
const RUNTIMES: &str = "crds/trainer.kubeflow.org_trainingruntimes.yaml";

#[derive(Debug, Clone, PartialEq)]
pub struct GivenTrainer {
    pub program: Program,
    pub commit: Option<String>,
    /// Whether the trainer contains the KAI plugin: the CRDs of its runtimes have the plugin's field.
    pub has_kai_plugin: bool,
    pub(crate) manifests: PathBuf,
}

impl GivenTrainer {
    pub fn version(&self) -> String {
        match self.program.version.as_str() {
            UNKNOWN => format!("sha256:{}", &self.program.sha256[..12]),
            version => version.to_owned(),
        }
    }

    /// Finds a trainer in a folder with the layout of its repository: of several, the one nearest to `path`.
    pub fn in_folder(path: &Path) -> Result<Self, InstallError> {
        let files = Files::below(path, FOLDER)?;
        let is_base = |folder: &PathBuf| MANIFESTS.iter().all(|file| folder.join(file).is_file());
        let manifests =
            files.all().filter_map(|file| file.parent()?.parent().map(Path::to_owned)).find(is_base);
        match (files.program(&[PROGRAM]), manifests) {
            (Some(path), Some(manifests)) => {
                Self::new(Program::given(PROGRAM, UNKNOWN.into(), path.to_owned())?, manifests, None)
            }
            (program, manifests) => {
                let mut missing = Vec::new();
                if program.is_none() {
                    missing.push(format!("a program {PROGRAM}"));
                }
                if manifests.is_none() {
                    missing.push(format!(
                        "a folder with {}, as {BASE} of its repository has",
                        MANIFESTS.join(", ")
                    ));
                }
                Err(InstallError::ProgramFolder { flag: FOLDER, path: files.path().to_owned(), missing })
            }
        }
    }

    fn new(program: Program, folder: PathBuf, commit: Option<String>) -> Result<Self, InstallError> {
        let path = folder.join(RUNTIMES);
        let has_kai_plugin = manifests::read(&path)?.iter().any(has_kai_policy);
        Ok(Self { program, commit, has_kai_plugin, manifests: folder })
    }
}

/// Whether every version of a runtime's CRD has `podGroupPolicy.kaiScheduler`.
fn has_kai_policy(crd: &Value) -> bool {
    const POLICIES: &str = "/schema/openAPIV3Schema/properties/spec/properties/podGroupPolicy/properties";
    let versions = crd["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let has_kai =
        |version: &Value| version.pointer(POLICIES).is_some_and(|all| all["kaiScheduler"].is_object());
    !versions.is_empty() && versions.iter().all(has_kai)
}

#[derive(Debug, Clone)]
pub struct TrainerSource {
    tree: Tree,
}

impl TrainerSource {
    /// Checks a checkout of kubeflow/trainer, without running or building anything.
    pub async fn open(dir: &Path) -> Result<Self, SourceError> {
        let sources = ["go.mod".to_owned(), format!("cmd/{PROGRAM}/main.go")];
        let manifests = MANIFESTS.iter().map(|file| format!("{BASE}/{file}"));
        let checkout: Vec<Value> = sources.into_iter().chain(manifests).map(Value::from).collect();
        let dir = top("kubeflow/trainer", dir, &Map::from_iter([("checkout".to_owned(), checkout.into())]))?;
        let from = VersionFrom { git_tags: Some("v[0-9]*".into()), file: Some("VERSION".into()) };
        let revision = revision(&dir, &from).await;
        Ok(Self { tree: Tree { dir, revision } })
    }

    pub async fn build(&self, progress: &dyn Progress) -> Result<GivenTrainer, InstallError> {
        let inputs = ["go.mod", "go.sum", "vendor", "cmd", "pkg"].map(str::to_owned);
        let module = self.tree.module(Module { folder: ".", inputs: &inputs, ldflags: "-s -w" }).await?;
        let package = format!("./cmd/{PROGRAM}");
        let planned = (!module.is_built(PROGRAM, &package))
            .then(|| PlannedBuild { names: PROGRAM.into(), seconds: None });
        progress.planned(planned.as_slice());
        let program = module.build(PROGRAM, &package, progress).await?;
        GivenTrainer::new(program, self.tree.dir.join(BASE), self.tree.revision.commit.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::cluster_spec::ClusterSpec;
    use crate::part::Part;
    use crate::testing::{folder, put};

    fn runtimes(policies: Value) -> String {
        let spec = json!({"properties": {"podGroupPolicy": {"properties": policies}}});
        let schema = json!({"openAPIV3Schema": {"properties": {"spec": spec}}});
        json!({"kind": "CustomResourceDefinition", "spec": {"versions": [{"schema": schema}]}}).to_string()
    }

    #[test]
    fn a_folder_without_a_trainer_reports_everything_that_is_missing() {
        let folder = folder(&["trainer-controller-manager", "base/rbac/role.yaml"]);
        let Err(InstallError::ProgramFolder { flag: FOLDER, missing, .. }) =
            GivenTrainer::in_folder(folder.path())
        else {
            panic!("nothing is missing")
        };
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert_eq!(missing[0], "a program trainer-controller-manager", "it cannot be executed");
        assert!(missing[1].contains("webhook/kustomization.yaml"), "{missing:?}");
    }

    #[test]
    fn the_reference_plugin_does_not_run_if_the_trainer_has_the_kai_policy() {
        for (policies, has) in
            [(json!({"volcano": {}}), false), (json!({"volcano": {}, "kaiScheduler": {}}), true)]
        {
            let folder = folder(&["bin/trainer-controller-manager"]);
            for file in MANIFESTS {
                put(folder.path(), &format!("base/{file}"), "");
            }
            put(folder.path(), &format!("base/{RUNTIMES}"), &runtimes(policies));
            let program = folder.path().join("bin/trainer-controller-manager");
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let given = GivenTrainer::in_folder(folder.path()).unwrap();
            assert_eq!(given.has_kai_plugin, has);
            let spec = ClusterSpec::default().with_trainer(false).with_given_trainer(Arc::new(given.clone()));
            assert_eq!(
                spec.parts().any(|part| part == Part::TRAINER_PLUGIN),
                !has,
                "either the trainer or the plugin serves the policy"
            );
            let modules = spec.module_files();
            let components: Vec<_> = modules.iter().map(|files| files.component.name).collect();
            assert_eq!(components, ["jobset"], "the given trainer has manifests of its own");
            assert!(
                given.manifests.ends_with("base")
                    && given.program.path.ends_with("bin/trainer-controller-manager")
            );
        }
    }

    #[tokio::test]
    async fn a_checkout_of_another_repository_is_rejected() {
        let folder = folder(&["go.mod"]);
        let error = TrainerSource::open(folder.path()).await.unwrap_err();
        assert!(
            error.is_usage() && error.to_string().contains("not a checkout of kubeflow/trainer"),
            "{error}"
        );
    }
}
