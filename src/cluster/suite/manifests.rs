use conformance_contract::names;
use conformance_programs::ProgramError;
use grove_yaml::YamlError;
use serde_json::{Value, json};

use super::CONTAINER;
use crate::ClusterError;

const NAMESPACE: &str = include_str!("../../../manifests/suite/namespace.yaml");
const RBAC: &str = include_str!("../../../manifests/suite/rbac.yaml");
const JOB: &str = include_str!("../../../manifests/suite/job.yaml");
const INDEXED_JOB: &str = include_str!("../../../manifests/suite/indexed-job.yaml");
const NAME: &str = "grove-conformance";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteRun {
    pub run: String,
    pub image: String,
    pub shares: usize,
    pub args: Vec<String>,
    /// Label of the nodes to lease, as `KEY=VALUE`. The suite's own pods do not run on these nodes.
    pub leased_nodes: Option<String>,
}

impl SuiteRun {
    pub fn name(&self) -> String {
        format!("{NAME}-{}", self.run)
    }

    pub fn rights(&self) -> Result<Vec<Value>, ClusterError> {
        let mut objects = documents(NAMESPACE)?;
        objects.extend(documents(RBAC)?);
        objects.iter_mut().for_each(|object| self.rename(object));
        Ok(objects)
    }

    pub fn job(&self) -> Result<Value, ClusterError> {
        let text = if self.shares > 1 { INDEXED_JOB } else { JOB };
        let mut job = documents(text)?.into_iter().next().unwrap_or_default();
        self.rename(&mut job);
        let spec = &mut job["spec"];
        if self.shares > 1 {
            spec["completions"] = self.shares.into();
            spec["parallelism"] = self.shares.into();
        }
        let template = &mut spec["template"];
        template["metadata"]["labels"][names::RUN] = self.run.clone().into();
        let pod = &mut template["spec"];
        if let Some((key, value)) = self.leased_nodes.as_deref().and_then(|label| label.split_once('=')) {
            let elsewhere =
                json!({"matchExpressions": [{"key": key, "operator": "NotIn", "values": [value]}]});
            pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!({"nodeSelectorTerms": [elsewhere]});
        }
        let containers = pod["containers"].as_array_mut().into_iter().flatten();
        for container in containers.filter(|container| container["name"] == CONTAINER) {
            container["image"] = self.image.clone().into();
            container["args"] = self.args.clone().into();
        }
        Ok(job)
    }

    fn rename(&self, object: &mut Value) {
        let name = Value::from(self.name());
        object["metadata"]["name"] = name.clone();
        object["metadata"]["labels"][names::RUN] = self.run.clone().into();
        if object["metadata"]["namespace"].is_string() {
            object["metadata"]["namespace"] = name.clone();
        }
        if object["roleRef"].is_object() {
            object["roleRef"]["name"] = name.clone();
        }
        for subject in object["subjects"].as_array_mut().into_iter().flatten() {
            subject["name"] = name.clone();
            subject["namespace"] = name.clone();
        }
        if object["spec"]["template"].is_object() {
            object["spec"]["template"]["spec"]["serviceAccountName"] = name;
        }
    }
}

fn documents(text: &str) -> Result<Vec<Value>, ClusterError> {
    let wrong = |source: YamlError| {
        ClusterError::from(ProgramError::Manifest { path: "manifests/suite".into(), source })
    };
    grove_yaml::documents(text).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shares: usize, leased_nodes: Option<&str>) -> SuiteRun {
        SuiteRun {
            run: "1f2e3d".into(),
            image: "registry.example/suite:1".into(),
            shares,
            args: vec!["run".into(), "--provider=existing".into()],
            leased_nodes: leased_nodes.map(str::to_owned),
        }
    }

    #[test]
    fn the_job_of_several_shares() {
        let job = run(3, Some("pool=lent")).job().unwrap();
        insta::assert_snapshot!(grove_yaml::write(&job).unwrap());
    }

    #[test]
    fn the_job_of_one_share_has_no_index() {
        let job = run(1, None).job().unwrap();
        let spec = &job["spec"];
        assert!(spec["completionMode"].is_null() && spec["template"]["spec"]["affinity"].is_null());
        assert_eq!(spec["template"]["spec"]["containers"][0]["image"], "registry.example/suite:1");
    }

    #[test]
    fn every_object_has_the_name_and_the_label_of_the_run() {
        let run = run(2, None);
        let mut objects = run.rights().unwrap();
        objects.push(run.job().unwrap());
        let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            [
                "Namespace",
                "ServiceAccount",
                "ClusterRole",
                "ClusterRoleBinding",
                "Role",
                "RoleBinding",
                "Job"
            ]
        );
        for object in &objects {
            assert_eq!(object["metadata"]["name"], "grove-conformance-1f2e3d", "{object}");
            assert_eq!(object["metadata"]["labels"][names::RUN], "1f2e3d", "{object}");
            let text = object.to_string();
            assert!(!text.contains(r#""grove-conformance""#) || object["kind"] == "Job", "{text}");
        }
    }

    #[test]
    fn the_pods_of_both_jobs_differ_only_in_the_shard() {
        let pod = |text: &str| {
            let mut template = documents(text).unwrap().remove(0)["spec"]["template"].take();
            let args = template["spec"]["containers"][0]["args"].as_array_mut().unwrap();
            args.retain(|arg| !arg.as_str().unwrap().starts_with("--set=pod.shards"));
            template
        };
        assert_eq!(pod(JOB), pod(INDEXED_JOB));
    }
}
