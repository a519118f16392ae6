//! The project's own chores: tidy, test, bench, synth.
fn main() {}
