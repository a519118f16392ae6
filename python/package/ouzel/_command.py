"""The command ``ouzel`` that the package installs: the program of the binary, with its exit codes and signals."""

import os
import signal
import sys
from pathlib import Path

from ouzel import _core


def main() -> int:
    """Runs the command line of this process; its exit code."""
    # The program handles signals itself, and ends at once where Python would wait.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    library = Path(__file__).parent / "lib" / "libouzel_record.so"
    if library.is_file():
        os.environ.setdefault("OUZEL_RECORD_LIBRARY", str(library))
    code = _core.run_command(["ouzel", *sys.argv[1:]])
    # The interpreter has nothing to flush, and its threads must not outlive the answer.
    os._exit(code)
