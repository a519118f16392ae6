//! Tokens to predicates, by recursive descent.

use super::FilterError;
use super::lexer::{Lexeme, LexemeKind, tokens};
use crate::filter::{NumberSet, Predicate, TextTest};

/// Parentheses and nots inside each other: far more than people write, far less than the stack holds.
const MAX_DEPTH: usize = 100;

/// The fields, for messages.
const FIELDS: &str =
    "name, path, within, depth, rank, thread, time, enter, leave, inclusive, exclusive or metric(\"NAME\")";

pub(super) fn parse(text: &str) -> Result<Predicate, FilterError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, n_chars: text.chars().count(), depth: 0 };
    let predicate = parser.either()?;
    match parser.tokens.first() {
        None => Ok(predicate),
        Some(_) => Err(parser.error("expected \"and\", \"or\" or the end")),
    }
}

struct Parser<'t> {
    /// What is still to be read.
    tokens: &'t [Lexeme],
    n_chars: usize,
    depth: usize,
}

/// How the values of a field are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueSyntax {
    Number,
    Nanoseconds,
}

type FieldSyntax = Box<dyn Fn(NumberSet) -> Predicate>;

impl<'t> Parser<'t> {
    fn error(&self, reason: impl Into<String>) -> FilterError {
        let offset = self.tokens.first().map_or(self.n_chars, |token| token.offset);
        FilterError { offset, reason: reason.into() }
    }

