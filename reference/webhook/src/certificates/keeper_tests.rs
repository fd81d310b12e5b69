//! Runs several replicas against a fake API server, which has resourceVersions and merges webhooks by name.

use std::collections::BTreeMap;
use std::sync::Mutex;

use grove_yaml as yaml;
use http::{Method, Request, Response};
use k8s_openapi::ByteString;
use kube::client::Body;
use serde_json::{Value, json};
use tower_test::mock;

use super::*;

const SECRETS: &str = "/api/v1/namespaces/ns/secrets";
const SECRET_PATH: &str = "/api/v1/namespaces/ns/secrets/grove-backend-controller-webhook";
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CERTIFICATE_OBJECTS: CertificateObjects = CertificateObjects {
    secret: "grove-backend-controller-webhook",
    mutating: &["podcliqueset-defaulting-webhook"],
    validating: &["podcliqueset-validating-webhook", "clustertopology-validating-webhook"],
};
const LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

#[derive(Default)]
struct Store {
    objects: BTreeMap<String, Value>,
    requests: Vec<String>,
    version: u64,
    /// An object that another replica writes to a path before the next write.
    rival: Option<(String, Value)>,
}

impl Store {
    fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    fn answer(&mut self, method: &Method, path: &str, body: Value) -> (u16, Value) {
        self.requests.push(format!("{method} {path}"));
        if *method != Method::GET
            && let Some((path, object)) = self.rival.take()
        {
            self.put(&path, object);
        }
        if *method == Method::POST {
            let path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap());
            return match self.objects.contains_key(&path) {
                true => failure(409, "AlreadyExists"),
                false => (201, self.put(&path, body)),
            };
        }
        let Some(mut object) = self.objects.get(path).cloned() else { return failure(404, "NotFound") };
        if *method == Method::GET {
            return (200, object);
        }
        if body["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            return failure(409, "Conflict");
        }
        if *method == Method::PUT {
            return (200, self.put(path, body));
        }
        for patch in body["webhooks"].as_array().unwrap() {
            let webhooks = object["webhooks"].as_array_mut().unwrap();
            let webhook = webhooks.iter_mut().find(|webhook| webhook["name"] == patch["name"]).unwrap();
            webhook["clientConfig"]["caBundle"] = patch["clientConfig"]["caBundle"].clone();
        }
        (200, self.put(path, object))
    }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code}))
}

struct World {
    store: Arc<Mutex<Store>>,
    client: Client,
}

impl World {
    fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        let store = Arc::new(Mutex::new(Store::default()));
        let inside = Arc::clone(&store);
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let (method, path) = (request.method().clone(), request.uri().path().to_owned());
                let body = request.into_body().collect_bytes().await.unwrap();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let (code, answer) = inside.lock().unwrap().answer(&method, &path, body);
                let answer = Body::from(serde_json::to_vec(&answer).unwrap());
                send.send_response(Response::builder().status(code).body(answer).unwrap());
            }
        });
        // Store only the configurations that the keeper maintains. The manifest may contain others.
        let is_kept = |object: &Value| {
            let kept = CERTIFICATE_OBJECTS.mutating.iter().chain(CERTIFICATE_OBJECTS.validating);
            object["metadata"]["name"].as_str().is_some_and(|name| kept.copied().any(|kept| kept == name))
        };
        let all = yaml::documents(include_str!("../../../../manifests/controller/webhooks.yaml")).unwrap();
        for object in all.into_iter().filter(is_kept) {
            store.lock().unwrap().put(&path_of(&object), object);
        }
        Self { store, client: Client::new(service, "default") }
    }

    fn replica(&self) -> Keeper {
        Keeper::new(&self.client, subject("svc"), CERTIFICATE_OBJECTS)
    }

    fn written(&self) -> Vec<String> {
        let mut requests = std::mem::take(&mut self.store.lock().unwrap().requests);
        requests.retain(|request| !request.starts_with("GET"));
        requests
    }

    fn put_secret(&self, content: &Content) {
        self.store.lock().unwrap().put(SECRET_PATH, secret(content));
    }

    fn secret(&self) -> Content {
        let secret = self.store.lock().unwrap().objects[SECRET_PATH].clone();
        Content::read(&serde_json::from_value(secret).unwrap()).unwrap()
    }

    fn bundles(&self) -> Vec<Vec<u8>> {
        let store = self.store.lock().unwrap();
        let webhooks = store.objects.values().filter_map(|object| object["webhooks"].as_array()).flatten();
        let bundle = |webhook: &Value| {
            let ByteString(bundle) =
                serde_json::from_value(webhook["clientConfig"]["caBundle"].clone()).unwrap_or_default();
            bundle
        };
        webhooks.map(bundle).collect()
    }
}

