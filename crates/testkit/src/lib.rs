//! Traces for tests: a small language for events, the law harness, the synthetic generator.
