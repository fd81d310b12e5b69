use syn::Expr;

use super::{Finder, range};
use crate::mutation::{Kind, SWITCH, Wrap};

/// Methods that consume an iterator: name, number of arguments, and whether they only borrow the iterator.
const CONSUMERS: [(&str, usize, bool); 17] = [
    ("collect", 0, false),
    ("count", 0, false),
    ("sum", 0, false),
    ("max", 0, false),
    ("min", 0, false),
    ("next", 0, true),
    ("all", 1, true),
    ("any", 1, true),
    ("find", 1, true),
    ("find_map", 1, true),
    ("position", 1, true),
    ("for_each", 1, false),
    ("max_by_key", 1, false),
    ("min_by_key", 1, false),
    ("partition", 1, false),
    ("fold", 2, false),
    ("unzip", 0, false),
];

fn skip() -> String {
    format!(".skip(usize::from({SWITCH}))")
}

fn first() -> String {
    format!(".take(crate::mutation_switch::at_most({SWITCH}))")
}

impl Finder<'_> {
    pub(super) fn elements_of_loop(&mut self, iterated: &Expr) {
        let text = self.text(iterated).to_owned();
        for (kind, change) in [(Kind::SkippedElement, skip()), (Kind::FirstOnly, first())] {
            let wrap = Wrap { before: "(".into(), after: format!(").into_iter(){change}") };
            self.add(kind, range(iterated), wrap, format!("{}: for … in {text}", kind.name()));
        }
    }

    pub(super) fn elements_of_chain(&mut self, call: &syn::ExprMethodCall) {
        let name = call.method.to_string();
        let consumer = CONSUMERS.iter().find(|(known, args, _)| *known == name && *args == call.args.len());
        let Some((_, _, by_reference)) = consumer else { return };
        let is_place = !matches!(&*call.receiver, Expr::MethodCall(_) | Expr::Call(_) | Expr::Paren(_));
        if *by_reference && is_place {
            // The code may use the iterator again, or the receiver may be a text, which has these methods.
            return;
        }
        let text = self.text(call).to_owned();
        let at = range(&call.receiver);
        let change = |kind: Kind| format!("{}: {text}", kind.name());
        let kind = Kind::SkippedElement;
        self.add(kind, at.clone(), Wrap::appended(&skip()), change(kind));
        // `next` takes only the first element anyway.
        if name != "next" {
            let kind = Kind::FirstOnly;
            self.add(kind, at, Wrap::appended(&first()), change(kind));
        }
    }
}
