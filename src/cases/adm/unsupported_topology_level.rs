//! Each PodGang has one podgroup, so every target honours a required level of the PodCliqueSet.

use conformance_facts::attempts::Wanted;

use crate::backends;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A topology level that is not supported is refused, or admitted with a warning")
        .clauses(&[ADM_09, ADM_17]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let Ok(own) = backends::own(test.target) else { return Ok(()) };
    let asked = [false, true].map(|are_preferred| own.levels(test.target, are_preferred));
    test.attempt_creates(&test.manifest("levelled")?, &asked.concat()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(ADM_09, || answered(history, false)),
        finding(ADM_17, || {
            let target = history.header.target;
            let mut supported = backends::own(target)?.levels(target, true);
            supported.retain(|level| level.wanted == Wanted::Admitted);
            let admitted: Vec<_> = supported.into_iter().map(|level| level.silent_about(&[])).collect();
            precondition(ADM_04, answers(history, &admitted))?;
            answered(history, true)
        }),
    ]
}

fn answered(history: &History, are_preferred: bool) -> Ruling {
    let target = history.header.target;
    answers(history, &backends::own(target)?.levels(target, are_preferred))
}

#[cfg(test)]
mod tests {
    use conformance_contract::ruling::Broken;
    use conformance_contract::target::{TARGETS, Target};
    use conformance_history::testing::Story;

    use super::*;
    use crate::answered::answered;

    fn rulings(target: Target, admitted: &str) -> [Ruling; 2] {
        let own = backends::own(target).unwrap();
        let asked = [own.levels(target, false), own.levels(target, true)].concat();
        let story = answered(Story::on(target), &asked, &[(admitted, 201, "")]);
        let found = check(&story.end()).into_iter().map(|finding| finding.ruling);
        found.collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn each_level_is_checked_by_one_clause() {
        for target in TARGETS.into_iter().filter(|target| target.external().is_none()) {
            assert_eq!(rulings(target, ""), [Ok(()), Ok(())], "{target}");
            let own = backends::own(target).unwrap();
            for attempt in own.levels(target, true) {
                let [required, preferred] = rulings(target, attempt.title);
                assert_eq!(required, Ok(()), "{target}: {}", attempt.title);
                let is_broken = matches!(preferred, Err(Broken::Violated(_)));
                assert_eq!(is_broken, attempt.wanted == Wanted::RefusedOrWarned, "{target}: {preferred:?}");
            }
            for attempt in own.levels(target, false) {
                let [required, preferred] = rulings(target, attempt.title);
                assert_eq!(preferred, Ok(()), "{target}: {}", attempt.title);
                let is_broken = matches!(required, Err(Broken::Violated(_)));
                assert_eq!(is_broken, attempt.wanted == Wanted::Refused, "{target}: {required:?}");
            }
        }
    }

    #[test]
    fn a_supported_preference_that_is_refused_breaks_another_clause() {
        let own = backends::own(Target::KAI).unwrap();
        let asked = [own.levels(Target::KAI, false), own.levels(Target::KAI, true)].concat();
        let title = own.levels(Target::KAI, true)[0].title;
        let refused = answered(Story::on(Target::KAI), &asked, &[(title, 422, "no preferred level")]);
        let ruling = check(&refused.end()).remove(1).ruling;
        assert!(matches!(ruling, Err(Broken::Precondition { clause: ADM_04, .. })), "{ruling:?}");
    }
}
