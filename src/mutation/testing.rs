use crate::mutation::{Kind, Mutation};

pub(crate) fn mutation(number: u32, file: &str) -> Mutation {
    Mutation {
        number,
        id: format!("{file}:f:boolean:{number}"),
        file: file.into(),
        function: "f".into(),
        kind: Kind::Boolean,
        line: 1,
        change: String::new(),
    }
}
