//! The server: one thread for connections, others for answers.
//!
//! ```text
//! connection ──guard──► path below the token ──┬─ files of the page
//!                                              ├─ status ──► waits for news
//!                                              └─ routes ──► a thread that may compute
//! ```
//!
//! Law: a question whose asker has gone is cancelled. A panic in an answer is an error of this answer alone. Questions
//! wait until the runs are open; the files of the page do not.

mod browser;
mod guard;
mod listen;
pub(crate) mod reply;

pub use guard::Token;
pub use listen::Listen;

use crate::ServeError;
use crate::assets::Assets;
use crate::cache::TileCache;
use crate::routes::{Request, Routes};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::ACCEPT_ENCODING;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use listen::Listener;
use ouzel::engine::Progress;
use reply::Reply;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{oneshot, watch};

/// Threads that compute answers at the same time. A page asks for some tiles at once; a second browser must not wait.
const N_ANSWERING: usize = 8;
/// Most bytes of a question: names of call paths may be long, but a page sends no data.
const MAX_QUESTION_BYTES: usize = 1 << 20;
/// How long a connection may take to send its headers.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a request for the status waits for news: proxies give up after 30 s.
const NEWS: Duration = Duration::from_secs(20);
/// How long a question waits for the first picture.
const PICTURE: Duration = Duration::from_secs(10);

/// What all paths but those of the page's files begin with.
const QUESTIONS: &str = "api/";
/// How far the tiles are.
const STATUS: &str = "api/status";

/// How to serve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where.
    pub listen: Listen,
    /// Whether to open a browser if there is a screen.
    pub opens_browser: bool,
    /// Keeps tiles for the next start.
    pub cache: Option<TileCache>,
    /// Ends when nobody has asked anything for so long.
    pub idle: Duration,
}

/// What is shared by all connections.
struct Shared {
    token: Token,
    assets: Assets,
    /// `None` until the runs are open.
    routes: watch::Receiver<Option<Arc<Routes>>>,
    began: Instant,
    /// Milliseconds from the beginning to the last request that a user caused.
    last_ms: AtomicU64,
}

impl Shared {
    /// Waits until the runs are open; `None` if the server ends without them.
    async fn routes(&self) -> Option<Arc<Routes>> {
        let mut routes = self.routes.clone();
        routes.wait_for(Option::is_some).await.ok()?.clone()
    }

    fn touch(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.fetch_max(now, Ordering::Relaxed);
    }

    /// How long nobody has asked anything.
    fn quiet(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last_ms.load(Ordering::Relaxed)))
    }
}

/// Serves what `open` opens until nobody has asked anything for the time that the settings say. `tell` gets the lines for
/// the user once the server listens.
///
/// # Errors
/// If the runs cannot be opened, or the server cannot listen.
pub(crate) fn serve<E: Send>(
    open: impl FnOnce() -> Result<Routes, ServeError<E>> + Send,
    settings: &Settings,
    tell: impl FnOnce(&[String]),
) -> Result<(), ServeError<E>> {
    let token = Token::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(N_ANSWERING)
        .build()?;
    std::thread::scope(|scope| {
        let (sender, opened) = oneshot::channel();
        // A server that has ended wants no runs.
        let work = move || drop(sender.send(open()));
        std::thread::Builder::new().name("opening".to_owned()).spawn_scoped(scope, work)?;
        let ended = runtime.block_on(serve_opened(opened, token, settings, tell));
        // Threads that still compute end with the process.
        runtime.shutdown_background();
        ended
    })
}

async fn serve_opened<E>(
    opened: oneshot::Receiver<Result<Routes, ServeError<E>>>,
    token: Token,
    settings: &Settings,
    tell: impl FnOnce(&[String]),
) -> Result<(), ServeError<E>> {
    let listener = Listener::new(&settings.listen).await?;
    let (sender, routes) = watch::channel(None);
    let address = address(&listener, &token);
    let _redirect = match settings.opens_browser && listener.port().is_some() {
        true => browser::open(&address)?,
        false => None,
    };
    tell(&lines(&settings.listen, &listener, &address, &token));
    #[expect(clippy::disallowed_methods, reason = "an idle server ends; no answer depends on the clock")]
    let began = Instant::now();
    let shared = Shared { token, assets: Assets::new(), routes, began, last_ms: AtomicU64::new(0) };
    let shared = Arc::new(shared);
    let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
    let opened = opened.await.unwrap_or_else(|_| Err(io::Error::other("the runs cannot be opened").into()));
    let ended = match opened {
        Ok(routes) => {
            sender.send_replace(Some(Arc::new(routes)));
            until_idle(&shared, settings.idle).await;
            Ok(())
        }
        Err(why) => Err(why),
    };
    // A socket is removed with its listener.
    accepting.abort();
    let _aborted = accepting.await;
    ended
}

