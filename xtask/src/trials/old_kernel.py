"""Starts a program as Linux 3.10 would: system calls that are newer do not exist for it and for what it starts.

`old_kernel.py PROGRAM [WORD ...]` sets a filter of the kernel (seccomp) that answers ENOSYS to every call of x86-64
whose number Linux 3.10 did not know, and to calls of other kinds (x32), and then becomes the program. What an old
kernel does differently in calls that it has is not seen here.
"""

import ctypes
import os
import struct
import sys

# The last of Linux 3.10 (arch/x86/syscalls/syscall_64.tbl) is finit_module, 313; sched_setattr, 314, came with 3.14.
N_CALLS = 314
AUDIT_ARCH_X86_64 = 0xC000003E
OFFSET_OF_NUMBER, OFFSET_OF_ARCH = 0, 4
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RETURN_ALLOW, RETURN_ERRNO, ENOSYS = 0x7FFF0000, 0x00050000, 38
LOAD_WORD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06


class Program(ctypes.Structure):
    _fields_ = [("n_instructions", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)


def set_filter():
    instructions = b"".join(
        [
            instruction(LOAD_WORD, OFFSET_OF_ARCH),
            instruction(JUMP_IF_EQUAL, AUDIT_ARCH_X86_64, if_false=3),
            instruction(LOAD_WORD, OFFSET_OF_NUMBER),
            instruction(JUMP_IF_AT_LEAST, N_CALLS, if_true=1),
            instruction(RETURN, RETURN_ALLOW),
            instruction(RETURN, RETURN_ERRNO | ENOSYS),
        ]
    )
    program = Program(len(instructions) // 8, instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    for words in [(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)]:
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), f"prctl({words[0]}) fails")


set_filter()
try:
    os.getrandom(1)
    sys.exit("the filter does not hold: getrandom, which Linux 3.17 brought, answers")
except OSError as error:
    assert error.errno == ENOSYS, error
os.execvp(sys.argv[1], sys.argv[1:])
