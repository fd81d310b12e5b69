//! The chart of a run's time: one bar per case, in as many rows as cases ran at once, and sums per group.

use std::time::Duration;

use conformance_report::{Report, Seconds};
use jiff::{SignedDuration, Timestamp};

/// Lengths are in percent of the chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub case: usize,
    pub row: usize,
    pub x: f64,
    pub width: f64,
    /// Not spent on the workload.
    pub overhead: f64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub case: usize,
    pub begin: Timestamp,
    pub length: Duration,
    /// Part of the length that was not spent on the workload.
    pub overhead: Duration,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Chart {
    pub bars: Vec<Bar>,
    pub rows: usize,
    /// Marks of the time axis: position in percent, and seconds since the start of the chart.
    pub ticks: Vec<(f64, u64)>,
    /// Time from the start of the first case to the end of the last one.
    pub length: Duration,
    /// Time from the start of the run to the first case. `None` if the report's times contradict each other.
    pub before: Option<Duration>,
    pub after: Option<Duration>,
}

/// Intervals of the marks of the time axis, in seconds.
const STEPS: [u64; 11] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800];

impl Chart {
    /// Puts each case into the first row that is free when the case starts.
    pub(crate) fn of(report: &Report, mut spans: Vec<Span>) -> Self {
        spans.sort_by_key(|span| (span.begin, span.case));
        let end = |span: &Span| span.begin + SignedDuration::try_from(span.length).unwrap_or_default();
        let (Some(begin), Some(last)) = (spans.first().map(|span| span.begin), spans.iter().map(end).max())
        else {
            return Self::default();
        };
        let length = last.duration_since(begin);
        let whole = length.as_secs_f64().max(0.001);
        let mut ends: Vec<Timestamp> = Vec::new();
        let bars = spans.iter().map(|span| {
            let row = match ends.iter().position(|end| *end <= span.begin) {
                Some(free) => free,
                None => {
                    ends.push(span.begin);
                    ends.len() - 1
                }
            };
            ends[row] = end(span);
            Bar {
                case: span.case,
                row,
                x: 100.0 * span.begin.duration_since(begin).as_secs_f64() / whole,
                width: 100.0 * span.length.as_secs_f64() / whole,
                overhead: 100.0 * span.overhead.as_secs_f64() / whole,
            }
        });
        let bars = bars.collect();
        let step = STEPS.into_iter().find(|step| whole / (*step as f64) <= 8.0).unwrap_or(3_600);
        let ticks = (0..).map(|mark| mark * step).take_while(|seconds| *seconds as f64 <= whole);
        let ticks = ticks.map(|seconds| (100.0 * seconds as f64 / whole, seconds)).collect();
        let run_begin = report.date
            - SignedDuration::try_from(Duration::from(report.timings.total_seconds)).unwrap_or_default();
        Self {
            bars,
            rows: ends.len(),
            ticks,
            length: length.unsigned_abs(),
            before: Duration::try_from(begin.duration_since(run_begin)).ok(),
            after: Duration::try_from(report.date.duration_since(last)).ok(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    pub name: String,
    pub cases: usize,
    pub seconds: Seconds,
    /// Part of the length that was not spent on the workload.
    pub overhead: Seconds,
}

/// Sums the cases per group, longest group first.
pub(crate) fn shares(report: &Report, name: impl Fn(usize, &str) -> String) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    for (number, target) in report.targets.iter().enumerate() {
        for case in target.cases.iter().filter(|case| case.attempts > 0) {
            let name = name(number, &case.id);
            let index = shares.iter().position(|share| share.name == name).unwrap_or_else(|| {
                shares.push(Share {
                    name,
                    cases: 0,
                    seconds: Seconds::default(),
                    overhead: Seconds::default(),
                });
                shares.len() - 1
            });
            let share = &mut shares[index];
            share.cases += 1;
            share.seconds = [share.seconds, case.duration_seconds].into_iter().sum();
            share.overhead = [share.overhead, case.overhead_seconds.unwrap_or_default()].into_iter().sum();
        }
    }
    shares.sort_by_key(|share| std::cmp::Reverse(share.seconds));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = conformance_report::testing::report(Vec::new());
        report.date = "2026-12-01T10:01:00Z".parse().unwrap();
        report.timings.total_seconds = Duration::from_secs(60).into();
        report
    }

    fn span(case: usize, begin: u64, seconds: u64) -> Span {
        let zero: Timestamp = "2026-12-01T10:00:10Z".parse().unwrap();
        let after = |seconds: u64| SignedDuration::from_secs(seconds as i64);
        let (length, overhead) = (Duration::from_secs(seconds), Duration::from_secs(1));
        Span { case, begin: zero + after(begin), length, overhead }
    }

    #[test]
    fn concurrent_cases_are_in_different_rows() {
        let chart =
            Chart::of(&report(), vec![span(2, 5, 15), span(0, 0, 10), span(1, 0, 5), span(3, 10, 30)]);
        let rows: Vec<_> = chart.bars.iter().map(|bar| (bar.case, bar.row)).collect();
        assert_eq!(rows, [(0, 0), (1, 1), (2, 1), (3, 0)]);
        assert_eq!((chart.rows, chart.length), (2, Duration::from_secs(40)));
        assert_eq!((chart.bars[3].x, chart.bars[3].width, chart.bars[3].overhead), (25.0, 75.0, 2.5));
        assert_eq!(chart.before, Some(Duration::from_secs(10)), "the run began a minute before its end");
        assert_eq!(chart.after, Some(Duration::from_secs(10)));
        let ticks: Vec<_> = chart.ticks.iter().map(|(_, seconds)| *seconds).collect();
        assert_eq!(ticks, [0, 5, 10, 15, 20, 25, 30, 35, 40]);
    }

    #[test]
    fn a_report_without_histories_has_an_empty_chart() {
        assert_eq!(Chart::of(&report(), Vec::new()), Chart::default());
    }

    #[test]
    fn a_case_of_length_zero_has_finite_coordinates() {
        let chart = Chart::of(&report(), vec![span(0, 0, 0)]);
        assert!(chart.bars[0].x.is_finite() && chart.bars[0].width.is_finite(), "{chart:?}");
    }
}
