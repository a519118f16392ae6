//! The binary `ouzel`.

use std::process::ExitCode;

/// That of musl has one lock for all threads: commands that allocate on several took twice the processor time.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ouzel_cli::program()
}
