//! Durations in a document: seconds with exact milliseconds, so that sums can be recomputed and compared.

use std::{fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A duration in seconds, exact to the millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(into = "f64", try_from = "f64")]
#[schemars(extend("minimum" = 0))]
pub struct Seconds {
    millis: u64,
}

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self { millis: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX) }
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        Duration::from_millis(seconds.millis)
    }
}

impl From<Seconds> for f64 {
    fn from(seconds: Seconds) -> Self {
        Duration::from(seconds).as_secs_f64()
    }
}

impl TryFrom<f64> for Seconds {
    type Error = std::time::TryFromFloatSecsError;

    fn try_from(seconds: f64) -> Result<Self, Self::Error> {
        // Add half a millisecond for rounding: the nearest float may be slightly below the exact millisecond.
        Ok(Duration::try_from_secs_f64(seconds)?.saturating_add(Duration::from_micros(500)).into())
    }
}

impl std::iter::Sum for Seconds {
    fn sum<I: Iterator<Item = Seconds>>(durations: I) -> Self {
        Self { millis: durations.fold(0, |sum, duration| sum.saturating_add(duration.millis)) }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} s", f64::from(*self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0)]
    #[case(1)]
    #[case(1_001)]
    #[case(59_999)]
    #[case(4_321_987)]
    fn seconds_keep_their_milliseconds(#[case] millis: u64) {
        let seconds = Seconds::from(Duration::from_millis(millis) + Duration::from_micros(999));
        let text = serde_json::to_string(&seconds).unwrap();
        assert_eq!(serde_json::from_str::<Seconds>(&text).unwrap(), seconds, "{text}");
        assert_eq!(Duration::from(seconds), Duration::from_millis(millis));
    }

    #[test]
    fn negative_seconds_are_refused() {
        assert!(serde_json::from_str::<Seconds>("-1.0").is_err());
    }
}
