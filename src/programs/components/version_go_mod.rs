//! Writes the `go.mod` from which Go resolves another version of a pinned module. Go applies only the
//! `replace` and `exclude` lines of the main module, so they are copied from the `go.mod` of that version.

use super::amendment::Amendment;
use super::component::Component;

/// Returns the `go.mod` for a version. `own` is the `go.mod` that this version itself has.
pub(super) fn go_mod(component: &Component, version: &str, own: &str) -> String {
    let mut lines = vec![format!("module grove-conformance/versions/{}\n", component.name)];
    lines.extend(directives(own, "go").first().map(|words| format!("go {}\n", words.join(" "))));
    lines.push(format!("require {} {version}\n", component.module_path()));
    lines.extend(directives(own, "exclude").iter().map(|words| format!("exclude {}", words.join(" "))));
    lines.extend(directives(own, "replace").iter().filter_map(|words| replaced(component, version, words)));
    lines.join("\n") + "\n"
}

/// Returns the amended module if the repository of this version also contains a copy of that module.
pub(super) fn kept_amendment(component: &Component, version: &str, own: &str) -> Option<&'static Amendment> {
    let amendment = component.module.amendment?;
    let is_copied = directives(own, "replace")
        .iter()
        .any(|words| words.first() == Some(&amendment.module) && is_folder(words));
    (is_copied && minor(version) == minor(component.version)).then_some(amendment)
}

/// Returns the `replace` line to use, or `None` if the required version of the module is published.
fn replaced(component: &Component, version: &str, words: &[&str]) -> Option<String> {
    if !is_folder(words) {
        return Some(format!("replace {}", words.join(" ")));
    }
    let module = *words.first()?;
    if let Some(amendment) = component.module.amendment
        && amendment.module == module
    {
        if minor(version) == minor(component.version) {
            return Some(format!("replace {module} => ./{}", amendment.folder));
        }
        // Older versions require v0.0.0, which is not published. Use the first version of the minor release.
        let (major, minor) = minor(version)?;
        return Some(format!("replace {module} => {module} {major}.{minor}.0"));
    }
    // Kubernetes' libraries are folders of its repository, and are published as v0.MINOR.PATCH.
    let library = version.strip_prefix("v1.").filter(|_| component.is_of_kubernetes())?;
    Some(format!("replace {module} => {module} v0.{library}"))
}

/// Whether a `replace` line names a folder of the repository.
fn is_folder(words: &[&str]) -> bool {
    words.last().is_some_and(|last| last.starts_with('.') || last.starts_with('/'))
}

fn minor(version: &str) -> Option<(&str, &str)> {
    let (major, rest) = version.split_once('.')?;
    Some((major, rest.split_once('.')?.0))
}

