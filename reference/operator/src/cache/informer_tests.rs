use std::sync::Mutex;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::Event;

use super::*;

fn object(name: &str, group: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object.metadata.namespace = Some("ns".into());
    object.labels_mut().insert("group".into(), group.into());
    object
}

type Seen = Arc<Mutex<Vec<(Option<String>, Option<String>)>>>;

fn watched() -> (Informer<ConfigMap>, Feed<ConfigMap>, Seen) {
    let (informer, mut feed) =
        informer::<ConfigMap>((), |object| object.labels().get("group").cloned().into_iter().collect());
    let seen = Seen::default();
    let (inside, log) = (informer.clone(), Arc::clone(&seen));
    feed.on_change(move |change| {
        let name = |object: &Option<Arc<ConfigMap>>| object.as_ref().map(|object| object.name_any());
        if let Some(new) = &change.new {
            assert!(
                inside.get(Some("ns"), &new.name_any()).is_some(),
                "the cache has the object before the listeners run"
            );
        }
        log.lock().unwrap().push((name(&change.old), name(&change.new)));
    });
    (informer, feed, seen)
}

fn names(informer: &Informer<ConfigMap>, key: &str) -> Vec<String> {
    informer.indexed(key).iter().map(|object| object.name_any()).collect()
}

#[test]
fn the_index_reflects_every_change() {
    let (informer, mut feed, seen) = watched();
    feed.take(Event::Apply(object("a", "x")));
    feed.take(Event::Apply(object("b", "x")));
    feed.take(Event::Apply(object("a", "y")));
    assert_eq!((names(&informer, "x"), names(&informer, "y")), (vec!["b".into()], vec!["a".into()]));
    feed.take(Event::Delete(object("b", "x")));
    assert!(names(&informer, "x").is_empty());
    let b = Some("b".to_owned());
    assert_eq!(seen.lock().unwrap().last(), Some(&(b, None)));
}

#[test]
fn a_relist_reports_deleted_objects() {
    let (informer, mut feed, seen) = watched();
    feed.take(Event::Apply(object("deleted", "x")));
    feed.take(Event::Init);
    feed.take(Event::InitApply(object("new", "x")));
    assert_eq!(names(&informer, "x"), ["deleted"], "the list is not complete yet");
    feed.take(Event::InitDone);
    assert_eq!(names(&informer, "x"), ["new"]);
    let seen = seen.lock().unwrap();
    assert_eq!(seen[1..], [(None, Some("new".to_owned())), (Some("deleted".to_owned()), None)]);
}
