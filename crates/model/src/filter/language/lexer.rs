//! Text to tokens.

use super::FilterError;

/// A piece of a filter, and how many characters come before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub offset: usize,
    pub kind: LexemeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LexemeKind {
    /// Letters, digits and the signs of patterns.
    Word(String),
    /// A quoted text.
    Text(String),
    /// Begins like a number: `3`, `0-3`, `10s..20s`, `..1.5ms`.
    Number(String),
    /// An operator, a parenthesis or a comma.
    Sign(&'static str),
}

const SIGNS: [&str; 10] = ["<=", ">=", "==", "!=", "<", ">", "=", "(", ")", ","];

/// Cuts `text` into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Lexeme>, FilterError> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let offset = at;
        let rest = &chars[at..];
        let run = |holds: fn(char) -> bool| rest.iter().take_while(|&&c| holds(c)).collect::<String>();
        let kind = if c.is_whitespace() {
            at += 1;
            continue;
        } else if c == '"' || c == '\'' {
            let (text, n_chars) = quoted(rest, offset)?;
            at += n_chars;
            LexemeKind::Text(text)
        } else if c.is_ascii_digit() || c == '.' {
            let number = run(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+'));
            at += number.chars().count();
            LexemeKind::Number(number)
        } else if is_of_word(c) {
            let word = run(is_of_word);
            at += word.chars().count();
            LexemeKind::Word(word)
        } else if let Some(sign) =
            SIGNS.into_iter().find(|sign| sign.chars().eq(rest.iter().take(sign.len()).copied()))
        {
            at += sign.len();
            LexemeKind::Sign(sign)
        } else {
            return Err(FilterError {
                offset,
                reason: format!("unexpected {c:?}; quote text that is not a single word"),
            });
        };
        tokens.push(Lexeme { offset, kind });
    }
    Ok(tokens)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '*' | '?' | ':' | '.' | '/')
}

/// The text between quotes, and the characters it takes with them.
fn quoted(chars: &[char], offset: usize) -> Result<(String, usize), FilterError> {
    let mut text = String::new();
    let mut at = 1;
    while let Some(&c) = chars.get(at) {
        if c == chars[0] {
            return Ok((text, at + 1));
        }
        let escaped = chars.get(at + 1).filter(|&&next| c == '\\' && matches!(next, '\\' | '"' | '\''));
        text.push(*escaped.unwrap_or(&c));
        at += if escaped.is_some() { 2 } else { 1 };
    }
    Err(FilterError { offset, reason: "unclosed quote".to_owned() })
}
