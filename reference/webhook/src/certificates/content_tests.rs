use super::*;

const DAY: u64 = 24 * 3600;

fn subject(service: &str) -> Subject {
    Subject {
        service: service.to_owned(),
        namespace: "grove-system".to_owned(),
        lifetime: Duration::from_secs(90 * DAY),
    }
}

fn issued(service: &str) -> Content {
    Content::issue(None, &subject(service), UnixTime::now()).unwrap()
}

fn seconds_from_now(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs() + seconds))
}

/// The lifetime is 90 days, so the last third starts after 60 days.
#[rstest::rstest]
#[case::new(0, CertificateState::Valid)]
#[case::before_two_thirds(60 * DAY - 60, CertificateState::Valid)]
#[case::after_two_thirds(60 * DAY + 60, CertificateState::DueForRenewal)]
#[case::expired(90 * DAY + 60, CertificateState::DueForRenewal)]
fn a_certificate_is_due_for_renewal_in_the_last_third_of_its_lifetime(
    #[case] age: u64,
    #[case] state: CertificateState,
) {
    assert_eq!(issued("svc").check(&subject("svc"), seconds_from_now(age)), state);
}

#[test]
fn a_clock_that_is_minutes_behind_is_tolerated() {
    let content = Content::issue(None, &subject("svc"), seconds_from_now(600)).unwrap();
    assert!(content.verify(&subject("svc"), UnixTime::now()).is_ok());
}

#[test]
fn parts_that_do_not_match_are_invalid() {
    type Edit = fn(&mut Content, Content);
    let edits: [(&str, Edit); 6] = [
        ("key", |content, other| content.key = other.key),
        ("no key", |content, _| content.key = b"key".to_vec()),
        ("authority", |content, other| content.authority = other.authority),
        ("no authority", |content, _| content.authority.clear()),
        ("certificate", |content, other| content.certificate = other.certificate),
        ("no certificate", |content, _| content.certificate.clear()),
    ];
    for (what, edit) in edits {
        let mut content = issued("svc");
        edit(&mut content, issued("svc"));
        let state = content.check(&subject("svc"), UnixTime::now());
        assert!(matches!(state, CertificateState::Invalid(_)), "{what}: {state:?}");
    }
    assert!(matches!(issued("svc").check(&subject("other"), UnixTime::now()), CertificateState::Invalid(_)));
}

#[test]
fn a_secret_stores_every_part() {
    let content = Content::issue(Some(&issued("svc")), &subject("svc"), UnixTime::now()).unwrap();
    let mut secret = Secret { data: Some(content.data()), ..Secret::default() };
    assert!(Content::read(&secret).is_ok_and(|read| read == content));
    for key in [AUTHORITY, CERTIFICATE, KEY] {
        let mut data = content.data();
        data.remove(key);
        secret.data = Some(data);
        assert_eq!(Content::read(&secret).err(), Some(MissingKey(key)));
    }
}

#[test]
fn the_previous_authority_stays_in_the_bundle_for_one_certificate() {
    let known = |content: &Content| authorities(&content.bundle()).map_or(0, |roots| roots.len());
    let first = issued("svc");
    let second = Content::issue(Some(&first), &subject("svc"), UnixTime::now()).unwrap();
    let third = Content::issue(Some(&second), &subject("svc"), UnixTime::now()).unwrap();
    assert_eq!([&first, &second, &third].map(known), [1, 2, 2]);
    assert_eq!(third.previous.as_ref(), Some(&second.authority));
    // A replica still serves the first certificate to a caller that trusts the bundle of the second.
    let outdated = Content { authority: second.bundle(), ..first };
    assert_eq!(outdated.check(&subject("svc"), UnixTime::now()), CertificateState::Valid);
}

#[rstest::rstest]
#[case::text(b"not PEM".to_vec())]
#[case::nothing(Vec::new())]
fn a_malformed_authority_is_not_kept(#[case] authority: Vec<u8>) {
    let malformed = Content { authority: authority.clone(), ..issued("svc") };
    let next = Content::issue(Some(&malformed), &subject("svc"), UnixTime::now()).unwrap();
    assert!(next.previous.is_none());
    let content = Content { previous: Some(authority), ..issued("svc") };
    assert_eq!(content.bundle(), content.authority);
}
