//! Negative controls: a cluster or a controller is broken on purpose, and certain clauses must fail.
//!
//! A suite that passes on a broken backend is worthless, and one that fails on unrelated clauses cannot be trusted:
//! each control lists the clauses that must fail and those that may; if any other fails, the suite is defective.
//!
//! The controls are in the files beside this one, by provider: local processes, or containers with kubelets.

mod kind;
mod local;

use conformance_cluster::local::ClusterSpec;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Isolation};

/// Where a control's cluster comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlCluster {
    /// Local processes.
    Local,
    /// Containers: it is about kubelets.
    Kind,
}

impl ControlCluster {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Local, Self::Kind];

    /// As the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kind => "kind",
        }
    }

    /// The controls that are run there.
    pub fn controls(self) -> &'static [Control] {
        match self {
            Self::Local => local::CONTROLS,
            Self::Kind => kind::CONTROLS,
        }
    }

    /// The control of that name, if it is run there.
    pub fn control(self, name: &str) -> Option<&'static Control> {
        self.controls().iter().find(|control| control.name == name)
    }
}

/// A deliberate breakage.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    /// Its name.
    pub name: &'static str,
    /// What is broken, in a line.
    pub title: &'static str,
    /// The cluster.
    pub spec: fn() -> ClusterSpec,
    /// The target it is run on.
    pub target: Target,
    /// The cases that are run, by id or group; empty for all. A breakage that leaves no gang at all says nothing about
    /// most.
    pub cases: &'static [&'static str],
    /// At least one of each of these sets must turn red.
    pub must: &'static [&'static [&'static str]],
    /// These may.
    pub may: &'static [&'static str],
    /// None of these may be judged kept: what is broken ends in an error that says this, because the scheduler ends
    /// rather than break its promise.
    pub unproven: Option<(&'static [&'static str], &'static str)>,
}

/// What a control's run says about the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The clauses that turned red.
    pub red: Vec<String>,
    /// Sets of which none turned red, though one had to.
    pub missing: Vec<Vec<&'static str>>,
    /// Clauses that turned red and may not.
    pub unexpected: Vec<String>,
    /// Clauses that were judged kept and cannot have been.
    pub proven: Vec<String>,
    /// Nothing ended in the error that it had to.
    pub unexplained: bool,
}

impl Control {
    /// Whether a case is run: cases that are alone configure the controller themselves, and would mend what is broken.
    pub fn runs(&self, case: &Case) -> bool {
        !matches!(case.isolation, Isolation::Dedicated | Isolation::Upgrade)
            && case.is_for(self.target)
            && (self.cases.is_empty() || self.cases.iter().any(|word| case.is_called(word)))
    }

    /// Holds the clauses that turned red, those that were judged kept, and the reasons of those that ended in an error,
    /// against what the control says.
    pub fn judge(&self, red: Vec<String>, kept: &[String], errors: &[(String, String)]) -> Outcome {
        let is_red = |id: &str| red.iter().any(|clause| clause == id);
        let missing =
            self.must.iter().filter(|set| !set.iter().any(|id| is_red(id))).map(|set| set.to_vec()).collect();
        let allowed = |id: &String| {
            self.may.contains(&id.as_str()) || self.must.iter().any(|set| set.contains(&id.as_str()))
        };
        let unexpected = red.iter().filter(|id| !allowed(id)).cloned().collect();
        let (unproven, because) = self.unproven.unwrap_or_default();
        let is_unproven = |id: &str| unproven.contains(&id);
        let proven = kept.iter().filter(|id| is_unproven(id)).cloned().collect();
        let mut explained = errors.iter().filter(|(id, reason)| is_unproven(id) && reason.contains(because));
        let unexplained = self.unproven.is_some() && explained.next().is_none();
        Outcome { red, missing, unexpected, proven, unexplained }
    }
}

impl Outcome {
    /// Whether the suite saw what it had to, and nothing else.
    pub fn is_sound(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.proven.is_empty() && !self.unexplained
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance_cases as cases;
    use conformance_contract::clauses::CLAUSES;

    use super::*;

    fn judge(red: &[&str]) -> Outcome {
        let control = ControlCluster::Local.control("no-owner-references").unwrap();
        control.judge(red.iter().map(|id| (*id).to_owned()).collect(), &[], &[])
    }

    #[test]
    fn one_of_each_set_must_be_red() {
        assert!(judge(&["GANG-08", "DEL-01"]).is_sound());
        assert_eq!(judge(&["GANG-08"]).missing, [["DEL-01"]]);
        assert_eq!(judge(&["DEL-01"]).missing, [["GANG-01", "GANG-08"]]);
    }

    #[test]
    fn what_cannot_have_been_kept_is_not() {
        let control = ControlCluster::Local.control("koordinator-without-topology").unwrap();
        let error = |reason: &str| [("TOPO-01".to_owned(), reason.to_owned())];
        let died = error("koord-scheduler ended with exit status: 2");
        assert!(control.judge(Vec::new(), &["TOPO-04".to_owned()], &died).is_sound());
        assert!(!control.judge(Vec::new(), &[], &error("the cluster did not come up")).is_sound());
        assert_eq!(control.judge(Vec::new(), &["TOPO-02".to_owned()], &died).proven, ["TOPO-02"]);
    }

    #[test]
    fn nothing_else_may_be() {
        assert_eq!(judge(&["GANG-01", "DEL-01", "AON-01"]).unexpected, ["AON-01"]);
    }

    fn all() -> impl Iterator<Item = &'static Control> {
        ControlCluster::ALL.into_iter().flat_map(ControlCluster::controls)
    }

    #[test]
    fn names_are_unique_and_words_mean_cases() {
        let names: BTreeSet<_> = all().map(|control| control.name).collect();
        assert_eq!(names.len(), all().count());
        for control in all() {
            for word in control.cases {
                let meant = cases::all().any(|case| case.is_called(word) && control.runs(case));
                assert!(meant, "{}: {word}", control.name);
            }
        }
    }

    #[test]
    fn what_kubelets_show_is_seen_broken() {
        let unbroken = CLAUSES.iter().map(|clause| clause.id).filter(|id| {
            let mut sets = ControlCluster::Kind.controls().iter().flat_map(|control| control.must);
            id.starts_with("KLT-") && !sets.any(|set| set.contains(id))
        });
        assert_eq!(unbroken.collect::<Vec<_>>(), [""; 0]);
        for control in ControlCluster::Kind.controls() {
            let run: Vec<_> = cases::all().filter(|case| control.runs(case)).collect();
            for id in control.must.iter().copied().flatten() {
                let judged = run.iter().any(|case| case.clauses.contains(id));
                assert!(judged, "{}: no case of it judges {id}", control.name);
            }
        }
    }
}
