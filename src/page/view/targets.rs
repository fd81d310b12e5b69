use conformance_report::{Report, Standing, TargetReport, Verdict, overview};

pub(super) struct Target {
    pub(super) title: String,
    pub(super) head: String,
    pub(super) version: String,
    pub(super) headline: String,
    pub(super) kept: usize,
    pub(super) owed: usize,
    pub(super) segments: Vec<Segment>,
}

/// `x` and `width` are in percent.
pub(super) struct Segment {
    pub(super) verdict: &'static str,
    pub(super) count: usize,
    pub(super) x: f64,
    pub(super) width: f64,
}

pub(super) struct Shown {
    pub(super) word: String,
    pub(super) is_failure: bool,
    pub(super) clauses: Vec<String>,
}

impl Target {
    pub(super) fn of(target: &TargetReport, report: &Report) -> Self {
        let all = target.summary.all();
        let total = all.total().max(1) as f64;
        let (mut segments, mut x) = (Vec::new(), 0.0);
        for verdict in Verdict::ALL {
            let count = all.of(verdict);
            let width = 100.0 * count as f64 / total;
            if count > 0 {
                segments.push(Segment { verdict: verdict.as_str(), count, x, width });
            }
            x += width;
        }
        Self {
            title: target.title(),
            head: target.head().join(" "),
            version: target.scheduler(),
            headline: target.headline(&report.providers()).to_string(),
            kept: all.pass,
            owed: all.total() - all.unsupported,
            segments,
        }
    }
}

pub(super) fn features(report: &Report) -> Vec<(String, Vec<Option<Shown>>)> {
    let evidence: Vec<_> = report.targets.iter().map(TargetReport::evidence).collect();
    let rows = overview::features(report).into_iter().map(|(feature, _)| {
        let cells = evidence.iter().map(|of| {
            of.iter().find(|of| of.name == feature).map(|of| Shown {
                word: of.standing.to_string(),
                is_failure: of.standing == Standing::DeclaredAndNotShown,
                clauses: of.clauses.clone(),
            })
        });
        (feature.to_string(), cells.collect())
    });
    rows.collect()
}
