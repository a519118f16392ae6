//! Lines of entries that signal handlers write, too. Law: nothing is allocated.

/// Writes the line of [`Entry::Lost`](super::Entry::Lost) into a buffer, and returns it; nothing is allocated, so a signal handler may. The
/// reason has no tabs and line ends, and is cut to the buffer.
pub fn lost_line<'b>(buffer: &'b mut [u8], time_ns: u64, reason: &dyn std::fmt::Display) -> &'b [u8] {
    let n_max = buffer.len();
    let mut rest = &mut buffer[..n_max.saturating_sub(1)];
    // What does not fit is cut.
    let _ = std::io::Write::write_fmt(&mut rest, format_args!("lost\t{time_ns}\t{reason}"));
    let n_left = rest.len();
    let n = n_max.saturating_sub(1 + n_left);
    if let Some(end) = buffer.get_mut(n) {
        *end = b'\n';
    }
    &buffer[..(n + 1).min(n_max)]
}

/// Writes the line of [`Entry::Function`](super::Entry::Function) into a buffer, and returns it; nothing is allocated.
pub fn function_line(buffer: &mut [u8; 32], number: u32) -> &[u8] {
    let n = buffer.len();
    let mut rest = &mut buffer[..];
    // A word and a number fit.
    let _ = std::io::Write::write_fmt(&mut rest, format_args!("function\t{number}\n"));
    let n_left = rest.len();
    &buffer[..n - n_left]
}

/// Room for the line of a file with the longest name.
pub const IO_HANDLE_LINE_BYTES: usize = 2 * 4096 + 64;

/// Writes the line of [`Entry::IoHandle`](super::Entry::IoHandle) into a buffer, and returns it; nothing is allocated.
pub fn io_handle_line<'b>(
    buffer: &'b mut [u8; IO_HANDLE_LINE_BYTES],
    (id, interface): (u32, u8),
    file: &[u8],
) -> &'b [u8] {
    let n = buffer.len();
    let mut rest = &mut buffer[..];
    // The numbers fit in any case, and the end of the line does, since names are cut.
    let _ = std::io::Write::write_fmt(&mut rest, format_args!("io-handle\t{id}\t{interface}\t"));
    for byte in &file[..file.len().min(4096)] {
        let written: &[u8] = match byte {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\\' => b"\\\\",
            byte => std::slice::from_ref(byte),
        };
        let _ = std::io::Write::write_all(&mut rest, written);
    }
    let _ = std::io::Write::write_all(&mut rest, b"\n");
    let n_left = rest.len();
    &buffer[..n - n_left]
}