    fn next(&mut self, expected: &str) -> Result<&'t Lexeme, FilterError> {
        let Some((first, rest)) = self.tokens.split_first() else {
            return Err(self.error(format!("expected {expected}")));
        };
        self.tokens = rest;
        Ok(first)
    }

    /// Takes the next token if it is this keyword, in capitals or not.
    fn keyword(&mut self, keyword: &str) -> bool {
        let is = matches!(self.tokens.first(),
            Some(Lexeme { kind: LexemeKind::Word(word), .. }) if word.eq_ignore_ascii_case(keyword));
        if is {
            self.tokens = &self.tokens[1..];
        }
        is
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.tokens.first(), Some(Lexeme { kind: LexemeKind::Sign(s), .. }) if *s == sign);
        if is {
            self.tokens = &self.tokens[1..];
        }
        is
    }

    fn either(&mut self) -> Result<Predicate, FilterError> {
        let mut parts = vec![self.both()?];
        while self.keyword("or") {
            parts.push(self.both()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Predicate::Any(parts) })
    }

    fn both(&mut self) -> Result<Predicate, FilterError> {
        let mut parts = vec![self.unary()?];
        while self.keyword("and") {
            parts.push(self.unary()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Predicate::All(parts) })
    }

    fn unary(&mut self) -> Result<Predicate, FilterError> {
        self.depth += 1;
        if MAX_DEPTH < self.depth {
            return Err(self.error(format!("more than {MAX_DEPTH} levels of \"not\" and parentheses")));
        }
        let predicate = if self.keyword("not") {
            !self.unary()?
        } else if self.sign("(") {
            let inner = self.either()?;
            if !self.sign(")") {
                return Err(self.error("expected \")\""));
            }
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(predicate)
    }

    fn test(&mut self) -> Result<Predicate, FilterError> {
        let at = self.tokens;
        let LexemeKind::Word(field) = &self.next(&format!("a test of {FIELDS}"))?.kind else {
            self.tokens = at;
            return Err(self.error(format!("expected a test of {FIELDS}")));
        };
        let numbers = |make: fn(NumberSet) -> Predicate| Box::new(make) as FieldSyntax;
        match &*field.to_ascii_lowercase() {
            "name" => self.texts(Predicate::Name),
            "path" => self.texts(Predicate::Path),
            "within" => self.texts(Predicate::Within),
            "depth" => self.numbers(ValueSyntax::Number, &numbers(Predicate::Depth)),
            "rank" => self.numbers(ValueSyntax::Number, &numbers(Predicate::Rank)),
            "thread" => self.numbers(ValueSyntax::Number, &numbers(Predicate::Thread)),
            "enter" => self.numbers(ValueSyntax::Nanoseconds, &numbers(Predicate::Enter)),
            "leave" => self.numbers(ValueSyntax::Nanoseconds, &numbers(Predicate::Leave)),
            "inclusive" => self.numbers(ValueSyntax::Nanoseconds, &numbers(Predicate::Inclusive)),
            "exclusive" => self.numbers(ValueSyntax::Nanoseconds, &numbers(Predicate::Exclusive)),
            "time" => self.numbers(ValueSyntax::Nanoseconds, &(Box::new(|set| times(&set)) as FieldSyntax)),
            "metric" => {
                let metric = self.metric_name()?;
                let make = move |gain| Predicate::Metric { metric: metric.clone(), gain };
                self.numbers(ValueSyntax::Number, &(Box::new(make) as FieldSyntax))
            }
            _ => {
                self.tokens = at;
                Err(self.error(format!("{field:?} is not a field; expected {FIELDS}")))
            }
        }
    }

    fn metric_name(&mut self) -> Result<String, FilterError> {
        if !self.sign("(") {
            return Err(self.error("expected (\"NAME\"), the name of a counter"));
        }
        let name = self.text()?;
        if self.sign(")") { Ok(name) } else { Err(self.error("expected \")\"")) }
    }

    /// What follows the name of a field of text.
    fn texts(&mut self, make: fn(TextTest) -> Predicate) -> Result<Predicate, FilterError> {
        let negated = self.keyword("not");
        let test = if self.keyword("like") {
            TextTest::Like(self.list(Self::text)?)
        } else if self.keyword("in") {
            TextTest::OneOf(self.list(Self::text)?)
        } else if !negated && (self.sign("=") || self.sign("==")) {
            TextTest::OneOf(vec![self.text()?])
        } else if !negated && self.sign("!=") {
            return Ok(!make(TextTest::OneOf(vec![self.text()?])));
        } else {
            return Err(self.error("expected =, !=, in or like"));
        };
        Ok(if negated { !make(test) } else { make(test) })
    }

    /// What follows the name of a field of numbers.
    fn numbers(&mut self, values: ValueSyntax, make: &FieldSyntax) -> Result<Predicate, FilterError> {
        let negated = self.keyword("not");
        if self.keyword("in") {
            let ranges = self.list(|parser| parser.range(values))?;
            let set = make(NumberSet::from_ranges(ranges));
            return Ok(if negated { !set } else { set });
        }
        if self.keyword("between") {
            let first = self.number(values)?;
            if !self.keyword("and") {
                return Err(self.error("expected \"and\" and the upper limit"));
            }
            let last = self.number(values)?;
            // Of times the end lies outside, as in every range of time.
            let last = if values == ValueSyntax::Nanoseconds { last.checked_sub(1) } else { Some(last) };
            let set = make(NumberSet::from_ranges(last.map(|last| (first, last))));
            return Ok(if negated { !set } else { set });
        }
        let sign = match self.tokens.first() {
            Some(Lexeme { kind: LexemeKind::Sign(sign), .. })
                if !negated && !matches!(*sign, "(" | ")" | ",") =>
            {
                *sign
            }
            _ => return Err(self.error("expected <, <=, =, !=, >=, >, in or between")),
        };
        self.tokens = &self.tokens[1..];
        let number = self.number(values)?;
        Ok(match sign {
            "<" => make(NumberSet::below(number)),
            "<=" => make(NumberSet::at_most(number)),
            ">" => make(NumberSet::above(number)),
            ">=" => make(NumberSet::at_least(number)),
            "!=" => !make(NumberSet::of(number)),
            _ => make(NumberSet::of(number)),
        })
    }

    /// One or several, in parentheses or not.
    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Result<T, FilterError>) -> Result<Vec<T>, FilterError> {
        let parenthesised = self.sign("(");
        if parenthesised && self.sign(")") {
            return Ok(Vec::new());
        }
        let mut list = vec![one(self)?];
        while self.sign(",") {
            list.push(one(self)?);
        }
        if parenthesised && !self.sign(")") {
            return Err(self.error("expected \",\" or \")\""));
        }
        Ok(list)
    }

    fn text(&mut self) -> Result<String, FilterError> {
        let at = self.tokens;
        match &self.next("text")?.kind {
            LexemeKind::Word(text) | LexemeKind::Text(text) | LexemeKind::Number(text) => Ok(text.clone()),
            LexemeKind::Sign(_) => {
                self.tokens = at;
                Err(self.error("expected text"))
            }
        }
    }

    /// The text of a token that begins like a number, taken by `read`.
    fn number_like<T>(&mut self, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, FilterError> {
        let at = self.tokens;
        let found = match &self.next(expected)?.kind {
            LexemeKind::Number(text) => read(text).ok_or(text),
            LexemeKind::Word(text) | LexemeKind::Text(text) => Err(text),
            LexemeKind::Sign(_) => {
                self.tokens = at;
                return Err(self.error(format!("expected {expected}")));
            }
        };
        found.map_err(|text| {
            self.tokens = at;
            self.error(format!("{text:?} is not {expected}"))
        })
    }

    fn number(&mut self, values: ValueSyntax) -> Result<u64, FilterError> {
        match values {
            ValueSyntax::Number => self.number_like("a whole number", whole),
            ValueSyntax::Nanoseconds => {
                self.number_like("a time (e.g. 10s, 1.5ms, 300us or 70ns)", nanoseconds)
            }
        }
    }

    /// A number or a range; both ends of what is returned are inside.
    fn range(&mut self, values: ValueSyntax) -> Result<(u64, u64), FilterError> {
        match values {
            ValueSyntax::Number => {
                self.number_like("a whole number or a range (e.g. 3 or 0-7)", number_range)
            }
            ValueSyntax::Nanoseconds => {
                self.number_like("a time range (e.g. 10s..20s, 1.5ms.. or ..20us)", time_range)
            }
        }
    }
}

