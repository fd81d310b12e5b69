//! The files of the operator: the modules that its library declares, without those of tests.

use std::path::{Path, PathBuf};

use crate::MutationError;
use crate::find::is_left_out;

/// The operator's crates. Not `grove-yaml`, which the suite shares, nor `logging`, which formats log lines.
pub(crate) const SUBJECTS: [&str; 3] = ["reference/api", "reference/operator", "reference/webhook"];
pub(crate) const LIBRARY: &str = "src/lib.rs";

pub(crate) struct SourceFile {
    /// From the root of the workspace.
    pub path: String,
    pub text: String,
    pub syntax: syn::File,
}

pub(crate) fn read(root: &Path) -> Result<Vec<SourceFile>, MutationError> {
    let mut files = Vec::new();
    for subject in SUBJECTS {
        let library = root.join(subject).join(LIBRARY);
        let folder = root.join(subject).join("src");
        read_module(root, &library, &folder, &mut files)?;
    }
    files.sort_by(|one: &SourceFile, other| one.path.cmp(&other.path));
    Ok(files)
}

fn read_module(
    root: &Path,
    path: &Path,
    folder: &Path,
    files: &mut Vec<SourceFile>,
) -> Result<(), MutationError> {
    let text = std::fs::read_to_string(path).map_err(MutationError::file(path))?;
    let syntax =
        syn::parse_file(&text).map_err(|source| MutationError::Syntax { path: path.into(), source })?;
    read_modules(root, path, folder, &syntax.items, files)?;
    let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    files.push(SourceFile { path: relative, text, syntax });
    Ok(())
}

fn read_modules(
    root: &Path,
    path: &Path,
    folder: &Path,
    items: &[syn::Item],
    files: &mut Vec<SourceFile>,
) -> Result<(), MutationError> {
    for item in items {
        let syn::Item::Mod(module) = item else { continue };
        if is_left_out(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        let inner = folder.join(&name);
        if let Some((_, items)) = &module.content {
            read_modules(root, path, &inner, items, files)?;
            continue;
        }
        let given = given_path(&module.attrs).map(|given| path.with_file_name("").join(given));
        let candidates = [given, Some(folder.join(format!("{name}.rs"))), Some(inner.join("mod.rs"))];
        let file: Option<PathBuf> = candidates.into_iter().flatten().find(|file| file.is_file());
        let file = file.ok_or_else(|| MutationError::NoModule { path: path.into(), module: name })?;
        read_module(root, &file, &inner, files)?;
    }
    Ok(())
}

fn given_path(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}
