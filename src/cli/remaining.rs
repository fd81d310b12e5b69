//! Estimates the remaining time of a run from measured durations, scaled by the speed so far.

use std::time::Duration;

use conformance_cases as cases;
use conformance_programs::components::PlannedBuild;

/// CPU seconds assumed for a build that was not measured.
const UNMEASURED_BUILD: f64 = 80.0;
/// Weight of the assumption that builds take their usual time, in seconds: a small first build says little
/// about the rest.
const PRIOR: f64 = 30.0;
/// The share of the work after which the remaining time of cases is estimated.
const ENOUGH: f64 = 0.1;

/// A rounded duration: `about 40 s left`, `about 4 min left`.
pub(crate) fn words(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..=89 => format!("about {} s left", (seconds / 10 + 1) * 10),
        seconds => format!("about {} min left", seconds.div_ceil(60)),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Builds {
    /// Names, and usual seconds on this machine's processors.
    planned: Vec<(String, f64)>,
    /// Usual seconds of the finished builds, and the time they took.
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

    /// `2 of 5 (kube-apiserver v1.36.4)`, or only the name if the build was not planned.
    pub(crate) fn title(&self, name: &str, version: &str) -> String {
        match self.place(name) {
            Some(place) => format!("{} of {} ({name} {version})", place + 1, self.planned.len()),
            None => format!("{name} {version}"),
        }
    }

    /// The time until all are built, if this build has already run for `elapsed`.
    pub(crate) fn left(&self, name: &str, elapsed: Duration) -> Option<Duration> {
        let place = self.place(name)?;
        let pace = (self.took + PRIOR) / (self.usual + PRIOR);
        let of = |planned: &[(String, f64)]| planned.iter().map(|(_, usual)| usual * pace).sum::<f64>();
        let now = (of(&self.planned[place..=place]) - elapsed.as_secs_f64()).max(0.0);
        Some(Duration::from_secs_f64(now + of(&self.planned[place + 1..])))
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.planned.iter().position(|(planned, _)| *planned == name)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cases {
    /// Usual seconds of all cases, and of the finished ones.
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

    /// The time until the last case ends, if the cases have already run for `elapsed`.
    pub(crate) fn left(&self, elapsed: Duration) -> Option<Duration> {
        let (share, rest) = (self.ended / self.all, self.all - self.ended);
        let is_known = share >= ENOUGH && rest > 0.01;
        is_known.then(|| Duration::from_secs_f64(rest * elapsed.as_secs_f64() / self.ended))
    }
}

fn usual(id: &str) -> f64 {
    cases::usual_length(id).as_secs_f64()
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
    fn times_are_rounded_up(#[case] seconds: u64, #[case] says: &str) {
        assert_eq!(words(Duration::from_secs(seconds)), says);
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
    fn a_build_says_which_it_is() {
        assert_eq!(builds().title("kube-apiserver", "v1.36.4"), "2 of 3 (kube-apiserver v1.36.4)");
        assert_eq!(builds().title("grove-operator", "v0.1.0"), "grove-operator v0.1.0");
    }

    #[test]
    fn what_is_left_follows_the_pace_of_what_is_built() {
        let mut builds = builds();
        let left = |builds: &Builds, name, elapsed| {
            builds.left(name, Duration::from_secs(elapsed)).unwrap().as_secs()
        };
        assert_eq!(left(&builds, "etcd", 0), 310);
        assert_eq!(left(&builds, "etcd", 40), 270);
        assert_eq!(left(&builds, "etcd", 400), 265, "one that takes longer than usual is about to end");
        builds.built("etcd", 120.0);
        assert_eq!(left(&builds, "kube-apiserver", 0), 530, "twice as slow as usual");
        assert_eq!(builds.left("grove-operator", Duration::ZERO), None);
    }

    #[test]
    fn of_cases_it_is_said_once_enough_has_ended() {
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
}
