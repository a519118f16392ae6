//! License expressions of crates: names of licenses with AND, OR and parentheses; `/` is an old way to write OR.

/// Whether the allowed licenses satisfy an expression.
pub fn allows(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, &'static str> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let found = any(&words, &mut at, is_allowed)?;
    if at == words.len() { Ok(found) } else { Err("is not an expression that is understood") }
}

fn any(words: &[&str], at: &mut usize, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, &'static str> {
    let mut found = all(words, at, is_allowed)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        found |= all(words, at, is_allowed)?;
    }
    Ok(found)
}

fn all(words: &[&str], at: &mut usize, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, &'static str> {
    let mut found = one(words, at, is_allowed)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        found &= one(words, at, is_allowed)?;
    }
    Ok(found)
}

fn one(words: &[&str], at: &mut usize, is_allowed: &dyn Fn(&str) -> bool) -> Result<bool, &'static str> {
    let word = *words.get(*at).ok_or("ends too early")?;
    *at += 1;
    match word {
        "(" => {
            let found = any(words, at, is_allowed)?;
            if words.get(*at) != Some(&")") {
                return Err("lacks a parenthesis");
            }
            *at += 1;
            Ok(found)
        }
        ")" | "AND" | "OR" | "WITH" => Err("is not an expression that is understood"),
        license => match words.get(*at..*at + 2) {
            Some(["WITH", exception]) => {
                *at += 2;
                Ok(is_allowed(&format!("{license} WITH {exception}")))
            }
            _ => Ok(is_allowed(license)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_needs_one_and_a_sum_all() {
        let allows = |text| allows(text, &|license| ["MIT", "ISC", "Apache-2.0 WITH x"].contains(&license));
        for text in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND ISC", "Apache-2.0 WITH x"]
        {
            assert_eq!(allows(text), Ok(true), "{text}");
        }
        for text in ["GPL-3.0", "MIT AND GPL-3.0", "MIT AND (GPL-3.0 OR BSL-1.0)", "Apache-2.0", "MIT WITH x"]
        {
            assert_eq!(allows(text), Ok(false), "{text}");
        }
        for text in ["", "MIT OR", "(MIT", "MIT ISC", "AND", "MIT WITH"] {
            assert!(allows(text).is_err(), "{text}");
        }
    }
}
