//! The binary `ouzel`.

use std::process::ExitCode;

/// Context trees are many small allocations, made and dropped on all threads: `report` on traces of applications takes a
/// fifth to a quarter less time than with the allocator of glibc (see docs/design/diagnosis.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ouzel_cli::program()
}
