//! The binary from outside: answers, exit codes, pipes, damage.

mod answers;
mod ends;
mod help;
mod run;
