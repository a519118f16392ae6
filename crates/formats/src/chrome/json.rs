//! Small values of a file's head and of rare arguments.

use super::scan::{JsonCursor, plain};

/// A member of an object as text.
pub(super) fn member(object: &[u8], key: &[u8]) -> Option<String> {
    let mut cursor = JsonCursor::new(object);
    cursor.expect(b'{', "").ok()?;
    while let Ok(Some(found)) = cursor.key() {
        let value = cursor.value().ok()?;
        if found.raw == key {
            return Some(plain(value.text()));
        }
    }
    None
}
