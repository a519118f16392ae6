//! Functions that print by a format.
//!
//! ```text
//! fprintf(stream, format, …) ──registers and stack as a list──► vfprintf(stream, format, list)
//! ```
//! Law: a function with any number of arguments is its form with a list of them; C says so. Those with arguments of
//! their own are recorded on x86-64 alone, since each processor has its own list.

use super::streams::{file_of, output};
use super::{UNKNOWN_BYTES, bytes_of, missing, moved, real};
use ouzel_otf2::records::enums::IoOperationMode;
use ouzel_recording::io::IoCall;
use std::ffi::{c_char, c_int, c_void};

type Stream = *mut libc::FILE;
type Text = *const c_char;
/// A list of arguments, or where it is: in both cases one register on x86-64 and AArch64.
type List = *mut c_void;

macro_rules! printing {
    ($($name:ident $real:ident $call:ident ($($a:ident: $t:ty),*) $stream:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($a: $t),*) -> c_int {
            let Some(real) = real!($real($($t),*) -> c_int) else { return missing(-1) };
            moved(
                IoCall::$call,
                IoOperationMode::Write,
                UNKNOWN_BYTES,
                |process| file_of(process, $stream),
                // SAFETY: the caller's arguments.
                || unsafe { real($($a),*) },
                |&n| bytes_of(n as isize),
            )
        }
    )*};
}

printing! {
    vfprintf vfprintf FilePrintList (stream: Stream, format: Text, list: List) stream;
    __vfprintf_chk __vfprintf_chk FilePrintList (stream: Stream, flag: c_int, format: Text, list: List) stream;
    vprintf vprintf PrintList (format: Text, list: List) output();
    __vprintf_chk __vprintf_chk PrintList (flag: c_int, format: Text, list: List) output();
}

#[cfg(target_arch = "x86_64")]
mod with_arguments {
    use super::*;
    use std::arch::naked_asm;

    printing! {
        ouzel_fprintf vfprintf FilePrint (stream: Stream, format: Text, list: List) stream;
        ouzel_fprintf_chk __vfprintf_chk FilePrint
            (stream: Stream, flag: c_int, format: Text, list: List) stream;
        ouzel_printf vprintf Print (format: Text, list: List) output();
        ouzel_printf_chk __vprintf_chk Print (flag: c_int, format: Text, list: List) output();
    }

    /// A function that makes a list of its arguments, as the System V ABI for x86-64 says (3.5.7), and passes it on in the
    /// register after its named arguments. The list is at `rsp`, what was in the registers at `rsp + 32`.
    macro_rules! listing {
        ($($name:ident $by:ident $named_bytes:literal $register:literal;)*) => {$(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C-unwind" fn $name() -> c_int {
                naked_asm!(
                    ".cfi_startproc",
                    "sub rsp, 216",
                    ".cfi_adjust_cfa_offset 216",
                    "mov [rsp + 32], rdi",
                    "mov [rsp + 40], rsi",
                    "mov [rsp + 48], rdx",
                    "mov [rsp + 56], rcx",
                    "mov [rsp + 64], r8",
                    "mov [rsp + 72], r9",
                    // The number of vector registers in use, or more.
                    "test al, al",
                    "je 2f",
                    "movaps [rsp + 80], xmm0",
                    "movaps [rsp + 96], xmm1",
                    "movaps [rsp + 112], xmm2",
                    "movaps [rsp + 128], xmm3",
                    "movaps [rsp + 144], xmm4",
                    "movaps [rsp + 160], xmm5",
                    "movaps [rsp + 176], xmm6",
                    "movaps [rsp + 192], xmm7",
                    "2:",
                    concat!("mov dword ptr [rsp], ", $named_bytes),
                    "mov dword ptr [rsp + 4], 48",
                    "lea rax, [rsp + 224]",
                    "mov [rsp + 8], rax",
                    "lea rax, [rsp + 32]",
                    "mov [rsp + 16], rax",
                    concat!("mov ", $register, ", rsp"),
                    "call {by}",
                    "add rsp, 216",
                    ".cfi_adjust_cfa_offset -216",
                    "ret",
                    ".cfi_endproc",
                    by = sym $by,
                )
            }
        )*};
    }

    listing! {
        fprintf ouzel_fprintf "16" "rdx";
        __fprintf_chk ouzel_fprintf_chk "24" "rcx";
        printf ouzel_printf "8" "rsi";
        __printf_chk ouzel_printf_chk "16" "rdx";
    }
}
