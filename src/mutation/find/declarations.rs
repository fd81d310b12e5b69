use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

/// Library types with a default. [`Declarations`] finds those of the operator's source.
const WITH_DEFAULT: [&str; 13] = [
    "String",
    "Vec",
    "BTreeMap",
    "BTreeSet",
    "HashMap",
    "HashSet",
    "Value",
    "Map",
    "ObjectMeta",
    "Pod",
    "PodSpec",
    "Duration",
    "LabelSelector",
];
const NUMBERS: [&str; 12] =
    ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "u128", "i128"];

/// Whether code with these attributes belongs to tests, or depends on `--cfg mutants`.
pub(crate) fn is_left_out(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.segments.last().is_some_and(|last| last.ident == "test" || last.ident == "rstest") {
            return true;
        }
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        let words = || condition.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        path.is_ident("cfg") && words().any(|word| word == "test" || word == "mutants")
    })
}

/// The last name of a type, such as `Pod` for `&'a api::Pod`.
pub(super) fn type_name(of: &syn::Type) -> String {
    match of {
        syn::Type::Path(path) => {
            path.path.segments.last().map_or_else(String::new, |last| last.ident.to_string())
        }
        syn::Type::Reference(reference) => type_name(&reference.elem),
        syn::Type::Paren(inner) => type_name(&inner.elem),
        _ => String::new(),
    }
}

/// What all files of the operator declare. A name that is declared in several ways counts as unknown.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    /// The types of the arguments, without `self`, by the function's name with and without its type.
    arguments: BTreeMap<String, Option<Vec<String>>>,
    /// Whether a field has a default. The key is the struct or variant, and the field's name.
    fields: BTreeMap<(String, String), Option<bool>>,
    structs: BTreeSet<String>,
    with_default: BTreeSet<String>,
}

impl Declarations {
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = &'a syn::File> + Clone) -> Self {
        let mut declarations = Self::default();
        for file in files.clone() {
            TypesWithDefault(&mut declarations.with_default).visit_file(file);
        }
        for file in files {
            let mut collector = Collector { declarations: &mut declarations, owner: None };
            collector.visit_file(file);
        }
        declarations
    }

    pub(super) fn arguments(&self, name: &str) -> Option<&[String]> {
        self.arguments.get(name)?.as_deref()
    }

    /// Whether a field has a default, as fields of undeclared structs (the API types) are assumed to have.
    pub(super) fn field_has_default(&self, owner: &str, field: &str) -> bool {
        if !self.structs.contains(owner) {
            return true;
        }
        self.fields.get(&(owner.to_owned(), field.to_owned())).copied().flatten().unwrap_or(false)
    }

    pub(super) fn default_of(&self, of: &syn::Type) -> Option<String> {
        match of {
            syn::Type::Tuple(tuple) => {
                let parts: Option<Vec<_>> = tuple.elems.iter().map(|part| self.default_of(part)).collect();
                match parts?.as_slice() {
                    [one] => Some(format!("({one},)")),
                    parts => Some(format!("({})", parts.join(", "))),
                }
            }
            syn::Type::Reference(reference) if reference.mutability.is_none() => match &*reference.elem {
                syn::Type::Slice(_) => Some("&[]".into()),
                syn::Type::Path(path) if path.path.is_ident("str") => Some("\"\"".into()),
                _ => None,
            },
            syn::Type::Path(path) => self.default_of_path(&path.path),
            syn::Type::Paren(inner) => self.default_of(&inner.elem),
            _ => None,
        }
    }

    fn default_of_path(&self, path: &syn::Path) -> Option<String> {
        let last = path.segments.last()?;
        let name = last.ident.to_string();
        match name.as_str() {
            "bool" => Some("false".into()),
            "f64" | "f32" => Some("0.0".into()),
            "Option" => Some("None".into()),
            "Result" => {
                let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
                let syn::GenericArgument::Type(value) = arguments.args.first()? else { return None };
                Some(format!("Ok({})", self.default_of(value)?))
            }
            number if NUMBERS.contains(&number) => Some("0".into()),
            known if WITH_DEFAULT.contains(&known) || self.with_default.contains(known) => {
                Some("Default::default()".into())
            }
            _ => None,
        }
    }

    fn declare_function(&mut self, owner: Option<&str>, signature: &syn::Signature) {
        let mut types = Vec::new();
        for argument in &signature.inputs {
            if let syn::FnArg::Typed(typed) = argument {
                types.push(normal(&typed.ty));
            }
        }
        let name = signature.ident.to_string();
        let qualified = owner.map(|owner| format!("{owner}::{name}"));
        for key in qualified.into_iter().chain([name]) {
            let known = self.arguments.entry(key).or_insert_with(|| Some(types.clone()));
            if known.as_ref() != Some(&types) {
                *known = None;
            }
        }
    }

    fn declare_fields(&mut self, owner: &str, fields: &syn::Fields) {
        self.structs.insert(owner.to_owned());
        for field in fields {
            let Some(name) = &field.ident else { continue };
            let has_default = self.default_of(&field.ty).is_some();
            let key = (owner.to_owned(), name.to_string());
            let known = self.fields.entry(key).or_insert(Some(has_default));
            if *known != Some(has_default) {
                *known = None;
            }
        }
    }
}

