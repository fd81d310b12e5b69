use super::*;

fn these(indices: &[u16]) -> Unhealthy {
    Unhealthy::These(indices.iter().copied().collect())
}

#[rstest::rstest]
#[case("", these(&[]), "none")]
#[case("  ", these(&[]), "none")]
#[case("0", these(&[0]), "0")]
#[case("0,3", these(&[0, 3]), "0,3")]
#[case(" 3, 0 ,3 ", these(&[0, 3]), "0,3")]
#[case("all", Unhealthy::All, "all")]
fn unhealthy_indices_are_parsed(#[case] text: &str, #[case] expected: Unhealthy, #[case] shown: &str) {
    let unhealthy: Unhealthy = text.parse().unwrap();
    assert_eq!((unhealthy.to_string().as_str(), &unhealthy), (shown, &expected));
}

#[rstest::rstest]
#[case(",")]
#[case("0,,3")]
#[case("0,3,")]
#[case("-1")]
#[case("one")]
#[case("0;3")]
#[case("ALL")]
#[case("all,0")]
#[case("65536")]
fn an_invalid_list_of_indices_is_refused(#[case] text: &str) {
    assert_eq!(text.parse::<Unhealthy>(), Err(Malformed::Unhealthy(text.to_owned())));
}

#[rstest::rstest]
#[case("0", Some(0))]
#[case("8", Some(8))]
#[case("65535", Some(65535))]
#[case("65536", None)]
#[case("-1", None)]
#[case("eight", None)]
#[case("", None)]
fn counts_are_parsed(#[case] text: &str, #[case] expected: Option<u16>) {
    assert_eq!(parse_count(text), expected.ok_or_else(|| Malformed::Count(text.to_owned())));
}

#[rstest::rstest]
#[case(0, these(&[]), &[])]
#[case(2, these(&[]), &[("fake-gpu-0", HEALTHY), ("fake-gpu-1", HEALTHY)])]
#[case(2, these(&[1]), &[("fake-gpu-0", HEALTHY), ("fake-gpu-1", UNHEALTHY)])]
#[case(1, these(&[1]), &[("fake-gpu-0", HEALTHY)])]
#[case(2, Unhealthy::All, &[("fake-gpu-0", UNHEALTHY), ("fake-gpu-1", UNHEALTHY)])]
fn the_list_contains_every_device_with_its_health(
    #[case] count: u16,
    #[case] unhealthy: Unhealthy,
    #[case] expected: &[(&str, &str)],
) {
    let list: Vec<_> = Devices { count, unhealthy }.list().collect();
    let list: Vec<_> = list.iter().map(|(id, health)| (id.as_str(), *health)).collect();
    assert_eq!(list, expected);
}

#[rstest::rstest]
#[case("fake-gpu-0", Ok(()))]
#[case("fake-gpu-1", Err(Refusal::Unhealthy("fake-gpu-1".to_owned())))]
#[case("fake-gpu-2", Err(Refusal::Unknown("fake-gpu-2".to_owned())))]
#[case("fake-gpu-00", Err(Refusal::Unknown("fake-gpu-00".to_owned())))]
#[case("fake-gpu-", Err(Refusal::Unknown("fake-gpu-".to_owned())))]
#[case("gpu-0", Err(Refusal::Unknown("gpu-0".to_owned())))]
fn only_known_healthy_devices_may_be_allocated(#[case] id: &str, #[case] expected: Result<(), Refusal>) {
    let devices = Devices { count: 2, unhealthy: these(&[1]) };
    assert_eq!(devices.check(id), expected);
}
