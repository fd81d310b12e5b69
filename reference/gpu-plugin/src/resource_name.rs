//! A kubelet refuses a name that is not an extended resource (`IsExtendedResourceName`). The total length is
//! not checked, because the socket's path is shorter than any limit.

use std::fmt;
use std::str::FromStr;

const NAME_MAX: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not an extended resource: {reason}")]
pub struct InvalidResourceName {
    name: String,
    reason: &'static str,
}

impl ResourceName {
    /// A domain contains no underscore, so the file name is different for each resource.
    pub fn socket_name(&self) -> String {
        format!("fake-gpu-{}.sock", self.0.replace('/', "_"))
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ResourceName {
    type Err = InvalidResourceName;

    fn from_str(text: &str) -> Result<Self, InvalidResourceName> {
        let refuse = |reason| Err(InvalidResourceName { name: text.to_owned(), reason });
        let Some((domain, name)) = text.split_once('/') else {
            return refuse("it has no domain, such as nvidia.com");
        };
        if text.contains("kubernetes.io/") || text.starts_with("requests.") {
            return refuse("its domain is reserved for Kubernetes");
        }
        let in_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !domain.split('.').all(|label| well_formed(label, in_label)) {
            return refuse("its domain is not a lowercase DNS name");
        }
        let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.len() > NAME_MAX || !well_formed(name, in_name) {
            return refuse(
                "the part after the slash is not a name of at most 63 letters, digits, '-', '_' and '.'",
            );
        }
        Ok(Self(text.to_owned()))
    }
}

fn well_formed(text: &str, inside: impl Fn(u8) -> bool) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(|byte| inside(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("nvidia.com/gpu", "fake-gpu-nvidia.com_gpu.sock")]
    #[case("nvidia.com/mig-1g.5gb", "fake-gpu-nvidia.com_mig-1g.5gb.sock")]
    #[case("a.b/c_d", "fake-gpu-a.b_c_d.sock")]
    fn a_resource_has_its_own_socket(#[case] name: &str, #[case] socket: &str) {
        let resource: ResourceName = name.parse().unwrap();
        assert_eq!((resource.to_string().as_str(), resource.socket_name().as_str()), (name, socket));
    }

    #[rstest::rstest]
    #[case("")]
    #[case("gpu")]
    #[case("nvidia.com/")]
    #[case("/gpu")]
    #[case("kubernetes.io/gpu")]
    #[case("node.kubernetes.io/gpu")]
    #[case("requests.nvidia.com/gpu")]
    #[case("NVIDIA.com/gpu")]
    #[case("nvidia..com/gpu")]
    #[case("nvidia.com/a/b")]
    #[case("nvidia.com/-gpu")]
    #[case("nvidia.com/0123456789012345678901234567890123456789012345678901234567890123")]
    fn names_that_a_kubelet_refuses_are_refused(#[case] name: &str) {
        assert!(name.parse::<ResourceName>().is_err());
    }
}
