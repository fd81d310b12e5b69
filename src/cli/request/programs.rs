//! Where the programs of a run come from: `--component NAME=PATH|src:DIR|version:V|chart:REF`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_install::given_trainer::PROGRAM as TRAINER;
use conformance_install::schedulers::{self, SchedulerConfiguration, installation};
use conformance_install::versions::SelectedVersion;

use crate::options::ProgramOptions;
use crate::{Failure, unknown};

const KAI_VARIABLE: &str = "GROVE_CONFORMANCE_KAI_DIR";
const KAI: &str = "kai-scheduler";

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProgramRequest {
    pub files: Vec<(String, PathBuf)>,
    /// Folder with KAI's programs and CRDs.
    pub kai_folder: Option<PathBuf>,
    /// Checkouts by the name of the scheduler's first program.
    pub checkouts: Vec<(String, PathBuf)>,
    pub versions: Vec<SelectedVersion>,
    pub trainer: Option<TrainerSource>,
    /// Charts by the scheduler's `schedulerName`. `None` is the pinned chart.
    pub charts: Vec<(String, Option<String>)>,
    pub configurations: Vec<(Scheduler, String, SchedulerConfiguration)>,
    /// Pinned programs are neither built nor downloaded.
    pub offline: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrainerSource {
    Folder(PathBuf),
    Checkout(PathBuf),
}

const PINNED: &str = "pinned";

impl ProgramRequest {
    pub(crate) fn of(options: &ProgramOptions) -> Result<Self, Failure> {
        let kai = std::env::var_os(KAI_VARIABLE).filter(|folder| !folder.is_empty());
        Self::with_kai(options, kai.map(PathBuf::from))
    }

    /// `kai` is the folder of KAI's programs if no `--component` names one.
    fn with_kai(options: &ProgramOptions, kai: Option<PathBuf>) -> Result<Self, Failure> {
        let mut given = BTreeMap::new();
        for (name, source) in &options.given {
            if given.insert(of_program(name), source).is_some() {
                return Err(Failure::Usage(format!(
                    "--component {name} is given twice: give one source for it"
                )));
            }
        }
        for (name, source) in &options.components {
            given.entry(of_program(name)).or_insert(source);
        }
        let mut request = Self { offline: options.offline.unwrap_or_default(), ..Self::default() };
        for (name, source) in &given {
            request.add(name, source)?;
        }
        if !given.contains_key(KAI) {
            request.kai_folder = kai;
        }
        let mut configured = BTreeMap::new();
        for (name, source) in &options.given_configs {
            if configured.insert(of_program(name), source).is_some() {
                return Err(Failure::Usage(format!(
                    "--scheduler-config {name} is given twice: give one configuration for it"
                )));
            }
        }
        for (name, source) in &options.scheduler_configs {
            configured.entry(of_program(name)).or_insert(source);
        }
        for (name, source) in &configured {
            request.configurations.push(configuration(name, source)?);
        }
        Ok(request)
    }

    fn add(&mut self, name: &str, source: &str) -> Result<(), Failure> {
        let usage = |reason: &str| Err(Failure::Usage(format!("--component {name}={source}: {reason}")));
        match source.split_once(':') {
            Some(("src" | "chart" | "version", "")) => {
                usage("expected PATH, src:DIR, version:V or chart:REF")
            }
            Some(("src", dir)) if name == TRAINER => {
                self.trainer = Some(TrainerSource::Checkout(dir.into()));
                Ok(())
            }
            Some(("src", dir)) => {
                self.checkouts.push((name.to_owned(), dir.into()));
                Ok(())
            }
            Some(("chart", chart)) => {
                let chart = (chart != PINNED).then(|| chart.to_owned());
                self.charts.push((of_scheduler(name), chart));
                Ok(())
            }
            Some(("version", version)) => match SelectedVersion::of(name, version) {
                Ok(selected) => {
                    self.versions.push(selected);
                    Ok(())
                }
                Err(error) => usage(&error.to_string()),
            },
            _ => {
                self.add_path(name, Path::new(source));
                Ok(())
            }
        }
    }

    /// For KAI and the trainer, a path that is not a file counts as a folder.
    fn add_path(&mut self, name: &str, path: &Path) {
        match name {
            KAI if !path.is_file() => self.kai_folder = Some(path.to_owned()),
            TRAINER if !path.is_file() => self.trainer = Some(TrainerSource::Folder(path.to_owned())),
            _ => self.files.push((name.to_owned(), path.to_owned())),
        }
    }

    pub(crate) fn config_words(&self) -> Vec<String> {
        let word = |(scheduler, source, _): &(Scheduler, String, SchedulerConfiguration)| {
            format!("{}={source}", of_program(scheduler.name()))
        };
        self.configurations.iter().map(word).collect()
    }

    /// Rejects versions that the run cannot use. Only kube-scheduler may have another minor version than the
    /// API server. Offline, no other version can be built.
    pub(crate) fn check_versions(&self, kubernetes: Kubernetes) -> Result<(), Failure> {
        if self.offline && kubernetes.is_preview() {
            return Err(Failure::Usage(format!(
                "programs.offline builds nothing, and Kubernetes {kubernetes} is a preview, which is built: omit \
                 one of them"
            )));
        }
        for selected in &self.versions {
            let (name, version) = (selected.name(), selected.version());
            let usage = |reason: String| {
                Err(Failure::Usage(format!("--component {name}=version:{version}: {reason}")))
            };
            if let Some(minor) = selected.kubernetes()
                && minor != kubernetes
                && selected.scheduler().is_none()
            {
                return usage(format!("the cluster has Kubernetes {kubernetes}: pass --kubernetes {minor}"));
            }
            if self.offline && !selected.is_pinned() {
                return usage(
                    "programs.offline builds nothing, and a release contains the pinned versions only: omit \
                     one of them"
                        .into(),
                );
            }
        }
        Ok(())
    }

    pub(crate) fn replaces(&self, name: &str) -> bool {
        let mut sources = self.files.iter().chain(&self.checkouts);
        sources.any(|(given, _)| given == name) || self.versions.iter().any(|one| one.name() == name)
    }

    pub(crate) fn has_kai(&self) -> bool {
        self.kai_folder.is_some() || self.checkouts.iter().any(|(name, _)| name == KAI)
    }

    pub(crate) fn minor_of_kube_scheduler(&self) -> Option<Kubernetes> {
        let mut versions = self.versions.iter();
        versions.find(|selected| selected.scheduler() == Some(Scheduler::KUBE))?.kubernetes()
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { offline: self.offline, ..Self::default() }
    }

    pub(crate) fn words(&self) -> Vec<String> {
        let file = |(name, path): &(String, PathBuf)| format!("{name}={}", path.display());
        let checkout = |(name, dir): &(String, PathBuf)| format!("{name}=src:{}", dir.display());
        let version =
            |selected: &SelectedVersion| format!("{}=version:{}", selected.name(), selected.version());
        let chart = |(name, chart): &(String, Option<String>)| {
            format!("{name}=chart:{}", chart.as_deref().unwrap_or(PINNED))
        };
        let trainer = |source: &TrainerSource| match source {
            TrainerSource::Folder(dir) => format!("{TRAINER}={}", dir.display()),
            TrainerSource::Checkout(dir) => format!("{TRAINER}=src:{}", dir.display()),
        };
        let mut words: Vec<_> = self.files.iter().map(file).collect();
        words.extend(self.kai_folder.iter().map(|dir| format!("{KAI}={}", dir.display())));
        words.extend(self.checkouts.iter().map(checkout));
        words.extend(self.versions.iter().map(version));
        words.extend(self.trainer.iter().map(trainer));
        words.extend(self.charts.iter().map(chart));
        words
    }
}

/// Word that selects the product's own defaults.
const STOCK: &str = "stock";

fn configuration(name: &str, source: &str) -> Result<(Scheduler, String, SchedulerConfiguration), Failure> {
    let usage = |reason: String| Failure::Usage(format!("--scheduler-config {name}={source}: {reason}"));
    let scheduler = with_first_program(name)
        .ok_or_else(|| unknown::name("scheduler in --scheduler-config", name, &schedulers::sources(), ""))?;
    let configuration = match source {
        STOCK if installation(scheduler).has_defaults() => SchedulerConfiguration::Stock,
        STOCK => {
            let reason = "its programs have no defaults that schedule gangs: pass the configuration of its release as FILE";
            return Err(usage(reason.into()));
        }
        file => SchedulerConfiguration::of_file(Path::new(file)).map_err(usage)?,
    };
    Ok((scheduler, source.to_owned(), configuration))
}

/// Returns the name of the scheduler's first program if `name` is a `schedulerName`, otherwise `name`.
fn of_program(name: &str) -> String {
    let named = schedulers::all().find(|scheduler| scheduler.name() == name);
    let first = named.and_then(|scheduler| installation(scheduler).processes.first());
    first.map_or(name, |process| process.name).to_owned()
}

fn with_first_program(name: &str) -> Option<Scheduler> {
    let is_first = |scheduler: &Scheduler| {
        installation(*scheduler).processes.first().is_some_and(|process| process.name == name)
    };
    schedulers::all().find(is_first)
}

fn of_scheduler(name: &str) -> String {
    with_first_program(name).map_or_else(|| name.to_owned(), |scheduler| scheduler.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> Result<ProgramRequest, String> {
        let pair = |word: &&str| {
            word.split_once('=').map(|(name, source)| (name.to_owned(), source.to_owned())).unwrap()
        };
        let (configs, given) = words.iter().partition(|word| word.ends_with("=stock"));
        let pairs = |words: Vec<&&str>| words.into_iter().map(pair).collect();
        let options = ProgramOptions {
            given: pairs(given),
            given_configs: pairs(configs),
            ..ProgramOptions::default()
        };
        ProgramRequest::with_kai(&options, Some("/kai".into())).map_err(|failure| failure.to_string())
    }

    #[rstest::rstest]
    #[case::file(&["etcd=/bin/true"], &["etcd=/bin/true", "kai-scheduler=/kai"])]
    #[case::checkout(&["vc-scheduler=src:../volcano"], &["kai-scheduler=/kai", "vc-scheduler=src:../volcano"])]
    #[case::name_of_the_backend(&["volcano=src:../volcano"], &["kai-scheduler=/kai", "vc-scheduler=src:../volcano"])]
    #[case::chart(&["volcano=chart:@1.14.4"], &["kai-scheduler=/kai", "volcano=chart:@1.14.4"])]
    #[case::pinned_chart(&["vc-scheduler=chart:pinned"], &["kai-scheduler=/kai", "volcano=chart:pinned"])]
    #[case::version(&["etcd=version:3.6.9"], &["kai-scheduler=/kai", "etcd=version:v3.6.9"])]
    #[case::version_of_the_backend(&["volcano=version:v1.14.1"], &["kai-scheduler=/kai", "vc-scheduler=version:v1.14.1"])]
    #[case::folder(&["kai-scheduler=/other"], &["kai-scheduler=/other"])]
    #[case::kai_by_chart(&["kai-scheduler=chart:pinned"], &["kai-scheduler=chart:pinned"])]
    #[case::program_of_the_trainer(&["trainer-controller-manager=/bin/sh"], &["trainer-controller-manager=/bin/sh", "kai-scheduler=/kai"])]
    #[case::trainer(&["trainer-controller-manager=src:../t"], &["kai-scheduler=/kai", "trainer-controller-manager=src:../t"])]
    fn a_source_has_one_spelling(#[case] words: &[&str], #[case] expected: &[&str]) {
        let found = request(words).unwrap();
        assert_eq!(found.words(), expected);
        assert_eq!(request(expected).unwrap(), found);
    }

    #[rstest::rstest]
    #[case(&["etcd=version:latest"], "--component etcd=version:latest: expected a version such as 1.37.2")]
    #[case(&["kube-scheduler=version:1.35.0"], "no target for Kubernetes 1.35; known: 1.36, 1.37")]
    #[case(&["kai-scheduler=version:0.17.0"], "version:V works only for etcd, ")]
    #[case(&["vc-scheduler=version:1.14.1", "volcano=src:a"], "is given twice")]
    #[case(&["etcd=src:"], "expected PATH, src:DIR, version:V or chart:REF")]
    #[case(&["koord-scheduler=stock"], "its programs have no defaults that schedule gangs")]
    #[case(&["kube-schedulr=stock"], r#"did you mean "kube-scheduler"?"#)]
    #[case(&["volcano=src:a", "vc-scheduler=/b"], "--component vc-scheduler is given twice")]
    fn an_unusable_source_is_rejected(#[case] words: &[&str], #[case] expected: &str) {
        let failure = request(words).unwrap_err();
        assert!(failure.contains(expected), "{failure}");
    }

    #[rstest::rstest]
    #[case::pinned_minor("kube-apiserver=version:1.37.0", Kubernetes::V1_37, None)]
    #[case::another_minor(
        "kube-apiserver=version:1.37.0",
        Kubernetes::V1_36,
        Some("the cluster has Kubernetes 1.36: pass --kubernetes 1.37")
    )]
    #[case::newer_scheduler("kube-scheduler=version:1.37.0", Kubernetes::V1_36, None)]
    #[case::not_of_kubernetes("etcd=version:3.6.9", Kubernetes::V1_36, None)]
    fn only_kube_scheduler_may_have_another_minor(
        #[case] word: &str,
        #[case] kubernetes: Kubernetes,
        #[case] expected: Option<&str>,
    ) {
        let found = request(&[word]).unwrap().check_versions(kubernetes);
        match expected {
            None => assert!(found.is_ok(), "{found:?}"),
            Some(expected) => assert!(found.unwrap_err().to_string().contains(expected)),
        }
    }

    #[test]
    fn offline_only_pinned_versions_are_selected() {
        let pinned = format!("kube-scheduler=version:{}", Kubernetes::V1_37.version());
        for (word, is_allowed) in
            [("kube-scheduler=version:1.37.0", false), ("etcd=version:3.6.9", false), (pinned.as_str(), true)]
        {
            let offline = ProgramRequest { offline: true, ..request(&[word]).unwrap() };
            let found = offline.check_versions(Kubernetes::V1_36);
            assert_eq!(found.is_ok(), is_allowed, "{word}: {found:?}");
        }
        let offline = ProgramRequest { offline: true, ..ProgramRequest::default() };
        for kubernetes in Kubernetes::WITH_PREVIEWS {
            assert_eq!(offline.check_versions(kubernetes).is_ok(), !kubernetes.is_preview(), "{kubernetes}");
        }
    }

    #[rstest::rstest]
    #[case(&["kai-scheduler=src:../KAI"], true)]
    #[case(&["kai-scheduler=/kai"], true)]
    #[case(&["kai-scheduler=chart:pinned"], false)]
    fn kai_is_provided_by_a_folder_or_a_checkout(#[case] words: &[&str], #[case] is_provided: bool) {
        assert_eq!(request(words).unwrap().has_kai(), is_provided);
    }

    #[test]
    fn the_gates_follow_the_version_of_kube_scheduler() {
        let minor = |word: &str| request(&[word]).unwrap().minor_of_kube_scheduler();
        assert_eq!(minor("kube-scheduler=version:1.37.0"), Some(Kubernetes::V1_37));
        assert_eq!(minor("kube-apiserver=version:1.37.0"), None);
    }

    #[test]
    fn a_configuration_is_selected_by_the_name_of_the_program_or_the_backend() {
        for word in ["vc-scheduler=stock", "volcano=stock"] {
            let found = request(&[word]).unwrap();
            assert_eq!(found.config_words(), ["vc-scheduler=stock"], "{word}");
        }
    }

    #[test]
    fn an_option_replaces_the_source_of_the_file() {
        let components = BTreeMap::from([
            ("volcano".to_owned(), "src:../volcano".to_owned()),
            ("etcd".to_owned(), "/bin/true".to_owned()),
        ]);
        let given = vec![("vc-scheduler".to_owned(), "/bin/false".to_owned())];
        let options = ProgramOptions { given, components, ..ProgramOptions::default() };
        let found = ProgramRequest::with_kai(&options, None).unwrap();
        assert_eq!(found.words(), ["etcd=/bin/true", "vc-scheduler=/bin/false"]);
    }
}
