//! Instrumented programs are compiled and run: with the same output as before, and with the visits that are known.

mod c;
mod fortran;
mod harness;