fn normal(of: &syn::Type) -> String {
    struct Words(Vec<String>);
    impl<'ast> Visit<'ast> for Words {
        fn visit_ident(&mut self, word: &'ast syn::Ident) {
            self.0.push(word.to_string());
        }
        fn visit_type_reference(&mut self, reference: &'ast syn::TypeReference) {
            self.0.push(if reference.mutability.is_some() { "&mut".into() } else { "&".into() });
            // Types that differ only in lifetimes count as equal.
            self.visit_type(&reference.elem);
        }
        fn visit_type_slice(&mut self, slice: &'ast syn::TypeSlice) {
            self.0.push("[]".into());
            visit::visit_type_slice(self, slice);
        }
        fn visit_type_tuple(&mut self, tuple: &'ast syn::TypeTuple) {
            self.0.push(format!("({})", tuple.elems.len()));
            visit::visit_type_tuple(self, tuple);
        }
        fn visit_type_bare_fn(&mut self, of: &'ast syn::TypeBareFn) {
            self.0.push(format!("fn({})", of.inputs.len()));
            visit::visit_type_bare_fn(self, of);
        }
        fn visit_type_impl_trait(&mut self, of: &'ast syn::TypeImplTrait) {
            self.0.push("impl".into());
            visit::visit_type_impl_trait(self, of);
        }
        fn visit_lifetime(&mut self, _: &'ast syn::Lifetime) {}
    }
    let mut words = Words(Vec::new());
    words.visit_type(of);
    words.0.join(" ")
}

struct TypesWithDefault<'a>(&'a mut BTreeSet<String>);

fn derives_default(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("derive") => list
            .tokens
            .to_string()
            .split(|letter: char| !letter.is_alphanumeric())
            .any(|word| word == "Default"),
        _ => false,
    })
}

impl<'ast> Visit<'ast> for TypesWithDefault<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if derives_default(&item.attrs) {
            self.0.insert(item.ident.to_string());
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if derives_default(&item.attrs) {
            self.0.insert(item.ident.to_string());
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of_default = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == "Default");
        if item.trait_.as_ref().is_some_and(|(_, path, _)| of_default(path)) && !is_left_out(&item.attrs) {
            self.0.insert(type_name(&item.self_ty));
        }
    }
}

struct Collector<'a> {
    declarations: &'a mut Declarations,
    owner: Option<String>,
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_left_out(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declarations.declare_fields(&item.ident.to_string(), &item.fields);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        for variant in &item.variants {
            self.declarations.declare_fields(&variant.ident.to_string(), &variant.fields);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_left_out(&item.attrs) {
            self.owner = Some(type_name(&item.self_ty));
            visit::visit_item_impl(self, item);
            self.owner = None;
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let owner = self.owner.clone();
        self.declarations.declare_function(owner.as_deref(), signature);
    }
}
