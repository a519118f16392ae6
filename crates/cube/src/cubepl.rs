//! Expressions of derived metrics: CubePL as far as it is arithmetic.
//!
//! The parser reads numbers, `+ - * / ^`, signs, parentheses, `abs sqrt min max`, the value of
//! a metric (`metric::time()`, `metric::time(i)`, `metric::time(e)`), and `{ return …; }`
//! around. Anything else (variables, loops, strings, `${cube::…}`) is reported by name, and the
//! caller leaves out the metric. The result is a list of steps for a stack. Binary operators
//! of equal precedence associate to the left, `^` to the right and before signs.

/// One step of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Pushes a number.
    Number(f64),
    /// Pushes the value of a metric of this unique name.
    Metric(String, Flavour),
    /// Applies an operator or function to the last values.
    Apply(Operator),
}

/// With or without callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// As requested for the whole expression.
    Same,
    /// With callees.
    Inclusive,
    /// Without.
    Exclusive,
}

/// Operators and functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is an operator of that name")]
pub enum Operator {
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Abs,
    Sqrt,
    Min,
    Max,
}

impl Operator {
    fn rank(self) -> u8 {
        match self {
            Operator::Add | Operator::Subtract => 1,
            Operator::Multiply | Operator::Divide => 2,
            Operator::Negate => 3,
            Operator::Power => 4,
            Operator::Abs | Operator::Sqrt | Operator::Min | Operator::Max => 5,
        }
    }

    fn function(name: &str) -> Option<(Self, usize)> {
        Some(match name {
            "abs" => (Operator::Abs, 1),
            "sqrt" => (Operator::Sqrt, 1),
            "min" => (Operator::Min, 2),
            "max" => (Operator::Max, 2),
            _ => return None,
        })
    }
}

/// What waits for its right side or its end.
enum PendingOperator {
    Operator(Operator),
    /// `(`, with the function before it, its number of arguments, and the number begun.
    Open(Option<(Operator, usize)>, usize),
}

/// The steps of an expression.
///
/// # Errors
/// The part that is not simple arithmetic, in words.
pub fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut rest = without_return(text.trim())?;
    let (mut steps, mut waiting): (Vec<Step>, Vec<PendingOperator>) = (Vec::new(), Vec::new());
    let mut wants_value = true;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if wants_value {
            match first {
                '(' => {
                    waiting.push(PendingOperator::Open(None, 1));
                    rest = &rest[1..];
                }
                '-' => {
                    waiting.push(PendingOperator::Operator(Operator::Negate));
                    rest = &rest[1..];
                }
                '+' => rest = &rest[1..],
                '0'..='9' | '.' => {
                    let (number, after) = number(rest)?;
                    steps.push(Step::Number(number));
                    (rest, wants_value) = (after, false);
                }
                _ => (rest, wants_value) = named(rest, &mut steps, &mut waiting)?,
            }
        } else {
            let operator = match first {
                '+' => Operator::Add,
                '-' => Operator::Subtract,
                '*' => Operator::Multiply,
                '/' => Operator::Divide,
                '^' => Operator::Power,
                ')' | ',' => {
                    close(first, &mut steps, &mut waiting)?;
                    (rest, wants_value) = (&rest[1..], first == ',');
                    continue;
                }
                _ => return Err(unknown(rest)),
            };
            apply_stronger(operator, &mut steps, &mut waiting);
            waiting.push(PendingOperator::Operator(operator));
            (rest, wants_value) = (&rest[1..], true);
        }
    }
    if wants_value {
        return Err("it ends where a value is expected".to_owned());
    }
    while let Some(last) = waiting.pop() {
        match last {
            PendingOperator::Operator(operator) => steps.push(Step::Apply(operator)),
            PendingOperator::Open(..) => return Err("a parenthesis is not closed".to_owned()),
        }
    }
    Ok(steps)
}

/// Reads a metric, or the name of a function with its parenthesis; returns the rest, and whether a value must follow.
fn named<'a>(
    rest: &'a str,
    steps: &mut Vec<Step>,
    waiting: &mut Vec<PendingOperator>,
) -> Result<(&'a str, bool), String> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
    let n = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
    let (name, after) = rest.split_at(n);
    if let Some(metric) = name.strip_prefix("metric::") {
        let (flavour, after) = flavour(metric, after)?;
        steps.push(Step::Metric(metric.to_owned(), flavour));
        return Ok((after, false));
    }
    let after = after.trim_start().strip_prefix('(');
    let (function, after) = Operator::function(name).zip(after).ok_or_else(|| unknown(rest))?;
    waiting.push(PendingOperator::Open(Some(function), 1));
    Ok((after, true))
}

/// The expression in `{ return …; }`, or the whole text.
fn without_return(text: &str) -> Result<&str, String> {
    let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else { return Ok(text) };
    let inner = inner.trim();
    let result = inner.strip_prefix("return").and_then(|inner| inner.trim_end().strip_suffix(';'));
    result.filter(|result| !result.contains(';')).ok_or_else(|| "it has statements".to_owned())
}

fn unknown(rest: &str) -> String {
    let some: String = rest.chars().take(20).collect();
    format!("{some:?} is not simple arithmetic")
}