fn path_of(configuration: &Value) -> String {
    let kind = configuration["kind"].as_str().unwrap().to_lowercase();
    format!("{GROUP}/{kind}s/{}", configuration["metadata"]["name"].as_str().unwrap())
}

fn secret(content: &Content) -> Value {
    let metadata = ObjectMeta { name: Some(CERTIFICATE_OBJECTS.secret.to_owned()), ..ObjectMeta::default() };
    serde_json::to_value(Secret { metadata, data: Some(content.data()), ..Secret::default() }).unwrap()
}

fn subject(service: &str) -> Subject {
    Subject { service: service.to_owned(), namespace: "ns".to_owned(), lifetime: LIFETIME }
}

fn aged(age: Duration) -> Content {
    let then = Duration::from_secs(UnixTime::now().as_secs()) - age;
    Content::issue(None, &subject("svc"), UnixTime::since_unix_epoch(then)).unwrap()
}

fn serves(keeper: &Keeper, content: &Content) -> bool {
    keeper.served.as_ref() == Some(content)
}

#[tokio::test]
async fn the_first_replica_creates_the_certificate_and_the_second_shares_it() {
    let world = World::new();
    let (mut first, mut second) = (world.replica(), world.replica());
    let (handshakes_fail, state) = (first.tls().get_inner(), first.state());
    assert!(state.borrow().is_err());
    assert!(first.check().await);
    let mut expected = vec![format!("POST {SECRETS}")];
    expected.push(format!("PATCH {GROUP}/mutatingwebhookconfigurations/podcliqueset-defaulting-webhook"));
    for name in ["podcliqueset-validating-webhook", "clustertopology-validating-webhook"] {
        expected.push(format!("PATCH {GROUP}/validatingwebhookconfigurations/{name}"));
    }
    assert_eq!(world.written(), expected);
    assert_eq!(world.bundles(), vec![world.secret().bundle(); 3]);
    assert!(serves(&first, &world.secret()) && state.borrow().is_ok());
    assert!(!Arc::ptr_eq(&handshakes_fail, &first.tls().get_inner()));
    assert!(second.check().await && first.check().await);
    assert!(serves(&second, &world.secret()));
    assert_eq!(world.written(), Vec::<String>::new());
}

/// If a replica read the Secret first, it could revert a newer authority that another replica wrote.
#[tokio::test]
async fn configurations_are_read_before_the_secret() {
    let world = World::new();
    world.put_secret(&aged(Duration::ZERO));
    assert!(world.replica().check().await);
    let requests = std::mem::take(&mut world.store.lock().unwrap().requests);
    let reads: Vec<_> = requests.iter().take_while(|request| request.starts_with("GET")).collect();
    assert_eq!(reads.len(), 4, "{requests:?}");
    assert_eq!(*reads[3], format!("GET {SECRET_PATH}"));
}

#[tokio::test]
async fn a_replica_that_loses_the_race_for_the_secret_reads_it_again() {
    let world = World::new();
    let theirs = aged(Duration::ZERO);
    world.store.lock().unwrap().rival = Some((SECRET_PATH.to_owned(), secret(&theirs)));
    let mut replica = world.replica();
    assert!(replica.check().await);
    assert!(world.secret() == theirs && serves(&replica, &theirs));
    assert_eq!(world.bundles(), vec![theirs.bundle(); 3]);
}

#[tokio::test]
async fn a_replica_that_loses_the_race_for_a_configuration_retries() {
    let world = World::new();
    world.put_secret(&aged(Duration::ZERO));
    let (path, object) = {
        let store = world.store.lock().unwrap();
        let mut configurations = store.objects.iter().filter(|(path, _)| path.starts_with(GROUP));
        configurations.next().map(|(path, object)| (path.clone(), object.clone())).unwrap()
    };
    world.store.lock().unwrap().rival = Some((path, object));
    let mut replica = world.replica();
    assert!(!replica.check().await && replica.reported.is_none(), "a lost race is not worth a warning");
    assert!(replica.check().await);
}

