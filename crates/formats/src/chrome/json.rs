//! Small values of a file's head and of rare arguments.

use super::scan::{Cursor, Value, plain};

/// A member of an object as text.
pub(super) fn member(object: &[u8], key: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(object);
    cursor.expect(b'{', "").ok()?;
    while let Ok(Some(found)) = cursor.key() {
        let value = cursor.value().ok()?;
        if found.raw == key {
            return match value {
                Value::Text(text) => Some(plain(text)),
                other => Some(String::from_utf8_lossy(other.raw()).into_owned()),
            };
        }
    }
    None
}
