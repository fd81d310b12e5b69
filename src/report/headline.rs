use std::collections::BTreeSet;
use std::fmt;

use conformance_contract::clauses::{Environment, Feature, clause};
use conformance_contract::target::TARGETS;
use conformance_contract::verdict::Verdict;

use super::{ClauseResult, Provider, Report, TargetReport};

/// The result of a target, which [`Display`](fmt::Display) writes as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// The result over the required clauses.
    pub result: TargetResult,
    /// Undeclared features that the scheduler is known to have. `None` if gang scheduling is declared.
    pub without_gang_scheduling: Option<Vec<Feature>>,
    /// The operator leaves gang resources to another program, so required clauses are unsupported.
    pub leaves_gang_resources: bool,
}

/// The result over the required clauses that apply to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetResult {
    /// Number of violated clauses.
    Broken(usize),
    /// Number of core clauses that are known deviations.
    Deviating(usize),
    /// Some clauses were not checked, although this provider allows it.
    InPart {
        /// Number of checked clauses.
        checked: usize,
        /// Number of applicable clauses.
        owed: usize,
    },
    /// All clauses that this provider allows were checked and satisfied.
    ConformantOn {
        /// Name of the provider.
        provider: String,
        /// The environments that the other clauses need.
        needed: BTreeSet<Environment>,
    },
    /// All clauses were checked and satisfied.
    Conformant,
}

impl Report {
    /// The providers of the run. A merged report can have several.
    pub fn providers(&self) -> Vec<&Provider> {
        std::iter::once(&self.provider).chain(&self.other_providers).collect()
    }

    /// The distinct names of the providers.
    pub fn provider_names(&self) -> Vec<&str> {
        names(&self.providers())
    }
}

impl TargetReport {
    /// The result in one line.
    pub fn headline(&self, providers: &[&Provider]) -> Headline {
        Headline {
            result: self.result(providers),
            without_gang_scheduling: self.without_gang_scheduling(),
            leaves_gang_resources: self.leaves_gang_resources(),
        }
    }

    fn result(&self, providers: &[&Provider]) -> TargetResult {
        let owed: Vec<_> = self.clauses.iter().filter(|clause| is_owed(clause)).collect();
        let count = |verdicts: &[Verdict]| {
            owed.iter().filter(|clause| verdicts.contains(&clause.outcome.verdict)).count()
        };
        let violated = count(&[Verdict::Fail, Verdict::Flaky]);
        if violated > 0 {
            return TargetResult::Broken(violated);
        }
        let deviates = |clause: &&&ClauseResult| clause.outcome.verdict == Verdict::KnownDeviation;
        let deviating = owed.iter().filter(deviates).filter(|clause| clause.is_core()).count();
        if deviating > 0 {
            return TargetResult::Deviating(deviating);
        }
        let unchecked: Vec<_> = owed
            .iter()
            .filter(|clause| matches!(clause.outcome.verdict, Verdict::NotRun | Verdict::Error))
            .collect();
        let needed: BTreeSet<_> = unchecked.iter().map(|clause| environment(clause)).collect();
        if unchecked.is_empty() && !owed.is_empty() {
            TargetResult::Conformant
        } else if !owed.is_empty() && needed.iter().all(|environment| lack(providers, *environment)) {
            TargetResult::ConformantOn { provider: names(providers).join(" and "), needed }
        } else {
            TargetResult::InPart { checked: owed.len() - unchecked.len(), owed: owed.len() }
        }
    }

    fn leaves_gang_resources(&self) -> bool {
        let is_declared = |found: &ClauseResult| {
            found.feature.is_none_or(|feature| self.features.supported.contains(&feature))
        };
        self.clauses.iter().any(|found| {
            found.outcome.verdict == Verdict::Unsupported
                && !found.is_recommended()
                && is_declared(found)
                && clause(&found.id).is_some_and(|clause| clause.needs_gang_resources)
        })
    }

    fn without_gang_scheduling(&self) -> Option<Vec<Feature>> {
        let needs_gang_scheduling = |clause: &ClauseResult| clause.feature == Some(Feature::GangScheduling);
        if self.features.supported.contains(&Feature::GangScheduling)
            || !self.clauses.iter().any(needs_gang_scheduling)
        {
            return None;
        }
        let known = TARGETS.into_iter().find(|target| target.to_string() == self.title())?;
        let undeclared = known.features().iter().filter(|feature| !self.features.supported.contains(feature));
        Some(undeclared.copied().collect())
    }
}

fn is_owed(clause: &ClauseResult) -> bool {
    !clause.is_recommended() && clause.outcome.verdict != Verdict::Unsupported
}

fn names<'a>(providers: &[&'a Provider]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = providers.iter().map(|provider| provider.name.as_str()).collect();
    names.into_iter().collect()
}

fn environment(result: &ClauseResult) -> Environment {
    clause(&result.id).map_or(Environment::Any, |clause| clause.environment)
}

