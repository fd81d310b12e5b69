//! Parses Kubernetes quantities (`resource.Quantity`) exactly: a number with a binary or decimal suffix.

use serde_json::Value;

/// An amount in billionths.
pub type Amount = i128;

pub const ONE: Amount = 1_000_000_000;

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 9] =
    [("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

pub fn amount(quantity: &Value) -> Option<Amount> {
    let text = match quantity {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    for (power, suffix) in (1u32..).zip(BINARY) {
        if let Some(digits) = text.strip_suffix(suffix) {
            return decimal(digits, 0)?.checked_mul(1024i128.checked_pow(power)?);
        }
    }
    for (suffix, exponent) in DECIMAL {
        if let Some(digits) = text.strip_suffix(suffix) {
            return decimal(digits, exponent);
        }
    }
    match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => decimal(digits, exponent.parse().ok()?),
        None => decimal(&text, 0),
    }
}

/// Fractions of a billionth are dropped.
fn decimal(digits: &str, exponent: i32) -> Option<Amount> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let number: Amount = format!("{whole}{fraction}").parse().ok()?;
    let power = exponent + 9 - i32::try_from(fraction.len()).ok()?;
    let scale = 10i128.checked_pow(power.unsigned_abs())?;
    if power < 0 { Some(number / scale) } else { number.checked_mul(scale) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case(json!("8"), Some(8 * ONE))]
    #[case(json!(8), Some(8 * ONE))]
    #[case(json!("100m"), Some(ONE / 10))]
    #[case(json!("0.5"), Some(ONE / 2))]
    #[case(json!("1.5Gi"), Some(1536 * 1024 * 1024 * ONE))]
    #[case(json!("2k"), Some(2000 * ONE))]
    #[case(json!("1E"), Some(1_000_000_000_000_000_000 * ONE))]
    #[case(json!("12e3"), Some(12_000 * ONE))]
    #[case(json!("5n"), Some(5))]
    #[case(json!("much"), None)]
    #[case(json!(null), None)]
    fn a_quantity_has_an_exact_amount(#[case] quantity: Value, #[case] wanted: Option<Amount>) {
        assert_eq!(amount(&quantity), wanted);
    }
}