#[tokio::test(start_paused = true)]
async fn during_a_renewal_the_bundle_contains_both_authorities() {
    let world = World::new();
    let old = aged(LIFETIME * 3 / 5);
    world.put_secret(&old);
    let (mut first, mut second) = (world.replica(), world.replica());
    assert!(first.check().await && second.check().await);
    let due = aged(LIFETIME * 3 / 4);
    world.put_secret(&due);
    for replica in [&mut first, &mut second] {
        assert!(replica.check().await);
        let new = world.secret();
        assert!(new != due && serves(replica, &new));
        assert_eq!(world.bundles(), vec![new.bundle(); 3]);
        assert!(new.bundle().ends_with(&due.bundle()), "the bundle contains the previous authority");
    }
    let puts = world.written().into_iter().filter(|request| request.starts_with("PUT")).count();
    assert_eq!(puts, 1, "the second replica uses the same certificate");
}

#[tokio::test(start_paused = true)]
async fn the_served_authority_stays_in_the_bundle_after_the_secret_is_deleted() {
    let world = World::new();
    let mut replica = world.replica();
    assert!(replica.check().await);
    let served = world.secret();
    world.store.lock().unwrap().objects.remove(SECRET_PATH);
    assert!(replica.check().await);
    assert!(world.secret() != served && world.secret().bundle().ends_with(&served.bundle()));
}

#[tokio::test]
async fn a_removed_authority_is_restored() {
    let world = World::new();
    let mut replica = world.replica();
    assert!(replica.check().await);
    world.written();
    let edited = format!("{GROUP}/validatingwebhookconfigurations/podcliqueset-validating-webhook");
    world.store.lock().unwrap().objects.get_mut(&edited).unwrap()["webhooks"][0]["clientConfig"]["caBundle"] =
        Value::Null;
    assert!(replica.check().await);
    assert_eq!(world.written(), [format!("PATCH {edited}")]);
    assert_eq!(world.bundles(), vec![world.secret().bundle(); 3]);
}

#[rstest::rstest]
#[case::no_pem(json!({"ca.crt": "bm8=", "tls.crt": "bm8=", "tls.key": "bm8="}))]
#[case::no_keys(json!({"other": "bm8="}))]
#[case::nothing(Value::Null)]
#[tokio::test]
async fn a_secret_that_does_not_parse_is_replaced(#[case] data: Value) {
    let world = World::new();
    let mut broken = secret(&aged(Duration::ZERO));
    broken["data"] = data;
    broken["type"] = json!("Opaque");
    world.store.lock().unwrap().put(SECRET_PATH, broken);
    let mut replica = world.replica();
    assert!(replica.check().await);
    assert!(serves(&replica, &world.secret()));
    assert_eq!(world.written()[0], format!("PUT {SECRET_PATH}"));
    assert_eq!(world.store.lock().unwrap().objects[SECRET_PATH]["type"], "Opaque", "it is immutable");
}

#[tokio::test]
async fn a_configuration_that_is_not_installed_is_reported() {
    let world = World::new();
    let path = format!("{GROUP}/validatingwebhookconfigurations/clustertopology-validating-webhook");
    let configuration = world.store.lock().unwrap().objects.remove(&path).unwrap();
    let mut replica = world.replica();
    let state = replica.state();
    assert!(!replica.check().await);
    let not_installed: Result<(), String> =
        Err("not installed: clustertopology-validating-webhook".to_owned());
    assert_eq!(*state.borrow(), not_installed);
    assert!(serves(&replica, &world.secret()), "the other configurations contain the authority");
    world.store.lock().unwrap().put(&path, configuration);
    assert!(replica.check().await);
    world.store.lock().unwrap().objects.remove(&path);
    assert!(!replica.check().await);
    assert_eq!(*state.borrow(), Ok(()), "the state stays Ok while the certificate is served");
}

#[tokio::test]
async fn an_invalid_service_name_is_reported() {
    let world = World::new();
    let mut replica = Keeper::new(&world.client, subject("no name"), CERTIFICATE_OBJECTS);
    assert!(!replica.check().await);
    assert!(replica.reported.is_some_and(|error| error.contains("would be invalid")));
    assert_eq!(world.written(), Vec::<String>::new());
}
