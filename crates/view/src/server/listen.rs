//! Where the server listens: a free port of loopback, or a socket in a folder that only its user can enter.

use crate::private;
use ouzel_files::unfinished::Unfinished;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A port of 127.0.0.1; 0: any that is free.
    Port(u16),
    /// A Unix socket.
    Socket(PathBuf),
}

/// Listens.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(tokio::net::TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener, #[expect(dead_code, reason = "removes the socket")] Unfinished),
}

impl Listener {
    /// Begins to listen. Within a runtime.
    ///
    /// # Errors
    /// If the port or path is taken, or others could enter the socket's folder.
    pub async fn new(listen: &Listen) -> io::Result<Self> {
        match listen {
            Listen::Port(port) => {
                Ok(Listener::Tcp(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).await?))
            }
            Listen::Socket(path) => socket(path),
        }
    }

    /// The port, if it is one.
    pub fn port(&self) -> Option<u16> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            #[cfg(unix)]
            Listener::Unix(..) => None,
        }
    }
}

/// The folder is made for the user alone before the socket is: between `bind` and `chmod` nobody else can connect.
#[cfg(unix)]
fn socket(path: &Path) -> io::Result<Listener> {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    private::folder(folder)?;
    // What a server left that was killed; one that lives answers.
    if fs::symlink_metadata(path).is_ok_and(|old| old.file_type().is_socket()) {
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there")),
            Err(_) => fs::remove_file(path)?,
        }
    }
    let listener = tokio::net::UnixListener::bind(path)?;
    let owned = Unfinished::of_file(path.to_owned());
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(Listener::Unix(listener, owned))
}

#[cfg(not(unix))]
fn socket(_: &Path) -> io::Result<Listener> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix sockets: use a port"))
}
