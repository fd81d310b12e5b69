//! Resolves plain scalars by the rules of go-yaml 2 (`resolve.go`), which kubectl (`sigs.k8s.io/yaml`) uses.

/// Returns a scalar that YAML 1.2 reads as kubectl reads `plain`, or `None` if both read `plain` alike.
pub(crate) fn in_yaml_1_2(plain: &str) -> Option<String> {
    match plain {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some("true".into()),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some("false".into()),
        _ => {}
    }
    if !plain.starts_with(['+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        return None;
    }
    let digits = plain.replace('_', "");
    let read = integer(&digits).or_else(|| (digits != plain).then(|| float(&digits)).flatten())?;
    (read != plain).then_some(read)
}

/// Parses an integer like Go's base 0: `0x`, `0o`, `0b`, or octal after a leading 0.
fn integer(text: &str) -> Option<String> {
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixed = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| number.strip_prefix(prefix));
    let (number, base) = if let Some(number) = prefixed(["0x", "0X"]) {
        (number, 16)
    } else if let Some(number) = prefixed(["0o", "0O"]) {
        (number, 8)
    } else if let Some(number) = prefixed(["0b", "0B"]) {
        (number, 2)
    } else if number.len() > 1 && number.starts_with('0') {
        (number, 8)
    } else {
        (number, 10)
    };
    // `from_str_radix` would accept a second sign.
    let value =
        number.starts_with(|c: char| c.is_ascii_hexdigit()).then(|| u64::from_str_radix(number, base));
    Some(format!("{sign}{}", value?.ok()?))
}

fn float(text: &str) -> Option<String> {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    (text.chars().all(is_number) && text.parse::<f64>().is_ok()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("yes", Some("true"))]
    #[case("OFF", Some("false"))]
    #[case("y", Some("true"))]
    #[case("yEs", None)]
    #[case("true", None)]
    #[case("12", None)]
    #[case("-12", None)]
    #[case("+12", Some("12"))]
    #[case("1_000", Some("1000"))]
    #[case("010", Some("8"))]
    #[case("0o10", Some("8"))]
    #[case("0x1F", Some("31"))]
    #[case("-0b11", Some("-3"))]
    #[case("08", None)]
    #[case("1_0.5", Some("10.5"))]
    #[case("1.5", None)]
    #[case("1Gi", None)]
    #[case("1_a", None)]
    #[case("2026-01-01", None)]
    #[case("10.0.0.1", None)]
    #[case("--5", None)]
    #[case("", None)]
    fn plain_scalars_are_read_like_go(#[case] plain: &str, #[case] wanted: Option<&str>) {
        assert_eq!(in_yaml_1_2(plain).as_deref(), wanted);
    }
}
