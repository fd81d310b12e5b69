use std::sync::{Arc, Mutex};

use http::Method;

use super::*;
use crate::testing::api_server;

const KEY: &str = "conformance.grove.io/run";

type Change = Box<dyn FnOnce(&mut Option<Value>) + Send>;

/// A server with one object, which checks resourceVersions. Another client may write between two requests.
#[derive(Default)]
struct Server {
    object: Option<Value>,
    version: u64,
    in_between: Option<Change>,
}

impl Server {
    fn answer(&mut self, method: &Method, body: &Value) -> (u16, Value) {
        let failed = |code: u16, reason: &str| {
            (
                code,
                json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}),
            )
        };
        if matches!(*method, Method::PATCH | Method::DELETE)
            && let Some(other) = self.in_between.take()
        {
            other(&mut self.object);
            self.version += 1;
        }
        let version = self.version.to_string();
        let given = if *method == Method::DELETE { &body["preconditions"] } else { &body["metadata"] };
        let is_stale = given["resourceVersion"].as_str().is_some_and(|given| given != version);
        match (method.as_str(), &mut self.object) {
            ("POST", Some(_)) => return failed(409, "AlreadyExists"),
            ("POST", none) => *none = Some(body.clone()),
            (_, None) => return failed(404, "NotFound"),
            ("GET", Some(_)) => {}
            (_, Some(_)) if is_stale => return failed(409, "Conflict"),
            ("DELETE", _) => {
                self.object = None;
                return (200, json!({"kind": "Status", "status": "Success"}));
            }
            (_, Some(object)) => json_patch::merge(object, &without_version(body)),
        }
        self.version += u64::from(*method != Method::GET);
        let mut answer = self.object.clone().unwrap();
        answer["metadata"]["resourceVersion"] = self.version.to_string().into();
        answer["metadata"]["uid"] = "u".into();
        (200, answer)
    }
}

fn without_version(patch: &Value) -> Value {
    let mut patch = patch.clone();
    patch["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    patch
}

fn client(server: Arc<Mutex<Server>>) -> Client {
    api_server(move |method, _, body| server.lock().unwrap().answer(method, &body))
}

fn binding() -> Value {
    json!({"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "metadata": {"name": "topology"}})
}

async fn release_binding(client: &Client, run: &str) {
    let (api, _, name) = deploy::api_of(client, &binding());
    release(&api, &name, run).await.unwrap();
}

#[tokio::test]
async fn the_last_run_that_releases_an_object_deletes_it() {
    let server = Arc::<Mutex<Server>>::default();
    let client = client(server.clone());
    hold(&client, &binding(), (KEY, "a")).await.unwrap();
    hold(&client, &binding(), (KEY, "b")).await.unwrap();
    hold(&client, &binding(), (KEY, "b")).await.unwrap();
    release_binding(&client, "a").await;
    let left = server.lock().unwrap().object.clone().expect("run b holds it");
    assert_eq!(left["metadata"]["annotations"], json!({"holder.conformance.grove.io/b": ""}));
    assert_eq!(left["metadata"]["labels"][KEY], SHARED);
    release_binding(&client, "b").await;
    assert!(server.lock().unwrap().object.is_none());
    release_binding(&client, "b").await;
}

#[tokio::test]
async fn an_object_that_another_run_takes_during_the_release_is_kept() {
    let server = Arc::<Mutex<Server>>::default();
    let client = client(server.clone());
    hold(&client, &binding(), (KEY, "a")).await.unwrap();
    server.lock().unwrap().in_between = Some(Box::new(|object| {
        object.as_mut().unwrap()["metadata"]["annotations"]["holder.conformance.grove.io/b"] = "".into();
    }));
    release_binding(&client, "a").await;
    let left = server.lock().unwrap().object.clone().expect("run b holds it");
    assert_eq!(left["metadata"]["annotations"], json!({"holder.conformance.grove.io/b": ""}));
}

#[tokio::test]
async fn an_object_that_is_deleted_meanwhile_is_created_again() {
    let server = Arc::<Mutex<Server>>::default();
    let client = client(server.clone());
    hold(&client, &binding(), (KEY, "a")).await.unwrap();
    server.lock().unwrap().in_between = Some(Box::new(|object| *object = None));
    hold(&client, &binding(), (KEY, "b")).await.unwrap();
    let created = server.lock().unwrap().object.clone().unwrap();
    assert_eq!(created["metadata"]["annotations"], json!({"holder.conformance.grove.io/b": ""}));
}

#[tokio::test]
async fn an_object_without_the_label_stays_unchanged() {
    let server = Arc::<Mutex<Server>>::default();
    server.lock().unwrap().object = Some(binding());
    hold(&client(server.clone()), &binding(), (KEY, "a")).await.unwrap();
    assert_eq!(server.lock().unwrap().object, Some(binding()));
}
