//! MPI calls as events.
//!
//! [`functions`] lists the functions of the standard. [`calls`] says what a call of each means, in terms of
//! what its arguments are ([`interface::Arguments`]) and of what the MPI library answers ([`interface::Library`]).
//! Law: nothing here changes what a program passes to MPI or gets from it.

mod bytes;
pub mod calls;
pub mod communicators;
pub mod functions;
pub mod interface;
pub mod requests;
#[cfg(test)]
mod tests;