/// Returns the words of each line of a directive, in a block or alone, without comments.
fn directives<'a>(go_mod: &'a str, directive: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut block: Option<&str> = None;
    for line in go_mod.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match (block, words.as_slice()) {
            (_, []) => {}
            (Some(_), [")"]) => block = None,
            (Some(name), words) if name == directive => found.push(words.to_vec()),
            (Some(_), _) => {}
            (None, [name, "("]) => block = Some(*name),
            (None, [name, words @ ..]) if *name == directive => found.push(words.to_vec()),
            (None, _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::component::Module;
    use super::super::testing::{module, program};
    use super::*;

    static PLAIN: Module = module("", None);
    static AMENDED: Module = module("", Some(&AMENDMENT));
    static AMENDMENT: Amendment = Amendment {
        module: "volcano.sh/apis",
        version: "v1.14.0",
        sum: "h1:s",
        go_mod_sum: "h1:m",
        folder: "apis",
        files: &[],
    };
    static SCHEDULER: Component =
        program("kube-scheduler", "v1.37.2", "k8s.io/kubernetes/cmd/kube-scheduler", &PLAIN);
    static VOLCANO: Component =
        program("vc-scheduler", "v1.15.1", "volcano.sh/volcano/cmd/scheduler", &AMENDED);
    static ETCD: Component = program("etcd", "v3.6.10", "go.etcd.io/etcd/server/v3", &PLAIN);

    #[test]
    fn libraries_of_kubernetes_have_the_version_of_their_release() {
        let own = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/utils v0.1.0 // indirect\n)\n\n\
                   replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/new => ./staging/src/k8s.io/new // added\n)\n";
        assert_eq!(
            go_mod(&SCHEDULER, "v1.37.1", own),
            "module grove-conformance/versions/kube-scheduler\n\n\
             go 1.26.0\n\n\
             require k8s.io/kubernetes v1.37.1\n\n\
             replace k8s.io/api => k8s.io/api v0.37.1\n\
             replace k8s.io/new => k8s.io/new v0.37.1\n"
        );
        let preview = go_mod(&SCHEDULER, "v1.38.0-alpha.1", own);
        assert!(preview.contains("replace k8s.io/api => k8s.io/api v0.38.0-alpha.1\n"), "{preview}");
    }

    #[test]
    fn folders_of_other_repositories_are_not_replaced() {
        let own = "module go.etcd.io/etcd/server/v3\n\ngo 1.25.0\n\ntoolchain go1.25.8\n\nreplace (\n\tgo.etcd.io/etcd/api/v3 => ../api\n)\n\n\
                   replace go.etcd.io/etcd => ./FORBIDDEN_DEPENDENCY\n";
        assert_eq!(
            go_mod(&ETCD, "v3.6.9", own),
            "module grove-conformance/versions/etcd\n\ngo 1.25.0\n\nrequire go.etcd.io/etcd/server/v3 v3.6.9\n\n"
        );
    }

    #[test]
    fn replaced_and_excluded_versions_are_kept() {
        let own = "module m\n\ngo 1.26.0\n\nreplace k8s.io/api => k8s.io/api v0.35.4\n\n\
                   replace (\n\t// why\n\tk8s.io/b v0.1.0 => k8s.io/b v0.2.0\n)\n\nexclude (\n\tk8s.io/c v1.0.0\n)\n";
        let found = go_mod(&ETCD, "v3.6.9", own);
        for line in [
            "exclude k8s.io/c v1.0.0",
            "replace k8s.io/api => k8s.io/api v0.35.4",
            "replace k8s.io/b v0.1.0 => k8s.io/b v0.2.0",
        ] {
            assert!(found.lines().any(|found| found == line), "{line}: {found}");
        }
        assert!(!found.contains("why"), "{found}");
    }

    #[rstest::rstest]
    #[case::patch_of_the_pinned_minor("v1.15.0", "volcano.sh/apis => ./staging/src/volcano.sh/apis", true)]
    #[case::another_minor("v1.14.1", "volcano.sh/apis => ./staging/src/volcano.sh/apis", false)]
    #[case::published("v1.15.2", "volcano.sh/apis => volcano.sh/apis v1.15.2", false)]
    fn an_amended_module_is_used_for_patches_of_the_pinned_minor(
        #[case] version: &str,
        #[case] replace: &str,
        #[case] is_amended: bool,
    ) {
        let own = format!("module volcano.sh/volcano\n\ngo 1.25.0\n\nreplace {replace}\n");
        let found = go_mod(&VOLCANO, version, &own);
        assert_eq!(found.contains("replace volcano.sh/apis => ./apis\n"), is_amended, "{found}");
        assert_eq!(kept_amendment(&VOLCANO, version, &own).is_some(), is_amended);
        assert!(!found.contains("staging"), "{found}");
    }

    #[test]
    fn a_version_of_another_minor_uses_the_first_published_module_of_that_minor() {
        let own = "module volcano.sh/volcano\n\nrequire volcano.sh/apis v0.0.0\n\n\
                   replace volcano.sh/apis => ./staging/src/volcano.sh/apis\n";
        let found = go_mod(&VOLCANO, "v1.14.1", own);
        assert!(found.contains("replace volcano.sh/apis => volcano.sh/apis v1.14.0\n"), "{found}");
    }

    #[test]
    fn a_program_of_another_module_has_no_amendment() {
        assert_eq!(kept_amendment(&ETCD, "v3.6.9", "replace volcano.sh/apis => ./apis\n"), None);
    }
}
