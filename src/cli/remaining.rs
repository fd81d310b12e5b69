//! Estimates the remaining time of builds and cases: their usual durations, scaled by the speed so far.

use std::time::Duration;

use conformance_programs::components::PlannedBuild;
use conformance_run::suites;

/// CPU seconds of a build whose usual duration is unknown.
const UNMEASURED_BUILD: f64 = 80.0;
/// Additional seconds at the usual speed, so that a short first build does not distort the estimate.
const PRIOR: f64 = 30.0;
/// The share of the cases that must have ended before the remaining time is estimated.
const MIN_SHARE: f64 = 0.1;

pub(crate) fn describe(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..=89 => format!("about {} s left", (seconds / 10 + 1) * 10),
        seconds => format!("about {} min left", seconds.div_ceil(60)),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Builds {
    /// The builds, each with its usual seconds on the processors of this machine.
    planned: Vec<(String, f64)>,
    /// The usual seconds of the finished builds, and the seconds that they took.
    usual: f64,
    took: f64,
}

impl Builds {
    pub(crate) fn of(builds: &[PlannedBuild], processors: usize) -> Self {
        let usual = |build: &PlannedBuild| build.seconds.unwrap_or(UNMEASURED_BUILD) / processors as f64;
        Self {
            planned: builds.iter().map(|build| (build.names.clone(), usual(build))).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn built(&mut self, name: &str, seconds: f64) {
        if let Some(place) = self.place(name) {
            self.usual += self.planned[place].1;
            self.took += seconds;
        }
    }

    /// `2 of 5 (kube-apiserver v1.36.4)`, or only name and version if the build was not planned.
    pub(crate) fn title(&self, name: &str, version: &str) -> String {
        match self.place(name) {
            Some(place) => format!("{} of {} ({name} {version})", place + 1, self.planned.len()),
            None => format!("{name} {version}"),
        }
    }

    /// Returns the time until all builds have ended, if the build `name` has run for `elapsed`.
    pub(crate) fn left(&self, name: &str, elapsed: Duration) -> Option<Duration> {
        let place = self.place(name)?;
        let pace = (self.took + PRIOR) / (self.usual + PRIOR);
        let expected = |planned: &[(String, f64)]| planned.iter().map(|(_, usual)| usual * pace).sum::<f64>();
        let this_build = (expected(&self.planned[place..=place]) - elapsed.as_secs_f64()).max(0.0);
        Some(Duration::from_secs_f64(this_build + expected(&self.planned[place + 1..])))
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.planned.iter().position(|(planned, _)| *planned == name)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cases {
    /// The usual seconds of all cases that run, and of the finished ones.
    all: f64,
    ended: f64,
}

impl Cases {
    pub(crate) fn of<'a>(ids: impl Iterator<Item = &'a str>) -> Self {
        Self { all: ids.map(usual).sum(), ended: 0.0 }
    }

    pub(crate) fn ended(&mut self, id: &str) {
        self.ended += usual(id);
    }

    /// Removes a case that is not run: it takes no time, so it shows nothing about the speed of others.
    pub(crate) fn left_out(&mut self, id: &str) {
        self.all -= usual(id);
    }

    /// `None` until enough cases have ended.
    pub(crate) fn left(&self, elapsed: Duration) -> Option<Duration> {
        let (share, rest) = (self.ended / self.all, self.all - self.ended);
        let is_known = share >= MIN_SHARE && rest > 0.01;
        is_known.then(|| Duration::from_secs_f64(rest * elapsed.as_secs_f64() / self.ended))
    }
}

fn usual(id: &str) -> f64 {
    suites::usual_length(id).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, "about 10 s left")]
    #[case(35, "about 40 s left")]
    #[case(89, "about 90 s left")]
    #[case(90, "about 2 min left")]
    #[case(241, "about 5 min left")]
    fn times_are_rounded_up(#[case] seconds: u64, #[case] text: &str) {
        assert_eq!(describe(Duration::from_secs(seconds)), text);
    }

    fn builds() -> Builds {
        Builds {
            planned: [("etcd", 45.0), ("kube-apiserver", 205.0), ("kwok", 60.0)]
                .map(|(name, usual)| (name.to_owned(), usual))
                .into(),
            ..Builds::default()
        }
    }

    #[test]
    fn a_planned_build_has_a_position() {
        assert_eq!(builds().title("kube-apiserver", "v1.36.4"), "2 of 3 (kube-apiserver v1.36.4)");
        assert_eq!(builds().title("grove-operator", "v0.1.0"), "grove-operator v0.1.0");
    }

    #[test]
    fn the_estimate_for_builds_follows_the_measured_speed() {
        let mut builds = builds();
        let left = |builds: &Builds, name, elapsed| {
            builds.left(name, Duration::from_secs(elapsed)).unwrap().as_secs()
        };
        assert_eq!(left(&builds, "etcd", 0), 310);
        assert_eq!(left(&builds, "etcd", 40), 270);
        assert_eq!(left(&builds, "etcd", 400), 265, "a build that takes longer than usual is about to end");
        builds.built("etcd", 120.0);
        assert_eq!(left(&builds, "kube-apiserver", 0), 530, "twice as slow as usual");
        assert_eq!(builds.left("grove-operator", Duration::ZERO), None);
    }

    #[test]
    fn the_estimate_for_cases_needs_a_share_of_ended_cases() {
        let ids = ["no/such-case"; 20];
        let mut cases = Cases::of(ids.into_iter());
        cases.ended(ids[0]);
        assert_eq!(cases.left(Duration::from_secs(1)), None);
        for id in &ids[1..10] {
            cases.ended(id);
        }
        assert_eq!(cases.left(Duration::from_secs(30)), Some(Duration::from_secs(30)));
        ids[10..].iter().for_each(|id| cases.ended(id));
        assert_eq!(cases.left(Duration::from_secs(60)), None, "nothing is left");
    }

    #[test]
    fn cases_that_are_not_run_do_not_shorten_the_estimate() {
        let ids = ["no/such-case"; 30];
        let mut cases = Cases::of(ids.into_iter());
        ids[..10].iter().for_each(|id| cases.left_out(id));
        assert_eq!(cases.left(Duration::from_secs(5)), None);
        ids[10..20].iter().for_each(|id| cases.ended(id));
        assert_eq!(cases.left(Duration::from_secs(30)), Some(Duration::from_secs(30)));
    }
}
