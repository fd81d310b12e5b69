use syn::visit::{self, Visit};
use syn::{BinOp, Expr};

use super::{Finder, range};
use crate::mutation::{Kind, Wrap};

pub(super) fn is_predicate(method: &str) -> bool {
    ["is_", "has_"].iter().any(|prefix| method.starts_with(prefix))
        || ["all", "any", "contains", "contains_key", "starts_with", "ends_with"].contains(&method)
}

fn is_predicate_call(expression: &Expr) -> bool {
    match expression {
        Expr::MethodCall(call) => is_predicate(&call.method.to_string()),
        Expr::Macro(call) => call.mac.path.is_ident("matches"),
        _ => false,
    }
}

pub(super) fn bare(mut expression: &Expr) -> &Expr {
    while let Expr::Paren(inner) = expression {
        expression = &inner.expr;
    }
    expression
}

fn is_fault(expression: &Expr) -> bool {
    match bare(expression) {
        Expr::Macro(call) => call.mac.path.is_ident("fault"),
        Expr::Unary(unary) => is_fault(&unary.expr),
        _ => false,
    }
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

fn is_text(expression: &Expr) -> bool {
    match bare(expression) {
        Expr::Lit(literal) => matches!(literal.lit, syn::Lit::Str(_) | syn::Lit::ByteStr(_)),
        Expr::Reference(_) => true,
        Expr::Macro(call) => call.mac.path.is_ident("format"),
        Expr::Binary(binary) => is_text(&binary.left) || is_text(&binary.right),
        _ => false,
    }
}

fn other_comparisons(operator: BinOp) -> &'static [(Kind, &'static str)] {
    match operator {
        BinOp::Eq(_) => &[(Kind::Comparison, "!=")],
        BinOp::Ne(_) => &[(Kind::Comparison, "==")],
        BinOp::Lt(_) => &[(Kind::Comparison, ">="), (Kind::Boundary, "<=")],
        BinOp::Le(_) => &[(Kind::Comparison, ">"), (Kind::Boundary, "<")],
        BinOp::Gt(_) => &[(Kind::Comparison, "<="), (Kind::Boundary, ">=")],
        BinOp::Ge(_) => &[(Kind::Comparison, "<"), (Kind::Boundary, ">")],
        _ => &[],
    }
}

fn other_arithmetic(operator: BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::Add(_) => "-",
        BinOp::Sub(_) => "+",
        BinOp::Mul(_) => "/",
        BinOp::Div(_) | BinOp::Rem(_) => "*",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        BinOp::MulAssign(_) => "/=",
        BinOp::DivAssign(_) => "*=",
        _ => return None,
    })
}

fn other_method(method: &str) -> Option<&'static str> {
    Some(match method {
        "min" => "max",
        "max" => "min",
        "saturating_add" => "saturating_sub",
        "saturating_sub" => "saturating_add",
        "checked_add" => "checked_sub",
        "checked_sub" => "checked_add",
        _ => return None,
    })
}

