use std::collections::BTreeSet;

use conformance_contract::clauses::{Class, Feature, Tier};
use conformance_report::{CaseResult, ClauseResult, Report, TargetReport, Verdict};

pub(super) struct Filters {
    pub(super) verdicts: Vec<(&'static str, usize)>,
    pub(super) tiers: Vec<&'static str>,
    pub(super) classes: Vec<&'static str>,
    pub(super) levels: Vec<String>,
    pub(super) features: Vec<Feature>,
}

/// What the filter compares in addition to the row's text.
pub(super) struct Facts {
    pub(super) tiers: String,
    pub(super) levels: String,
    pub(super) verdict: &'static str,
}

pub(super) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Agnostic => "agnostic",
        Class::Sensitive => "sensitive",
        Class::CapabilityBound => "capability-bound",
        Class::BackendSpecific => "backend-specific",
    }
}

fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Contract => "contract",
        Tier::Scheduling => "scheduling",
    }
}

impl Filters {
    pub(super) fn of(report: &Report) -> Self {
        let clauses = || report.targets.iter().flat_map(|target| &target.clauses);
        let count = |verdict: Verdict| clauses().filter(|clause| clause.outcome.verdict == verdict).count();
        let classes = [Class::Agnostic, Class::Sensitive, Class::CapabilityBound, Class::BackendSpecific];
        let levels: BTreeSet<_> = clauses().map(|clause| clause.level).collect();
        let features: BTreeSet<_> = clauses().filter_map(|clause| clause.feature).collect();
        Self {
            verdicts: Verdict::ALL
                .into_iter()
                .map(|verdict| (verdict.as_str(), count(verdict)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            tiers: vec![tier_name(Tier::Contract), tier_name(Tier::Scheduling)],
            classes: classes.into_iter().map(class_name).collect(),
            levels: levels.iter().map(ToString::to_string).collect(),
            features: features.into_iter().collect(),
        }
    }
}

pub(super) fn facts(clause: &ClauseResult) -> Facts {
    Facts {
        tiers: format!("{} {}", tier_name(clause.judged_on), class_name(clause.class)),
        levels: match clause.feature {
            Some(feature) => format!("{} {feature}", clause.level),
            None => clause.level.to_string(),
        },
        verdict: clause.outcome.verdict.as_str(),
    }
}

pub(super) fn facts_of_case(target: &TargetReport, case: &CaseResult) -> Facts {
    let clause = |id: &str| target.clauses.iter().find(|clause| clause.id == id);
    let all: Vec<Facts> =
        case.clauses.iter().filter_map(|judgement| clause(&judgement.clause)).map(facts).collect();
    let words = |field: fn(&Facts) -> &str| {
        let words: BTreeSet<&str> = all.iter().flat_map(|facts| field(facts).split(' ')).collect();
        words.into_iter().collect::<Vec<_>>().join(" ")
    };
    Facts {
        tiers: words(|facts| &facts.tiers),
        levels: words(|facts| &facts.levels),
        verdict: case.outcome.verdict.as_str(),
    }
}
