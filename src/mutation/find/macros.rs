//! The expressions inside `vec!`, `matches!` and `json!`. Most other macros create text and are not mutated.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::Visit;
use syn::{Expr, Token};

use super::{Finder, range};
use crate::mutation::{Kind, SWITCH, Wrap};

impl Finder<'_> {
    pub(super) fn in_macro(&mut self, node: &syn::Macro) {
        let Some(name) = node.path.segments.last().map(|last| last.ident.to_string()) else { return };
        match name.as_str() {
            "vec" => {
                let elements = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(node.tokens.clone());
                elements.iter().flatten().for_each(|element| self.visit_expr(element));
            }
            "matches" => {
                let mut tokens = node.tokens.clone().into_iter();
                let is_comma =
                    |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
                let matched: TokenStream = tokens.by_ref().take_while(|token| !is_comma(token)).collect();
                if let Ok(matched) = syn::parse2::<Expr>(matched) {
                    self.visit_expr(&matched);
                }
            }
            "json" => self.json(node.tokens.clone()),
            _ => {}
        }
    }

    fn json(&mut self, tokens: TokenStream) {
        if let [TokenTree::Group(group)] = tokens.clone().into_iter().collect::<Vec<_>>().as_slice() {
            match group.delimiter() {
                Delimiter::Brace => return self.json_fields(group.stream()),
                Delimiter::Bracket => {
                    return separated(group.stream()).into_iter().for_each(|element| self.json(element));
                }
                _ => {}
            }
        }
        if let Ok(value) = syn::parse2::<Expr>(tokens) {
            self.visit_expr(&value);
        }
    }

    /// Each field of an object may be null.
    fn json_fields(&mut self, tokens: TokenStream) {
        for field in separated(tokens) {
            let mut tokens = field.into_iter();
            let is_colon = |token: &TokenTree| match token {
                TokenTree::Punct(mark) => mark.as_char() == ':' && mark.spacing() == Spacing::Alone,
                _ => false,
            };
            let key: TokenStream = tokens.by_ref().take_while(|token| !is_colon(token)).collect();
            let value: TokenStream = tokens.collect();
            if value.is_empty() {
                continue;
            }
            if value.to_string() != "null" {
                let wrap = Wrap {
                    before: format!(
                        "(if {SWITCH} {{ ::serde_json::Value::Null }} else {{ ::serde_json::json!("
                    ),
                    after: ") })".into(),
                };
                let change = format!("null instead of {key}: {value}");
                self.add(Kind::DefaultValue, range(&value), wrap, change);
            }
            self.json(value);
        }
    }
}

fn separated(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in tokens {
        match (&token, parts.last_mut()) {
            (TokenTree::Punct(mark), _) if mark.as_char() == ',' => parts.push(TokenStream::new()),
            (_, Some(last)) => last.extend([token]),
            (_, None) => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}
