//! With which bytes the names begin that a pattern matches: most names begin with none of most patterns'.
//!
//! Law: a name that the whole pattern matches begins with one of them. What is not understood may begin with any.

/// A set of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Starts([u64; 4]);

impl Starts {
    const NONE: Starts = Starts([0; 4]);
    const ALL: Starts = Starts([u64::MAX; 4]);

    /// Of a pattern that has to match the whole name.
    pub fn of(pattern: &str) -> Self {
        let mut rest = pattern.as_bytes();
        match alternatives(&mut rest) {
            Some(Begin { starts, is_optional: false }) if rest.is_empty() => starts,
            _ => Starts::ALL,
        }
    }

    /// Whether a name may begin so; an empty one may.
    pub fn may_begin(&self, name: &str) -> bool {
        name.bytes().next().is_none_or(|byte| self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1)
    }

    fn with(mut self, byte: u8) -> Self {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
        self
    }

    fn and(self, other: Starts) -> Self {
        Starts(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

/// How what a part of a pattern matches begins, and whether it may match nothing.
#[derive(Debug, Clone, Copy)]
struct Begin {
    starts: Starts,
    is_optional: bool,
}

/// `a|b|c`, up to a bracket that closes; `None` if it is not understood.
fn alternatives(rest: &mut &[u8]) -> Option<Begin> {
    let mut all = sequence(rest)?;
    while let Some((b'|', after)) = rest.split_first() {
        *rest = after;
        let Begin { starts, is_optional } = sequence(rest)?;
        all = Begin { starts: all.starts.and(starts), is_optional: all.is_optional || is_optional };
    }
    Some(all)
}

fn sequence(rest: &mut &[u8]) -> Option<Begin> {
    let mut all = Begin { starts: Starts::NONE, is_optional: true };
    while rest.first().is_some_and(|byte| !matches!(byte, b'|' | b')')) {
        let Begin { starts, is_optional } = repeated(rest)?;
        if all.is_optional {
            all.starts = all.starts.and(starts);
        }
        all.is_optional &= is_optional;
    }
    Some(all)
}

/// A byte, class or group, with how often it may come.
fn repeated(rest: &mut &[u8]) -> Option<Begin> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    let mut one = Begin { starts: Starts::NONE, is_optional: false };
    match first {
        b'(' => {
            one = alternatives(rest)?;
            *rest = rest.strip_prefix(b")")?;
        }
        b'[' => one.starts = class(rest)?,
        b'.' => one.starts = Starts::ALL,
        b'\\' => {
            let (&escaped, after) = rest.split_first()?;
            *rest = after;
            one.starts = Starts::NONE.with(Some(escaped).filter(u8::is_ascii_punctuation)?);
        }
        b'^' | b'$' | b'?' | b'*' | b'+' | b'{' => return None,
        byte => one.starts = Starts::NONE.with(byte),
    }
    match rest.first() {
        Some(b'?' | b'*') => {
            one.is_optional = true;
            *rest = &rest[1..];
        }
        Some(b'+') => *rest = &rest[1..],
        Some(b'{') => {
            one.is_optional |= rest.starts_with(b"{0");
            let end = rest.iter().position(|&byte| byte == b'}')?;
            *rest = &rest[end + 1..];
        }
        _ => {}
    }
    Some(one)
}

/// `a-z0]`, behind the opening bracket.
fn class(rest: &mut &[u8]) -> Option<Starts> {
    let mut starts = Starts::NONE;
    loop {
        let (&from, after) = rest.split_first()?;
        *rest = after;
        match (from, &rest[..]) {
            (b']', _) => return Some(starts),
            (b'^' | b'\\' | b'[' | b'&', _) => return None,
            (_, [b'-', to, after @ ..]) if *to != b']' => {
                starts = (from..=*to).fold(starts, Starts::with);
                *rest = after;
            }
            _ => starts = starts.with(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters, digits and some signs that names may begin with.
    fn begins(pattern: &str) -> String {
        let starts = Starts::of(pattern);
        (b' '..=b'~').map(char::from).filter(|byte| starts.may_begin(&byte.to_string())).collect()
    }

    #[test]
    fn names_begin_with_what_may_come_first() {
        for (pattern, expected) in [
            ("abc", "a"),
            ("p?shmem_.*", "ps"),
            ("[Pp]?(MPI|mpi)_x", "MPmp"),
            ("(__)?(libc_)?(read|open(64)?)", "_lor"),
            ("([a-c0]+_)*x{0,2}y|\\(idle\\)", "(0abcxy"),
            ("x{1,2}y", "x"),
            ("!\\$omp .*|<omp>", "!<"),
        ] {
            assert_eq!(begins(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_not_understood_may_begin_with_anything() {
        for pattern in
            ["", "a?", ".*b", "[^a]b", "\\d+", "(?i)abc", "a|(b", "[a", "a)b", "\\pL", "^a", "a||b"]
        {
            assert_eq!(Starts::of(pattern), Starts::ALL, "{pattern}");
        }
        assert!(Starts::of("abc").may_begin(""));
    }
}
