//! The binary from outside: answers, exit codes, pipes, damage.

mod answers;
mod archives;
mod claims;
mod correlation;
mod cubex;
mod damage;
mod diagnosis;
mod ends;
mod facts;
mod formats;
mod help;
mod hostile_names;
mod inputs;
mod licenses;
mod memory;
mod model_archive;
mod operations;
mod outputs;
mod print;
mod profiles;
mod rules;
mod run;
mod selection;
mod topologies;
mod zoo;
