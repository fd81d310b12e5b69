//! A panic in the driver or in the check of a case is an error of this case only.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use conformance_cluster::ClusterError;
use conformance_contract::ruling::{Broken, Finding};
use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_driver::context::Stop;
use conformance_history::History;
use futures::FutureExt;

use crate::verdict;

pub(super) async fn caught<T>(
    what: &'static str,
    work: impl Future<Output = Result<T, Stop>>,
) -> Result<T, Stop> {
    // `AssertUnwindSafe` is correct: after a panic, only the watches and the cleanup use the case's state.
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.unwrap_or_else(|panic| Err(Stop::Cluster(defect(what, &*panic))))
}

pub(super) fn check(case: &Case, history: &History) -> Result<Vec<Finding>, ClusterError> {
    let findings = catch_unwind(AssertUnwindSafe(|| verdict::findings(case, history)));
    findings.map_err(|panic| defect("the case's check", &*panic))
}

fn defect(what: &'static str, panic: &(dyn Any + Send)) -> ClusterError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
    ClusterError::Defect { what, message: message.unwrap_or_else(|| "no message".into()) }
}

pub(super) fn undecided(case: &Case, target: Target) -> Vec<Finding> {
    let ruling = || Err(Broken::NotReached("the check panicked".into()));
    let clauses = verdict::checked_clauses(case, target);
    clauses.into_iter().map(|clause| Finding { clause, ruling: ruling() }).collect()
}

#[cfg(test)]
mod tests {
    use conformance_contract::verdict::Verdict;
    use conformance_history::testing::Story;

    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_driver_is_an_error_of_its_case() {
        let result: Result<(), Stop> = caught("the case's driver", async { panic!("no {}", "way") }).await;
        assert_eq!(
            result.unwrap_err().to_string(),
            "a defect of the suite: the case's driver panicked: no way; open an issue with this message"
        );
        assert!(caught("the case's driver", async { Ok(7) }).await.is_ok_and(|number| number == 7));
    }

    #[test]
    fn a_check_that_panics_makes_every_clause_an_error() {
        let any = crate::suites::cases().find(|case| case.clauses.contains(&"DEL-07")).unwrap();
        let case = Case { check: |_| panic!("out of range"), ..*any };
        let history = Story::flat().end();
        let defect = check(&case, &history).unwrap_err();
        let (target, stop) = (history.header.target, Stop::Cluster(defect));
        let judgements = verdict::judgements(&case, target, &history, &undecided(&case, target), Some(&stop));
        assert!(!judgements.is_empty());
        for judgement in judgements {
            assert_eq!(judgement.outcome.verdict, Verdict::Error, "{}", judgement.clause);
            assert!(
                judgement.outcome.reason().as_ref().is_some_and(|reason| reason.contains("out of range"))
            );
        }
    }
}
