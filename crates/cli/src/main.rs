//! The binary `ouzel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ouzel_cli::program()
}
