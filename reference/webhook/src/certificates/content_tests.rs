//! Certificates over time, and defects of modified ones.

use rstest::rstest;

use super::*;

const DAY: u64 = 24 * 3600;

fn subject(service: &str) -> Subject {
    Subject {
        service: service.to_owned(),
        namespace: "grove-system".to_owned(),
        life: Duration::from_secs(90 * DAY),
    }
}

fn made(service: &str) -> Content {
    Content::after(None, &subject(service), UnixTime::now()).unwrap()
}

fn seconds_from_now(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs() + seconds))
}

/// Lifetime 90 days: the last third starts after 60.
#[rstest]
#[case::new(0, Verdict::Good)]
#[case::two_thirds_old(60 * DAY - 60, Verdict::Good)]
#[case::older(60 * DAY + 60, Verdict::Ending)]
#[case::over(90 * DAY + 60, Verdict::Ending)]
fn the_last_third_of_a_life_is_the_time_for_another(#[case] age: u64, #[case] verdict: Verdict) {
    assert_eq!(made("svc").judge(&subject("svc"), seconds_from_now(age)), verdict);
}

#[test]
fn clocks_may_differ_by_minutes() {
    let content = Content::after(None, &subject("svc"), seconds_from_now(600)).unwrap();
    assert!(content.verify(&subject("svc"), UnixTime::now()).is_ok());
}

#[test]
fn callers_would_refuse_what_does_not_fit_together() {
    type Spoil = fn(&mut Content, Content);
    let spoilt: [(&str, Spoil); 6] = [
        ("key", |content, other| content.key = other.key),
        ("no key", |content, _| content.key = b"key".to_vec()),
        ("authority", |content, other| content.authority = other.authority),
        ("no authority", |content, _| content.authority.clear()),
        ("certificate", |content, other| content.certificate = other.certificate),
        ("no certificate", |content, _| content.certificate.clear()),
    ];
    for (what, spoil) in spoilt {
        let mut content = made("svc");
        spoil(&mut content, made("svc"));
        let verdict = content.judge(&subject("svc"), UnixTime::now());
        assert!(matches!(verdict, Verdict::Broken(_)), "{what}: {verdict:?}");
    }
    assert!(matches!(made("svc").judge(&subject("other"), UnixTime::now()), Verdict::Broken(_)));
}

#[test]
fn a_secret_holds_all_of_it() {
    let content = Content::after(Some(&made("svc")), &subject("svc"), UnixTime::now()).unwrap();
    let mut secret = Secret { data: Some(content.data()), ..Secret::default() };
    assert!(Content::read(&secret).is_ok_and(|read| read == content));
    for key in [AUTHORITY, CERTIFICATE, KEY] {
        let mut data = content.data();
        data.remove(key);
        secret.data = Some(data);
        assert_eq!(Content::read(&secret).err(), Some(format!("it has no {key}")));
    }
}

#[test]
fn the_authority_before_stays_known_for_one_certificate() {
    let known = |content: &Content| authorities(&content.bundle()).map_or(0, |roots| roots.len());
    let first = made("svc");
    let second = Content::after(Some(&first), &subject("svc"), UnixTime::now()).unwrap();
    let third = Content::after(Some(&second), &subject("svc"), UnixTime::now()).unwrap();
    assert_eq!([&first, &second, &third].map(known), [1, 2, 2]);
    assert_eq!(third.previous.as_ref(), Some(&second.authority));
    // A replica still serves the first certificate to a caller that trusts the bundle of the second.
    let behind = Content { authority: second.bundle(), ..first };
    assert_eq!(behind.judge(&subject("svc"), UnixTime::now()), Verdict::Good);
}

#[rstest]
#[case::text(b"not PEM".to_vec())]
#[case::nothing(Vec::new())]
fn an_authority_that_is_none_is_not_passed_on(#[case] authority: Vec<u8>) {
    let spoilt = Content { authority: authority.clone(), ..made("svc") };
    let next = Content::after(Some(&spoilt), &subject("svc"), UnixTime::now()).unwrap();
    assert!(next.previous.is_none());
    let content = Content { previous: Some(authority), ..made("svc") };
    assert_eq!(content.bundle(), content.authority);
}
