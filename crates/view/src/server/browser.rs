//! Opens the user's browser, without showing the token to other users.
//!
//! Arguments of programs are visible to everybody on the machine, so the browser gets the name of a file that only the
//! user can read, and which leads to the page.

use ouzel_files::unfinished::Unfinished;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Programs that open a file in the user's browser.
const OPENERS: [&str; 3] = ["xdg-open", "open", "sensible-browser"];

/// Whether there is a screen.
fn has_screen() -> bool {
    cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()))
}

/// The file that leads to `address`. It is removed when dropped, or when a signal ends the program.
pub(crate) fn redirect(address: &str) -> io::Result<Unfinished> {
    let (unfinished, mut file) = Unfinished::temporary_named(".html")?;
    writeln!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>Ouzel</title>"
    )?;
    Ok(unfinished)
}

/// Opens the browser if there is a screen. What is returned must live as long as the browser may need it.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn open(address: &str) -> io::Result<Option<Unfinished>> {
    if !has_screen() {
        return Ok(None);
    }
    let file = redirect(address)?;
    let started = OPENERS.iter().any(|opener| {
        let mut command = Command::new(opener);
        command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    });
    Ok(started.then_some(file))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_the_user_can_read_the_file_with_the_address() {
        let file = redirect("http://127.0.0.1:1/abc/").unwrap();
        let path = file.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(
            ouzel_files::input::read_text(&path, 1 << 10).unwrap().contains("url=http://127.0.0.1:1/abc/\"")
        );
        drop(file);
        assert!(!path.exists());
    }
}