fn address(listener: &Listener, token: &Token) -> String {
    format!("http://127.0.0.1:{}/{}/", listener.port().unwrap_or(8000), token.as_str())
}

/// What the user is told: the address, and how to reach it from another machine.
fn lines(listen: &Listen, listener: &Listener, address: &str, token: &Token) -> Vec<String> {
    let host = ouzel_files::input::read_text(Path::new("/etc/hostname"), 1 << 10).unwrap_or_default();
    let host = if host.trim().is_empty() { "HOST" } else { host.trim() };
    let there = match (listen, listener.port()) {
        (Listen::Socket(path), _) => {
            path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string()
        }
        (Listen::Port(_), port) => format!("127.0.0.1:{}", port.unwrap_or(0)),
    };
    let here = listener.port().unwrap_or(8000);
    let mut lines = Vec::new();
    if listener.port().is_some() {
        lines.push(address.to_owned());
    }
    lines.push(format!("from another machine: ssh -N -L {here}:{there} {host}"));
    lines.push(format!("then open: http://127.0.0.1:{here}/{}/", token.as_str()));
    lines
}

/// Waits until nobody has asked anything for so long.
async fn until_idle(shared: &Shared, idle: Duration) {
    while let Some(rest) = idle.checked_sub(shared.quiet()).filter(|rest| !rest.is_zero()) {
        tokio::time::sleep(rest).await;
    }
}

/// Takes connections for as long as the server lives.
async fn accept(listener: Listener, shared: Arc<Shared>) {
    loop {
        let taken = match &listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                // Small answers should not wait for more; a connection works without, too.
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection(stream, Arc::clone(&shared)));
            }),
            #[cfg(unix)]
            Listener::Unix(listener, _) => listener.accept().await.map(|(stream, _)| {
                tokio::spawn(connection(stream, Arc::clone(&shared)));
            }),
        };
        // Running out of file descriptors is waited for: it must not end the server.
        if taken.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, shared: Arc<Shared>) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(request, shared).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    // Browsers close connections as they like: that is no error of ours.
    let _ = served.await;
}

async fn answer(request: hyper::Request<Incoming>, shared: Arc<Shared>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let asked = guard::Asked { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let path = match guard::admitted(asked, &shared.token) {
        Ok(path) => path.to_owned(),
        Err(status) => return Reply::status(status).response(),
    };
    let mut request =
        Request { path, query: parts.uri.query().unwrap_or_default().to_owned(), body: Bytes::new() };
    if parts.method == Method::POST {
        match Limited::new(body, MAX_QUESTION_BYTES).collect().await {
            Ok(body) => request.body = body.to_bytes(),
            Err(_) => {
                return Reply::error(StatusCode::PAYLOAD_TOO_LARGE, "the question is too long").response();
            }
        }
    } else if request.path == guard::ASK {
        return Reply::error(StatusCode::METHOD_NOT_ALLOWED, "questions are posted").response();
    }
    let takes_packed = parts.headers.get_all(ACCEPT_ENCODING).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.split(',').any(|one| one.trim().starts_with("gzip")))
    });
    // The page asks for the status by itself for as long as it is open: that keeps no server alive.
    if request.path != STATUS {
        shared.touch();
    }
    if !request.path.starts_with(QUESTIONS) {
        let work = move |_: &_| shared.assets.reply(&request.path);
        return computed(work, takes_packed).await.response();
    }
    let Some(routes) = shared.routes().await else {
        return Reply::error(StatusCode::SERVICE_UNAVAILABLE, "the run cannot be opened").response();
    };
    if request.path == STATUS {
        routes.wait_for_news(&request, NEWS).await;
    }
    if request.path == guard::ASK {
        routes.wait_for_picture(PICTURE).await;
    }
    let work = move |progress: &_| {
        let reply = routes.reply(&request, progress);
        if request.path != STATUS {
            shared.touch();
        }
        reply
    };
    computed(work, takes_packed).await.response()
}

/// Cancels what nobody waits for any more.
struct CancelsWhenDropped(Arc<Progress>);

impl Drop for CancelsWhenDropped {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The answer, compressed if the asker `takes_packed`: both take longer than other connections should wait.
async fn computed(work: impl FnOnce(&Arc<Progress>) -> Reply + Send + 'static, takes_packed: bool) -> Reply {
    let progress = Arc::new(Progress::default());
    let _asker = CancelsWhenDropped(Arc::clone(&progress));
    let work = tokio::task::spawn_blocking(move || {
        let reply = work(&progress);
        if takes_packed { reply.packed() } else { reply.unpacked() }
    });
    work.await.unwrap_or_else(|_| Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal error"))
}