fn number(text: &str) -> Result<(f64, &str), String> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let last = digits(end + 1 + sign);
        if last > end + 1 + sign {
            end = last;
        }
    }
    let value = text[..end].parse().map_err(|_| unknown(text))?;
    Ok((value, &text[end..]))
}

/// The part in parentheses after the name of a metric. A second argument is about the system tree, and changes
/// nothing for a location.
fn flavour<'a>(metric: &str, after: &'a str) -> Result<(Flavour, &'a str), String> {
    let wrong = || unknown(&format!("metric::{metric}{after}"));
    if metric.is_empty() || metric.contains(':') {
        return Err(wrong());
    }
    let inner = after.trim_start().strip_prefix('(').ok_or_else(wrong)?;
    let (arguments, after) = inner.split_once(')').ok_or_else(wrong)?;
    let mut arguments = arguments.split(',').map(str::trim);
    let flavour = match arguments.next() {
        None | Some("" | "*") => Flavour::Same,
        Some("i") => Flavour::Inclusive,
        Some("e") => Flavour::Exclusive,
        Some(_) => return Err(wrong()),
    };
    let rest_is_plain = arguments.all(|argument| matches!(argument, "" | "*" | "i" | "e"));
    if rest_is_plain { Ok((flavour, after)) } else { Err(wrong()) }
}

/// Applies what waits and comes before `operator`.
fn apply_stronger(operator: Operator, steps: &mut Vec<Step>, waiting: &mut Vec<PendingOperator>) {
    while let Some(PendingOperator::Operator(last)) = waiting.last() {
        let last = *last;
        let from_right = operator == Operator::Power;
        if last.rank() < operator.rank() || (from_right && last.rank() == operator.rank()) {
            break;
        }
        steps.push(Step::Apply(last));
        waiting.pop();
    }
}

/// Ends an argument or a parenthesis.
fn close(end: char, steps: &mut Vec<Step>, waiting: &mut Vec<PendingOperator>) -> Result<(), String> {
    loop {
        match waiting.pop() {
            Some(PendingOperator::Operator(operator)) => steps.push(Step::Apply(operator)),
            Some(PendingOperator::Open(Some((function, n)), begun)) if end == ',' && begun < n => {
                waiting.push(PendingOperator::Open(Some((function, n)), begun + 1));
                return Ok(());
            }
            Some(PendingOperator::Open(Some((function, n)), begun)) if end == ')' && begun == n => {
                steps.push(Step::Apply(function));
                return Ok(());
            }
            Some(PendingOperator::Open(None, _)) if end == ')' => return Ok(()),
            Some(PendingOperator::Open(..)) => {
                return Err("a function has the wrong number of arguments".to_owned());
            }
            None => return Err(format!("{end:?} is outside parentheses")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of an expression where metric `a` is 6, with callees 60, and `b_c` is 4.
    fn value(text: &str) -> Result<f64, String> {
        let mut stack: Vec<f64> = Vec::new();
        for step in parse(text)? {
            let value = match step {
                Step::Number(number) => number,
                Step::Metric(name, Flavour::Inclusive) if name == "a" => 60.0,
                Step::Metric(name, _) if name == "a" => 6.0,
                Step::Metric(..) => 4.0,
                Step::Apply(operator) => {
                    let right = stack.pop().unwrap();
                    match operator {
                        Operator::Negate => -right,
                        Operator::Abs => right.abs(),
                        Operator::Sqrt => right.sqrt(),
                        Operator::Add => stack.pop().unwrap() + right,
                        Operator::Subtract => stack.pop().unwrap() - right,
                        Operator::Multiply => stack.pop().unwrap() * right,
                        Operator::Divide => stack.pop().unwrap() / right,
                        Operator::Power => stack.pop().unwrap().powf(right),
                        Operator::Min => stack.pop().unwrap().min(right),
                        Operator::Max => stack.pop().unwrap().max(right),
                    }
                }
            };
            stack.push(value);
        }
        assert_eq!(stack.len(), 1, "{text}");
        Ok(stack[0])
    }

    #[test]
    fn arithmetic_is_done_in_its_order() {
        for (text, expected) in [
            ("metric::a(i) / metric::b_c()", 15.0),
            ("metric::a(e)-metric::b_c(e) - 1", 1.0),
            ("2 + 3 * 4", 14.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("2 ^ -1", 0.5),
            ("-(1.5e1 - .5) / 2", -7.25),
            ("min(3, max(1, 2)) * sqrt( 16 ) + abs(-1)", 9.0),
            ("{ return metric::a(i,i); }", 60.0),
            ("8 / 4 / 2", 1.0),
        ] {
            assert_eq!(value(text).unwrap().to_bits(), f64::to_bits(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_arithmetic_is_named() {
        for text in [
            "",
            "1 +",
            "(1",
            "1)",
            "1, 2",
            "min(1)",
            "abs(1, 2)",
            "${cube::#mirrors}",
            "{ ${x} = 1; return 2; }",
            "metric::a",
            "metric::a(q)",
            "metric::fixed::a()",
            "sin(1)",
            "1 2",
            "a",
            "1 == 1",
            "ü",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("sin(1)").unwrap_err(), "\"sin(1)\" is not simple arithmetic");
    }
}
