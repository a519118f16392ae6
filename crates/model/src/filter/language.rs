//! Predicates as text: `name like "MPI_*" and rank in 0-3 and not depth > 4`.
//!
//! ```text
//! expr    := both ("or" both)*
//! both    := unary ("and" unary)*
//! unary   := "not" unary | "(" expr ")" | test
//! test    := field ["not"] op
//! op      := ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") value
//!          | "in" list | "like" list | "between" value "and" value
//! field   := "name" | "path" | "within" | "depth" | "rank" | "thread" | "time" | "enter" | "leave"
//!          | "inclusive" | "exclusive" | "metric" "(" text ")"
//! list    := value ("," value)* | "(" value ("," value)* ")"
//! value   := text | number | first "-" last | start ".." end
//! ```
//! Times carry a unit (`10s`, `1.5ms`, `300us`, `70ns`); without one they are seconds.
//! Text is quoted by `"` or `'`, with `\` before a quote; a word of letters needs none.
//! Laws: what `Display` writes reads back as the same predicate; errors say where; the
//! depth of parentheses is limited, so that no text overflows the stack.

mod lexer;
mod parser;
mod writer;

/// Why a text is no predicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at character {} of the filter", .offset + 1)]
pub struct FilterError {
    /// Characters before the place.
    pub offset: usize,
    /// What is wrong there.
    pub reason: String,
}

impl std::str::FromStr for super::Predicate {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        parser::parse(text)
    }
}