/// Whether these providers cannot check clauses for this environment, or only with additional options.
fn lack(providers: &[&Provider], environment: Environment) -> bool {
    let all = |condition: fn(&str) -> bool| providers.iter().all(|provider| condition(&provider.name));
    match environment {
        Environment::Any => false,
        Environment::Kubelet => all(|name| name == "local"),
        Environment::ControlPlane => all(|name| name != "local"),
        Environment::Schedulers | Environment::Upgrade => true,
    }
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = if self.without_gang_scheduling.is_some() { " without gang scheduling" } else { "" };
        match &self.result {
            TargetResult::Broken(1) => write!(f, "not conformant: 1 required clause failed")?,
            TargetResult::Broken(count) => write!(f, "not conformant: {count} required clauses failed")?,
            TargetResult::Deviating(1) => write!(f, "not conformant: 1 known deviation")?,
            TargetResult::Deviating(count) => write!(f, "not conformant: {count} known deviations")?,
            TargetResult::InPart { checked, owed } => {
                write!(f, "passed in part{without}: {checked} of {owed} clauses judged")?;
            }
            TargetResult::ConformantOn { provider, needed } => {
                let needed: Vec<_> = needed.iter().map(|environment| word(*environment)).collect();
                write!(f, "conformant{without} on {provider} (not judged here: {})", needed.join(", "))?;
            }
            TargetResult::Conformant => write!(f, "conformant{without}")?,
        }
        if let Some(undeclared) = self.without_gang_scheduling.as_ref().filter(|all| !all.is_empty()) {
            let names: Vec<_> = undeclared.iter().map(ToString::to_string).collect();
            write!(f, "; the operator does not declare {}", names.join(", "))?;
        }
        if self.leaves_gang_resources {
            f.write_str("; the operator leaves gang resources to another program")?;
        }
        Ok(())
    }
}

fn word(environment: Environment) -> &'static str {
    match environment {
        Environment::Any => "any",
        Environment::Kubelet => "kubelet",
        Environment::ControlPlane => "control plane",
        Environment::Schedulers => "several schedulers",
        Environment::Upgrade => "upgrade",
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::{CLAUSES, Clause};
    use conformance_contract::verdict::Outcome;

    use super::*;
    use crate::{CaseResult, Features, Judgement};

    fn on(provider: &str) -> Provider {
        Provider {
            name: provider.to_owned(),
            kubernetes_version: "v1.36.5".to_owned(),
            feature_gates: std::collections::BTreeMap::default(),
        }
    }

    /// One case checks every applicable clause of four groups.
    fn target(declared: &[Feature], found: impl Fn(&str) -> Outcome) -> TargetReport {
        let is_listed =
            |clause: &&Clause| ["AON", "GANG", "KLT", "MIG"].iter().any(|group| clause.id.starts_with(group));
        let listed: Vec<_> = CLAUSES.iter().filter(is_listed).collect();
        let owed =
            listed.iter().filter(|clause| clause.feature.is_none_or(|feature| declared.contains(&feature)));
        let judgements = owed.map(|clause| Judgement {
            clause: clause.id.to_owned(),
            outcome: found(clause.id),
            violations: Vec::new(),
        });
        let cases = vec![CaseResult::new("aon/all", "", judgements.collect())];
        let features = Features { supported: declared.to_vec(), ..Features::default() };
        TargetReport::new("volcano", None, "v1.15.1", features).conclude(listed, cases)
    }

    const ALL: [Feature; 2] = [Feature::GangScheduling, Feature::Kubelet];

    fn left_out(id: &str) -> Outcome {
        match clause(id).unwrap().environment {
            Environment::Kubelet | Environment::Upgrade => Outcome::not_run_announced("not here"),
            _ => Outcome::pass(),
        }
    }

    #[rstest::rstest]
    #[case::all_kept(&|_: &str| Outcome::pass(), "conformant")]
    #[case::one_broken(
        &|id: &str| if id == "AON-02" { Outcome::fail("bound") } else { Outcome::pass() },
        "not conformant: 1 required clause failed"
    )]
    #[case::deviating(
        &|id: &str| match id {
            "AON-02" | "AON-03" => Outcome::fail("").of_known_deviation("slow", true),
            _ => Outcome::pass(),
        },
        "not conformant: 2 known deviations"
    )]
    #[case::not_here(&left_out, "conformant on local (not judged here: kubelet, upgrade)")]
    fn the_headline_shows_violations_and_unchecked_clauses(
        #[case] found: &dyn Fn(&str) -> Outcome,
        #[case] headline: &str,
    ) {
        assert_eq!(target(&ALL, found).headline(&[&on("local")]).to_string(), headline);
    }

    #[test]
    fn a_run_with_unselected_clauses_passes_in_part() {
        let selected =
            |id: &str| if id == "AON-02" { Outcome::pass() } else { Outcome::not_run_announced("left out") };
        let headline = target(&ALL, selected).headline(&[&on("local")]).to_string();
        assert!(headline.starts_with("passed in part: 1 of "), "{headline}");
    }

    #[test]
    fn a_violated_recommendation_does_not_affect_the_headline() {
        let recommended = |id: &str| clause(id).unwrap().is_recommended();
        let found = |id: &str| if recommended(id) { Outcome::fail("as you like") } else { Outcome::pass() };
        assert_eq!(target(&ALL, found).headline(&[&on("local")]).to_string(), "conformant");
    }

    #[test]
    fn the_headline_mentions_gang_resources_of_another_program() {
        let excluded = |id: &str| {
            if id == "GANG-05" { Outcome::unsupported("the podgrouper's") } else { Outcome::pass() }
        };
        let headline = target(&ALL, excluded).headline(&[&on("local")]).to_string();
        assert_eq!(headline, "conformant; the operator leaves gang resources to another program");
    }

    #[test]
    fn without_gang_scheduling_the_headline_names_undeclared_features() {
        let headline = target(&[Feature::Kubelet], |_| Outcome::pass()).headline(&[&on("kind")]).to_string();
        let start = "conformant without gang scheduling; the operator does not declare GangScheduling, AtomicPodGang, ";
        assert!(headline.starts_with(start), "{headline}");
    }
}
