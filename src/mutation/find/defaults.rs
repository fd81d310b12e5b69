use syn::visit::{self, Visit};
use syn::{Expr, ReturnType};

use super::{Finder, range};
use crate::mutation::{Kind, SWITCH, Wrap};

fn is_default(text: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    let constructors = ["::new()", "::default()"];
    ["false", "0", "None", "()", "Ok(())", "\"\"", "vec![]", "[]", "&[]", "Value::Null", "Ok(None)"]
        .contains(&text.as_str())
        || constructors.iter().any(|end| {
            text.strip_suffix(end).is_some_and(|owner| {
                owner.chars().all(|letter| letter.is_alphanumeric() || ":_".contains(letter))
            })
        })
}

impl Finder<'_> {
    /// Returns the default of the function's type at once. A function with a condition also returns `true`.
    pub(super) fn default_of_function(&mut self, output: &ReturnType, block: &syn::Block) {
        let is_trivial = match block.stmts.as_slice() {
            [] => true,
            [syn::Stmt::Expr(only, None)] => is_default(self.text(only)),
            _ => false,
        };
        let default = match output {
            ReturnType::Default => Some(String::new()),
            ReturnType::Type(_, of) => self.declarations.default_of(of),
        };
        let Some(default) = default else { return };
        let at = block.brace_token.span.open().byte_range().end;
        let mut defaults = Vec::new();
        if !is_trivial {
            defaults.push(default.clone());
        }
        if default == "false" {
            defaults.push("true".into());
        }
        for default in defaults {
            let wrap = Wrap::inserted(&format!(" if {SWITCH} {{ return {default}; }}"));
            self.add(Kind::DefaultValue, at..at, wrap, format!("return {default}").trim_end().to_owned());
        }
    }

    pub(super) fn fields(&mut self, node: &syn::ExprStruct) {
        let last = node.path.segments.last().map_or_else(String::new, |last| last.ident.to_string());
        let owner = match (last.as_str(), self.owners.last()) {
            ("Self", Some(owner)) => owner.clone(),
            _ => last,
        };
        for field in &node.fields {
            let syn::Member::Named(name) = &field.member else {
                self.visit_expr(&field.expr);
                continue;
            };
            let is_plain = !matches!(field.expr, Expr::Reference(_) | Expr::Closure(_));
            if is_plain
                && !is_default(self.text(&field.expr))
                && self.declarations.field_has_default(&owner, &name.to_string())
            {
                let change = format!("default instead of {} in {owner}", self.text(field));
                let mut wrap = Wrap::instead("Default::default()");
                if field.colon_token.is_none() {
                    // A shorthand field needs its name before the new value.
                    wrap.before.insert_str(0, &format!("{name}: "));
                }
                self.add(Kind::DefaultValue, range(&field.expr), wrap, change);
            }
            if field.colon_token.is_some() {
                self.visit_expr(&field.expr);
            }
        }
        if let Some(rest) = &node.rest {
            visit::visit_expr(self, rest);
        }
    }
}