/// Ranges of time that a call must overlap one of.
fn times(set: &NumberSet) -> Predicate {
    let time =
        |&(first, last): &(u64, u64)| Predicate::Time { start_ns: first, end_ns: last.saturating_add(1) };
    match set.ranges() {
        [one] => time(one),
        several => Predicate::Any(several.iter().map(time).collect()),
    }
}

/// `3`, `1_000` or `1e6`.
fn whole(text: &str) -> Option<u64> {
    let (digits, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = digits.replace('_', "");
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (all_digits(&digits) && all_digits(power)).then_some(())?;
    digits.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(power.parse().ok()?)?)
}

/// `3`, `0-3` or `4-`.
fn number_range(text: &str) -> Option<(u64, u64)> {
    let Some((first, last)) = text.split_once('-') else { return whole(text).map(|n| (n, n)) };
    let range = (whole(first)?, if last.is_empty() { u64::MAX } else { whole(last)? });
    (range.0 <= range.1).then_some(range)
}

/// `10s..20s`, the end of which is excluded; a single time is that nanosecond.
fn time_range(text: &str) -> Option<(u64, u64)> {
    let Some((start, end)) = text.split_once("..") else { return nanoseconds(text).map(|ns| (ns, ns)) };
    let start = if start.is_empty() { 0 } else { nanoseconds(start)? };
    let end = if end.is_empty() { u64::MAX } else { nanoseconds(end)? };
    (start < end).then(|| (start, if end == u64::MAX { end } else { end - 1 }))
}

/// Units with the power of ten of nanoseconds in them; `s` comes last because the others end with it.
const UNITS: [(&str, u32); 5] = [("ns", 0), ("us", 3), ("µs", 3), ("ms", 6), ("s", 9)];

/// Nanoseconds of a decimal number with a unit, exact; without a unit it is seconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let of_unit = |&(unit, power): &(&str, u32)| Some((text.strip_suffix(unit)?, power));
    let (number, power) = UNITS.iter().find_map(of_unit).unwrap_or((text, 9));
    let (digits, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let n_digits = u32::try_from(fraction.len()).ok()?;
    let all_digits = digits.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
    if !all_digits || number.bytes().all(|b| b == b'.') || power < n_digits {
        return None;
    }
    let part = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
    let fraction_ns = part(fraction)?.checked_mul(10_u64.pow(power - n_digits))?;
    part(digits)?.checked_mul(10_u64.pow(power))?.checked_add(fraction_ns)
}
