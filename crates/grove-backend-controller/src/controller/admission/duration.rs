//! Durations as Go writes them (`4h`, `1h30m`, `-1.5s`), which is how `metav1.Duration` travels.

/// Whether a Go duration is more than nothing; `None` if it is no Go duration.
pub(super) fn is_positive_duration(text: &str) -> Option<bool> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned == "0" {
        return Some(false);
    }
    let mut rest = unsigned;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(number_end);
        number.parse::<f64>().ok()?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        if !["h", "m", "s", "ms", "us", "µs", "μs", "ns"].contains(&unit) {
            return None;
        }
        rest = tail;
    }
    (!unsigned.is_empty()).then(|| !negative && unsigned.contains(|c: char| ('1'..='9').contains(&c)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("4h", Some(true))]
    #[case("1h30m", Some(true))]
    #[case("+1.5h", Some(true))]
    #[case("250ms", Some(true))]
    #[case("0", Some(false))]
    #[case("0h0m", Some(false))]
    #[case("-1s", Some(false))]
    #[case("", None)]
    #[case("4", None)]
    #[case("h", None)]
    #[case("4d", None)]
    #[case("1.2.3s", None)]
    #[case(".s", None)]
    fn durations(#[case] text: &str, #[case] positive: Option<bool>) {
        assert_eq!(is_positive_duration(text), positive);
    }
}
