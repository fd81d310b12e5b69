use conformance_contract::target::Target;

use super::super::fixture::story;
use super::*;

#[test]
fn units_are_those_that_the_target_declares() {
    let history = |target| story(target, true).end();
    assert_eq!(units(&history(Target::TRAINJOB_KAI), "t").unwrap().len(), 1);
    assert_eq!(units(&history(Target::TRAINJOB_KUBE), "t").unwrap().len(), 2);
}
