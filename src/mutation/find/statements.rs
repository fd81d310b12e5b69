use syn::visit;
use syn::{Expr, Stmt};

use super::{Finder, is_left_out, range};
use crate::mutation::{Kind, Wrap};

fn is_removable(expression: &Expr) -> bool {
    match expression {
        Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_) | Expr::Await(_) | Expr::Try(_) => true,
        Expr::Binary(binary) => !matches!(
            binary.op,
            syn::BinOp::And(_) | syn::BinOp::Or(_) | syn::BinOp::Eq(_) | syn::BinOp::Ne(_)
        ),
        other => leaves_block(other),
    }
}

fn leaves_block(expression: &Expr) -> bool {
    matches!(expression, Expr::Return(_) | Expr::Break(_) | Expr::Continue(_))
}

fn is_bail(call: &syn::StmtMacro) -> bool {
    call.mac.path.segments.last().is_some_and(|last| last.ident == "bail")
}

fn attributes(expression: &Expr) -> &[syn::Attribute] {
    match expression {
        Expr::MethodCall(node) => &node.attrs,
        Expr::Call(node) => &node.attrs,
        Expr::Assign(node) => &node.attrs,
        Expr::If(node) => &node.attrs,
        Expr::Block(node) => &node.attrs,
        Expr::Return(node) => &node.attrs,
        Expr::ForLoop(node) => &node.attrs,
        Expr::Match(node) => &node.attrs,
        _ => &[],
    }
}

impl Finder<'_> {
    /// The statements of a block. A statement that leaves the block is kept, unless the block may end
    /// without a value, as that of an `if` without `else`.
    pub(super) fn statements(&mut self, block: &syn::Block, may_end: bool) {
        for statement in &block.stmts {
            self.statement(statement, may_end);
        }
    }

    fn statement(&mut self, statement: &Stmt, may_end: bool) {
        match statement {
            Stmt::Expr(expression, semicolon) => {
                if is_left_out(attributes(expression)) {
                    return;
                }
                let is_needed = leaves_block(expression) && !may_end;
                if semicolon.is_some() && is_removable(expression) && !is_needed {
                    self.removed(statement);
                }
            }
            Stmt::Local(local) => {
                if is_left_out(&local.attrs) {
                    return;
                }
                if matches!(local.pat, syn::Pat::Wild(_)) && local.init.is_some() {
                    self.removed(statement);
                }
            }
            Stmt::Macro(call) => {
                if is_bail(call) && may_end {
                    self.removed(statement);
                }
            }
            Stmt::Item(_) => {}
        }
        visit::visit_stmt(self, statement);
    }

    fn removed(&mut self, statement: &Stmt) {
        let change = format!("without {}", self.text(statement));
        self.add(Kind::RemovedStatement, range(statement), Wrap::removed(), change);
    }
}
