//! What is inserted where.
//!
//! Law: offsets are those of the input; at one offset, what was added first comes first.

/// Texts with the offsets before which they come.
#[derive(Debug, Default)]
pub struct Insertions(Vec<(usize, String)>);

impl Insertions {
    /// Inserts before the byte at this offset.
    pub fn add(&mut self, at: usize, text: String) {
        self.0.push((at, text));
    }

    /// These, then those.
    pub fn followed_by(mut self, those: Insertions) -> Insertions {
        self.0.extend(those.0);
        self
    }

    /// The input with all of them.
    pub fn applied(mut self, input: &[u8]) -> Vec<u8> {
        self.0.sort_by_key(|(at, _)| *at);
        let n_bytes: usize = self.0.iter().map(|(_, text)| text.len()).sum();
        let mut output = Vec::with_capacity(input.len() + n_bytes);
        let mut done = 0;
        for (at, text) in &self.0 {
            output.extend_from_slice(&input[done..*at]);
            output.extend_from_slice(text.as_bytes());
            done = *at;
        }
        output.extend_from_slice(&input[done..]);
        output
    }
}

/// A text in the quotes of C, and of directives that name a file.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' | '\r' | '\0' => quoted.push('?'),
            // Two in a row could begin a trigraph.
            '?' => quoted.push_str("\\?"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
