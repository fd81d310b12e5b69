//! Finds the mutations of a file. The population is every place of the kinds below in a function, except:
//!
//! - code of tests, and code that only a build with or without `--cfg mutants` has;
//! - constants and constant functions, whose value no switch can change when the program runs;
//! - the words of logs, metrics and texts: string literals, and arguments of `format!` and logging macros;
//! - replacements that are equal to the original, such as a default for `None`;
//! - a comparison, condition or `!` about a `fault!`, which is a hand-written mutant already.
//!
//! Mutations of defaults and of argument order need types. [`declarations`] reads them from the source.

mod declarations;
mod defaults;
mod expressions;
mod iterations;
mod macros;
mod statements;

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

pub(crate) use self::declarations::{Declarations, is_left_out};
use crate::mutation::{Found, Kind, Wrap};

pub(crate) fn mutations(source: &str, file: &syn::File, declarations: &Declarations) -> Vec<Found> {
    let (owners, path) = (Vec::new(), Vec::new());
    let mut finder = Finder { source, declarations, owners, path, found: Vec::new() };
    finder.visit_file(file);
    let mut found = finder.found;
    // Outer pieces first. The sort is stable, so that the kinds of one piece keep their order.
    found.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end)));
    found
}

struct Finder<'a> {
    source: &'a str,
    declarations: &'a Declarations,
    owners: Vec<String>,
    path: Vec<String>,
    found: Vec<Found>,
}

fn range(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

impl Finder<'_> {
    fn text(&self, node: &impl Spanned) -> &str {
        &self.source[range(node)]
    }

    /// Records a mutation. Outside of functions there is none.
    fn add(&mut self, kind: Kind, range: Range<usize>, wrap: Wrap, change: String) {
        if self.path.is_empty() {
            return;
        }
        let owner = self.owners.last().into_iter();
        let function = owner.chain(&self.path).cloned().collect::<Vec<_>>().join("::");
        let line = self.source[..range.start].matches('\n').count() + 1;
        self.found.push(Found { kind, function, line, range, wrap, change: short(&change) });
    }

    fn instead(&mut self, kind: Kind, node: &impl Spanned, replacement: &str) {
        let change = format!("{replacement} instead of {}", self.text(node));
        self.add(kind, range(node), Wrap::instead(replacement), change);
    }

    fn in_function(&mut self, name: &syn::Ident, signature: &syn::Signature, block: &syn::Block) {
        // The value of a constant function may be needed when the program is compiled.
        if signature.constness.is_some() || (self.path.is_empty() && name == "main") {
            return;
        }
        self.path.push(name.to_string());
        self.default_of_function(&signature.output, block);
        self.visit_block(block);
        self.path.pop();
    }
}

/// One line of at most 160 characters.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Fn(function) if !is_left_out(&function.attrs) => {
                self.in_function(&function.sig.ident, &function.sig, &function.block);
            }
            syn::Item::Impl(block) if !is_left_out(&block.attrs) => {
                self.owners.push(declarations::type_name(&block.self_ty));
                let path = std::mem::take(&mut self.path);
                visit::visit_item_impl(self, block);
                self.path = path;
                self.owners.pop();
            }
            syn::Item::Trait(of) if !is_left_out(&of.attrs) => {
                self.owners.push(of.ident.to_string());
                visit::visit_item_trait(self, of);
                self.owners.pop();
            }
            syn::Item::Mod(module) if !is_left_out(&module.attrs) => visit::visit_item_mod(self, module),
            _ => {}
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if let syn::ImplItem::Fn(function) = item
            && !is_left_out(&function.attrs)
        {
            self.in_function(&function.sig.ident, &function.sig, &function.block);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        if let syn::TraitItem::Fn(function) = item
            && let Some(block) = &function.default
            && !is_left_out(&function.attrs)
        {
            self.in_function(&function.sig.ident, &function.sig, block);
        }
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.statements(block, false);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(init) = &local.init else { return };
        self.visit_expr(&init.expr);
        if let Some((_, diverging)) = &init.diverge {
            self.visit_expr(diverging);
        }
    }

    fn visit_expr_if(&mut self, node: &'ast syn::ExprIf) {
        self.condition(&node.cond);
        self.statements(&node.then_branch, node.else_branch.is_none());
        if let Some((_, other)) = &node.else_branch {
            self.visit_expr(other);
        }
    }

    fn visit_expr_while(&mut self, node: &'ast syn::ExprWhile) {
        self.condition(&node.cond);
        self.statements(&node.body, true);
    }

    fn visit_expr_loop(&mut self, node: &'ast syn::ExprLoop) {
        self.statements(&node.body, true);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if is_left_out(&arm.attrs) {
            return;
        }
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
        }
        self.visit_expr(&arm.body);
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        self.binary(node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        self.unary(node);
    }

    fn visit_expr_lit(&mut self, node: &'ast syn::ExprLit) {
        if let syn::Lit::Bool(literal) = &node.lit {
            self.instead(Kind::Boolean, node, if literal.value { "false" } else { "true" });
        }
    }

    fn visit_expr_call(&mut self, node: &'ast syn::ExprCall) {
        self.call(node);
    }

    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        if expressions::is_predicate(&node.method.to_string()) {
            let negated = format!("!({})", self.text(node));
            self.instead(Kind::Boolean, node, &negated);
        }
        self.method_call(node);
    }

    fn visit_expr_for_loop(&mut self, node: &'ast syn::ExprForLoop) {
        self.elements_of_loop(&node.expr);
        self.visit_expr(&node.expr);
        self.statements(&node.body, true);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        self.fields(node);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        self.in_macro(node);
    }

    fn visit_expr_macro(&mut self, node: &'ast syn::ExprMacro) {
        if node.mac.path.is_ident("matches") {
            let negated = format!("!({})", self.text(node));
            self.instead(Kind::Boolean, node, &negated);
        }
        self.in_macro(&node.mac);
    }
}
