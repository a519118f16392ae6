//! Decimal microseconds as integer nanoseconds, without a detour over floats.
//!
//! A double has a resolution of a quarter of a microsecond at today's time since 1970, so the digits are read as
//! written. Digits below the nanosecond are rounded half up, and the rounding is reported.

/// A time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nanos {
    pub ns: i64,
    /// Whether digits below the nanosecond were rounded away.
    pub is_rounded: bool,
}

/// Times beyond ±146 years are invalid; sums of two valid times do not overflow.
pub(super) const NS_MAX: i64 = i64::MAX / 2;

/// Microseconds in decimal, also with an exponent; `None` for anything else and beyond [`NS_MAX`].
#[inline]
pub(super) fn ns_from_us(text: &[u8]) -> Option<Nanos> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, n) = leading_digits(digits);
    let rest = &digits[n..];
    let (ns, is_rounded) = match rest.first() {
        None if 0 < n && n <= 15 => (whole * 1000, false),
        Some(b'.') if n <= 15 => {
            let fraction = &rest[1..];
            let (value, m) = leading_digits(&fraction[..fraction.len().min(3)]);
            let rest = &fraction[m..];
            if !rest.iter().all(u8::is_ascii_digit) {
                return slow(text);
            }
            let up = i64::from(rest.first().is_some_and(|&digit| b'5' <= digit));
            let is_rounded = rest.iter().any(|&digit| digit != b'0');
            (whole * 1000 + value * [1000, 100, 10, 1][m] + up, is_rounded)
        }
        _ => return slow(text),
    };
    (ns <= NS_MAX).then_some(Nanos { ns: if negative { -ns } else { ns }, is_rounded })
}

/// Value and number of the digits at the start, 18 at most.
#[inline]
fn leading_digits(text: &[u8]) -> (i64, usize) {
    let mut value = 0_i64;
    let mut n = 0;
    while n < 16
        && let Some(eight) = text[n..].first_chunk()
        && let Some(next) = eight_digits(u64::from_le_bytes(*eight))
    {
        value = value * 100_000_000 + next;
        n += 8;
    }
    while n < 18
        && let Some(&byte) = text.get(n)
        && byte.is_ascii_digit()
    {
        value = value * 10 + i64::from(byte - b'0');
        n += 1;
    }
    (value, n)
}

/// The value of eight digits, the first of which is in the lowest byte; `None` if one of the bytes is no digit.
#[inline]
fn eight_digits(bytes: u64) -> Option<i64> {
    // A digit is 0x30 to 0x39: its upper half is 3, and stays so if 6 is added.
    let halves = bytes & 0xf0f0_f0f0_f0f0_f0f0;
    let moved = bytes.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    if (halves | moved >> 4) != 0x3333_3333_3333_3333 {
        return None;
    }
    // Neighbours become numbers of two digits, then of four, then of eight.
    let two = (bytes & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(10 << 8 | 1) >> 8;
    let four = (two & 0x00ff_00ff_00ff_00ff).wrapping_mul(100 << 16 | 1) >> 16;
    let eight = (four & 0x0000_ffff_0000_ffff).wrapping_mul(10_000 << 32 | 1) >> 32;
    i64::try_from(eight).ok()
}

/// With an exponent, or with more digits than fit: digits and point are moved, still exactly.
#[cold]
fn slow(text: &[u8]) -> Option<Nanos> {
    let text = std::str::from_utf8(text).ok()?;
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.bytes().chain(fraction.bytes());
    if whole.len() + fraction.len() == 0 || !digits.clone().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // Digits before the point once the value is in nanoseconds.
    let n_whole = i32::try_from(whole.len()).ok()?.checked_add(exponent)?.checked_add(3)?;
    let mut ns = 0_i64;
    let mut is_rounded = false;
    for (i, digit) in (0_i32..).zip(digits) {
        let digit = i64::from(digit - b'0');
        if i < n_whole {
            ns = ns.checked_mul(10)?.checked_add(digit)?;
        } else {
            ns += i64::from(i == n_whole && 5 <= digit);
            is_rounded |= digit != 0;
        }
    }
    let n_digits = i32::try_from(whole.len() + fraction.len()).ok()?;
    for _ in n_digits..n_whole {
        if ns == 0 {
            break;
        }
        ns = ns.checked_mul(10)?;
    }
    (ns <= NS_MAX).then_some(Nanos { ns: if negative { -ns } else { ns }, is_rounded })
}

/// An unsigned number in decimal, or in hexadecimal with `0x`.
pub(super) fn u64_from(text: &[u8]) -> Option<u64> {
    if text.len() <= 18 && !text.is_empty() {
        let (value, n) = leading_digits(text);
        if n == text.len() {
            return u64::try_from(value).ok();
        }
    }
    let text = std::str::from_utf8(text).ok()?;
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_exactly() {
        let cases: [(&str, Option<(i64, bool)>); 22] = [
            ("0", Some((0, false))),
            ("1712195495505543.2", Some((1_712_195_495_505_543_200, false))),
            ("4203669604595.407", Some((4_203_669_604_595_407, false))),
            ("1712195495519689.0", Some((1_712_195_495_519_689_000, false))),
            ("68.0", Some((68_000, false))),
            ("-3.5", Some((-3_500, false))),
            (".5", Some((500, false))),
            ("5.", Some((5_000, false))),
            ("0.0004", Some((0, true))),
            ("0.0005", Some((1, true))),
            ("0.30000000000000004", Some((300, true))),
            ("1.5000000", Some((1_500, false))),
            ("1.712195495505543e15", Some((1_712_195_495_505_543_000, false))),
            ("1E-2", Some((10, false))),
            ("12345e-4", Some((1_235, true))),
            ("0e999999", Some((0, false))),
            ("1e999999999", None),
            ("99999999999999999999", None),
            ("NaN", None),
            ("", None),
            ("-", None),
            ("1.2.3", None),
        ];
        for (text, wanted) in cases {
            let found = ns_from_us(text.as_bytes()).map(|found| (found.ns, found.is_rounded));
            assert_eq!(found, wanted, "{text:?}");
        }
    }

    #[test]
    fn digits_are_read_in_any_number_with_any_byte_behind() {
        let digits = |n: usize| (0..=20).filter(move |&from| n <= 20 - from).map(move |from| (from, n));
        for (from, n) in (0..=20).flat_map(digits) {
            let text = &b"98765432100000000007"[from..from + n];
            let most = n.min(18);
            let wanted = std::str::from_utf8(&text[..most]).unwrap().parse().unwrap_or(0);
            assert_eq!(leading_digits(text), (wanted, most));
            for behind in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                assert_eq!(
                    leading_digits(&[text, &[behind; 9]].concat()),
                    (wanted, most),
                    "{text:?} {behind}"
                );
            }
        }
    }

    #[test]
    fn identifiers_are_decimal_or_hexadecimal() {
        let cases = [
            ("7", Some(7)),
            ("10159970886766084423", Some(10_159_970_886_766_084_423)),
            ("0xafa1aa4c77af2196", Some(0xafa1_aa4c_77af_2196)),
            ("-1", None),
            ("", None),
            ("7.0", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(u64_from(text.as_bytes()), wanted, "{text:?}");
        }
    }
}
