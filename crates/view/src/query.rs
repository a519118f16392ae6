//! The part of an address behind `?`: names and values of numbers and words.

/// What was asked behind `?`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a>(pub &'a str);

impl Query<'_> {
    /// The value of a name, decoded; `None` if it is not there.
    pub fn text(self, name: &str) -> Option<String> {
        let parts = self.0.split('&').filter_map(|part| part.split_once('='));
        parts.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value)).next()
    }

    /// The number of a name; `default` if it is not there.
    ///
    /// # Errors
    /// If it is no number.
    pub fn number(self, name: &str, default: Option<u64>) -> Result<u64, String> {
        match (self.text(name), default) {
            (Some(text), _) => text.parse().map_err(|_| format!("{name} is not a whole number: {text:?}")),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(format!("{name} is missing")),
        }
    }
}

/// `%41` and `+` as what they stand for.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, hex) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        let query = Query("a=1&b=x%2Fy+z%");
        assert_eq!(query.number("a", None), Ok(1));
        assert_eq!(query.number("z", Some(5)), Ok(5));
        assert!(query.number("z", None).is_err() && query.number("b", None).is_err());
        assert_eq!(query.text("b").unwrap(), "x/y z%");
    }
}
