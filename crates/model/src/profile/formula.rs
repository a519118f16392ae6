//! Formulas of derived metrics.
//!
//! A formula is a list of steps for a stack: `a / (b - 1)` is `a, b, 1, -, /`. Law: run from the left, every step finds
//! enough values, and one value is left at the end. The languages that tools write formulas in are handled elsewhere.

use super::Scope;
use crate::MetricId;
use serde::{Deserialize, Serialize};

/// One step of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum FormulaStep {
    /// Pushes a number.
    Number(f64),
    /// Pushes the value of a metric: in the scope named, else in the requested one.
    Metric(MetricId, Option<Scope>),
    /// Negates the last value.
    Negate,
    /// Adds the last two.
    Add,
    /// Subtracts the last from the one before.
    Subtract,
    /// Multiplies the last two.
    Multiply,
    /// Divides the one before the last by the last.
    Divide,
    /// Raises the one before the last to the power of the last.
    Power,
    /// The lesser of the last two.
    Min,
    /// The greater of the last two.
    Max,
    /// The last value without its sign.
    Abs,
    /// The square root of the last value.
    Sqrt,
}

impl FormulaStep {
    /// How many values it takes from the stack; it leaves one.
    fn takes(self) -> usize {
        match self {
            FormulaStep::Number(_) | FormulaStep::Metric(..) => 0,
            FormulaStep::Negate | FormulaStep::Abs | FormulaStep::Sqrt => 1,
            _ => 2,
        }
    }
}

/// The formula of a derived metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Formula {
    steps: Vec<FormulaStep>,
}

impl Formula {
    /// The formula of these steps; `None` if they break the law.
    pub fn new(steps: Vec<FormulaStep>) -> Option<Self> {
        let mut n: usize = 0;
        for step in &steps {
            n = n.checked_sub(step.takes())? + 1;
        }
        (n == 1).then_some(Formula { steps })
    }

    /// Its steps.
    pub fn steps(&self) -> &[FormulaStep] {
        &self.steps
    }

    /// The metrics it names, each with its scope, in order of first use.
    pub fn operands(&self) -> Vec<(MetricId, Option<Scope>)> {
        let mut operands = Vec::new();
        for step in &self.steps {
            match *step {
                FormulaStep::Metric(metric, scope) if !operands.contains(&(metric, scope)) => {
                    operands.push((metric, scope));
                }
                _ => {}
            }
        }
        operands
    }

    /// Its value, where `value_of` gives the value of each operand. Not finite where the operands do not allow one
    /// (a division by zero).
    pub fn evaluate(&self, value_of: &mut dyn FnMut(MetricId, Option<Scope>) -> f64) -> f64 {
        let mut stack: Vec<f64> = Vec::new();
        for step in &self.steps {
            let mut pop = || stack.pop().expect("a formula is checked when it is made");
            let value = match *step {
                FormulaStep::Number(number) => number,
                FormulaStep::Metric(metric, scope) => value_of(metric, scope),
                FormulaStep::Negate => -pop(),
                FormulaStep::Abs => pop().abs(),
                FormulaStep::Sqrt => pop().sqrt(),
                step => {
                    let (right, left) = (pop(), pop());
                    binary(step, left, right)
                }
            };
            stack.push(value);
        }
        stack.pop().expect("a formula is checked when it is made")
    }
}

fn binary(step: FormulaStep, left: f64, right: f64) -> f64 {
    match step {
        FormulaStep::Add => left + right,
        FormulaStep::Subtract => left - right,
        FormulaStep::Multiply => left * right,
        FormulaStep::Divide => left / right,
        FormulaStep::Power => left.powf(right),
        FormulaStep::Min => left.min(right),
        _ => left.max(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_is_run_from_the_left() {
        let metric = |i| FormulaStep::Metric(MetricId(i), None);
        let steps =
            vec![metric(0), metric(1), FormulaStep::Number(1.0), FormulaStep::Subtract, FormulaStep::Divide];
        let formula = Formula::new(steps).unwrap();
        let value = formula.evaluate(&mut |metric, _| [6.0, 4.0][metric.index()]);
        assert_eq!(value.to_bits(), 2.0_f64.to_bits());
        assert_eq!(formula.operands(), [(MetricId(0), None), (MetricId(1), None)]);
    }

    #[test]
    fn steps_that_leave_nothing_or_too_much_are_no_formula() {
        for steps in [
            vec![],
            vec![FormulaStep::Negate],
            vec![FormulaStep::Number(1.0), FormulaStep::Add],
            vec![FormulaStep::Number(1.0), FormulaStep::Number(1.0)],
        ] {
            assert_eq!(Formula::new(steps), None);
        }
    }
}