impl Finder<'_> {
    /// Negates a condition, unless a mutation of another kind has the same effect.
    pub(super) fn condition(&mut self, condition: &Expr) {
        match bare(condition) {
            Expr::Binary(_) | Expr::Unary(_) | Expr::Lit(_) | Expr::Let(_) => {}
            call if is_predicate_call(call) || is_fault(call) => {}
            other => {
                let negated = format!("!({})", self.text(other));
                self.instead(Kind::Boolean, other, &negated);
            }
        }
        self.visit_expr(condition);
    }

    pub(super) fn binary(&mut self, node: &syn::ExprBinary) {
        if let BinOp::And(_) | BinOp::Or(_) = node.op {
            let whole = Expr::Binary(node.clone());
            if !has_let(&whole) && !is_fault(&node.left) && !is_fault(&node.right) {
                let other = if matches!(node.op, BinOp::And(_)) { "||" } else { "&&" };
                let replacement = self.with_operator(node, other);
                self.instead(Kind::Boolean, node, &replacement);
            }
            self.condition(&node.left);
            self.condition(&node.right);
            return;
        }
        for (kind, other) in other_comparisons(node.op) {
            let replacement = self.with_operator(node, other);
            self.instead(*kind, node, &replacement);
        }
        if let Some(other) = other_arithmetic(node.op)
            && !is_text(&node.left)
            && !is_text(&node.right)
        {
            let replacement = if other.ends_with('=') {
                format!("{} {other} {}", self.text(&node.left), self.text(&node.right))
            } else {
                self.with_operator(node, other)
            };
            self.instead(Kind::Arithmetic, node, &replacement);
        }
        visit::visit_expr_binary(self, node);
    }

    fn with_operator(&self, node: &syn::ExprBinary, operator: &str) -> String {
        format!("({}) {operator} ({})", self.text(&node.left), self.text(&node.right))
    }

    pub(super) fn unary(&mut self, node: &syn::ExprUnary) {
        match node.op {
            syn::UnOp::Not(_) if !is_fault(&node.expr) => {
                let operand = self.text(&node.expr).to_owned();
                self.instead(Kind::Boolean, node, &operand);
                // The negation of the operand would be the same change.
                match bare(&node.expr) {
                    Expr::MethodCall(call) if is_predicate(&call.method.to_string()) => {
                        self.method_call(call)
                    }
                    Expr::Macro(call) => self.in_macro(&call.mac),
                    _ => self.visit_expr(&node.expr),
                }
            }
            syn::UnOp::Neg(_) => {
                let operand = self.text(&node.expr).to_owned();
                self.instead(Kind::Arithmetic, node, &operand);
                self.visit_expr(&node.expr);
            }
            _ => self.visit_expr(&node.expr),
        }
    }

    pub(super) fn call(&mut self, node: &syn::ExprCall) {
        if let Expr::Path(path) = &*node.func {
            let names: Vec<_> = path.path.segments.iter().map(|part| part.ident.to_string()).collect();
            let key = match names.as_slice() {
                [.., owner, name] if owner.starts_with(char::is_uppercase) => {
                    let this = self.owners.last().filter(|_| owner == "Self");
                    format!("{}::{name}", this.unwrap_or(owner))
                }
                [.., name] => name.clone(),
                [] => String::new(),
            };
            self.swaps(node, &key, &node.args);
        }
        visit::visit_expr_call(self, node);
    }

    /// The mutations of a method call, except its negation.
    pub(super) fn method_call(&mut self, node: &syn::ExprMethodCall) {
        let name = node.method.to_string();
        if let Some(other) = other_method(&name)
            && node.args.len() == 1
        {
            let (receiver, args) = (self.text(&node.receiver), self.text(&node.args));
            let replacement = format!("{receiver}.{other}({args})");
            self.instead(Kind::Arithmetic, node, &replacement);
        }
        self.swaps(node, &name, &node.args);
        self.elements_of_chain(node);
        if takes_condition(&name)
            && let [Expr::Closure(closure)] = node.args.iter().collect::<Vec<_>>().as_slice()
            && !matches!(&*closure.body, Expr::Block(_))
        {
            self.visit_expr(&node.receiver);
            self.condition(&closure.body);
            return;
        }
        visit::visit_expr_method_call(self, node);
    }

    fn swaps(
        &mut self,
        call: &impl syn::spanned::Spanned,
        function: &str,
        args: &syn::punctuated::Punctuated<Expr, syn::Token![,]>,
    ) {
        let Some(types) = self.declarations.arguments(function) else { return };
        if types.len() != args.len() {
            return;
        }
        let mut pairs = Vec::new();
        for (first, of) in types.iter().enumerate() {
            let next = types[first + 1..].iter().position(|other| other == of);
            pairs.extend(next.map(|next| (first, first + 1 + next)));
        }
        let whole = range(call);
        for (first, second) in pairs {
            let (one, other) = (range(&args[first]), range(&args[second]));
            let (one_text, other_text) = (&self.source[one.clone()], &self.source[other.clone()]);
            if one_text == other_text {
                continue;
            }
            let before = &self.source[whole.start..one.start];
            let between = &self.source[one.end..other.start];
            let after = &self.source[other.end..whole.end];
            let swapped = format!("{before}{other_text}{between}{one_text}{after}");
            let change = format!("{one_text} and {other_text} swapped in {function}");
            self.add(Kind::SwappedArguments, whole.clone(), Wrap::instead(&swapped), change);
        }
    }
}

fn takes_condition(method: &str) -> bool {
    [
        "all",
        "any",
        "filter",
        "find",
        "is_none_or",
        "is_some_and",
        "partition",
        "position",
        "retain",
        "skip_while",
        "take_while",
    ]
    .contains(&method)
}
