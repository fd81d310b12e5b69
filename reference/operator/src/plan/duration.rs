//! Durations in Go's format (`4h`, `1h30m`, `-1.5s`), in which `metav1.Duration` is serialized.

use std::time::Duration;

use crate::faults::fault;

/// A negative duration becomes zero.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned == "0" {
        return Some(Duration::ZERO);
    }
    let mut seconds = 0.0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(number_end);
        let number = number.parse::<f64>().ok()?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        seconds += number
            * match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" | "μs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = tail;
        if fault!("first-unit-only") {
            break;
        }
    }
    let duration = if negative { Duration::ZERO } else { Duration::try_from_secs_f64(seconds).ok()? };
    (!unsigned.is_empty()).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("4h", Some(14_400_000))]
    #[case("1h30m", Some(5_400_000))]
    #[case("+1.5h", Some(5_400_000))]
    #[case("250ms", Some(250))]
    #[case("0", Some(0))]
    #[case("0h0m", Some(0))]
    #[case("-1s", Some(0))]
    #[case("", None)]
    #[case("4", None)]
    #[case("h", None)]
    #[case("4d", None)]
    #[case("1.2.3s", None)]
    #[case(".s", None)]
    fn durations_are_parsed_as_in_go(#[case] text: &str, #[case] milliseconds: Option<u64>) {
        assert_eq!(duration(text), milliseconds.map(Duration::from_millis));
    }
}
