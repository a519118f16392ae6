//! The whole server, over real connections.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use ouzel::engine::Progress;
use ouzel_view::{Answers, Ask, Listen, Refusal, Run, ServeError, Settings, serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Answers with the question, refuses what is named so, and panics if told to.
struct Echo;

impl Answers for Echo {
    fn ask(&self, ask: &Ask, _: &Arc<Progress>) -> Result<Vec<u8>, Refusal> {
        match &*ask.question {
            "gone" => Err(Refusal::Run("the trace has vanished".to_owned())),
            "panic" => panic!("told to"),
            _ => Ok(serde_json::to_vec(ask).unwrap()),
        }
    }
}

/// The runs, or why they cannot be opened.
type Opened = Result<(Vec<Run>, Arc<dyn Answers>), String>;

struct Served {
    address: String,
    ended: JoinHandle<Result<(), ServeError<String>>>,
}

fn served(listen: Listen) -> Served {
    served_by(listen, || {
        let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pmpi-masterio");
        Ok((vec![Run::Trace(Arc::new(ouzel::open(&trace).unwrap()))], Arc::new(Echo)))
    })
}

fn served_by(listen: Listen, open: impl FnOnce() -> Opened + Send + 'static) -> Served {
    let (sender, lines) = mpsc::channel();
    let settings = Settings { listen, opens_browser: false, cache: None, idle: Duration::from_secs(2) };
    let ended =
        std::thread::spawn(move || serve(open, &settings, |lines| sender.send(lines.to_vec()).unwrap()));
    let address = lines.recv().unwrap().into_iter().find_map(|line| {
        let at = line.find("http://")?;
        Some(line[at + "http://".len()..].to_owned())
    });
    Served { address: address.unwrap(), ended }
}

/// Sends a request with these further headers on a connection; the answer's head and body.
fn sent(stream: impl Read + Write, host: &str, line: &str, headers: &str, body: &str) -> (String, Vec<u8>) {
    let mut stream = stream;
    let length = body.len();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    (String::from_utf8(answer[..end].to_vec()).unwrap().to_lowercase(), answer[end + 4..].to_vec())
}

impl Served {
    fn parts(&self) -> (&str, &str) {
        self.address.trim_end_matches('/').split_once('/').unwrap()
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> (String, Vec<u8>) {
        let (host, token) = self.parts();
        let line = format!("{method} {}", path.replace("TOKEN", token));
        sent(TcpStream::connect(host).unwrap(), host, &line, headers, body)
    }

    fn status(&self, method: &str, path: &str, headers: &str, body: &str) -> u16 {
        let (head, _) = self.request(method, path, headers, body);
        head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn json(&self, path: &str) -> serde_json::Value {
        let (head, body) = self.request("GET", path, "", "");
        assert!(head.starts_with("http/1.1 200"), "{head}");
        serde_json::from_slice(&body).unwrap()
    }

    /// Waits for the end of an idle server.
    fn end(self) {
        self.ended.join().unwrap().unwrap();
    }
}

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn rules_hold_on_the_wire_and_every_answer_has_its_headers() {
    let served = served(Listen::Port(0));
    for (method, path, headers, expected) in [
        ("GET", "/TOKEN/", "", 200),
        ("GET", "/TOKEN", "", 404),
        ("GET", "/", "", 404),
        ("GET", "/TOKEN/../TOKEN/", "", 404),
        ("GET", "/TOKEN/..%2f..%2fCargo.toml", "", 404),
        ("GET", "/TOKEN/api/nothing", "", 404),
        ("GET", "/TOKEN/api/meta", "Origin: http://127.0.0.1:1\r\n", 403),
        ("GET", "/TOKEN/api/meta", "Sec-Fetch-Site: cross-site\r\n", 403),
        ("GET", "/TOKEN/api/ask", "", 405),
        ("GET", "/TOKEN/api/meta?run=7", "", 400),
        ("POST", "/TOKEN/api/ask", "", 415),
        ("DELETE", "/TOKEN/api/ask", JSON, 405),
    ] {
        let (head, _) = served.request(method, path, headers, "");
        assert!(head.starts_with(&format!("http/1.1 {expected} ")), "{method} {path} {headers}: {head}");
        for always in [
            "content-security-policy: default-src 'none';",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(always), "{path}: {head}");
        }
        assert!(!head.contains("unsafe-inline") && !head.contains("access-control"), "{path}: {head}");
    }
    let (host, token) = served.parts();
    let line = format!("GET /{token}/");
    let (head, _) = sent(TcpStream::connect(host).unwrap(), "evil.example", &line, "", "");
    assert!(head.starts_with("http/1.1 403"), "{head}");
    served.end();
}

#[test]
fn questions_are_answered_refused_or_fail_one_by_one() {
    let served = served(Listen::Port(0));
    let ask = |body: &str| served.request("POST", "/TOKEN/api/ask", JSON, body);
    let (head, body) = ask(r#"{"question":"profile","selection":{"ranks":"1"}}"#);
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let echoed: Ask = serde_json::from_slice(&body).unwrap();
    assert_eq!((&*echoed.question, echoed.selection.ranks.as_deref()), ("profile", Some("1")));
    for (body, expected, says) in [
        (r#"{"question":"gone"}"#, "422", "vanished"),
        (r#"{"question":"panic"}"#, "500", "internal error"),
        (r#"{"question":"profile","run":1}"#, "400", "no run 1"),
        (r#"{"question":"profile","file":"x"}"#, "400", "unknown field"),
        ("{", "400", "not a question"),
    ] {
        let (head, answer) = ask(body);
        let text = String::from_utf8(answer).unwrap();
        assert!(
            head.starts_with(&format!("http/1.1 {expected}")) && text.contains(says),
            "{body}: {head} {text}"
        );
    }
    served.end();
}

#[test]
fn the_timeline_is_complete_after_the_pass() {
    let served = served(Listen::Port(0));
    let mut status = served.json("/TOKEN/api/status?since=0");
    while status["tiles"]["complete"] != true {
        status = served.json(&format!("/TOKEN/api/status?since={}", status["generation"]));
    }
    let meta = served.json("/TOKEN/api/meta");
    let names: Vec<(String, usize)> = serde_json::from_value(meta["locations"]["name"].clone()).unwrap();
    let n_rows = names.iter().map(|(_, n)| n).sum::<usize>();
    assert_eq!(meta["n_locations"], n_rows);
    assert_eq!(status["tiles"]["done"], status["tiles"]["total"]);
    assert_eq!(status["tiles"]["total"], n_rows);
    // By these the page decides whether it asks before it looks for findings.
    assert_eq!(meta["n_events"], 542);
    let paths = served.json("/TOKEN/api/call-paths?from=0");
    let paths = paths["call_paths"].as_array().unwrap().len();
    let top = meta["tiles"]["n_levels"].as_u64().unwrap() - 1;
    let (head, tile) =
        served.request("GET", &format!("/TOKEN/api/tile?g=9&level={top}&tile=0&block=0"), "", "");
    assert!(head.contains("immutable") && tile.starts_with(b"OZT3"), "{head}");
    let n_bins = n_rows.min(64) * 256;
    assert_eq!(tile.len(), 16 + n_bins * 4);
    let id = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| tile[16 + byte * n_bins + at]));
    let ids: Vec<u32> = (0..n_bins).map(id).collect();
    assert!(ids.iter().all(|&id| id == u32::MAX || (id as usize) < paths));
    assert!(ids.iter().any(|&id| id != u32::MAX && id != 0));
    let (head, packed) = served.request(
        "GET",
        &format!("/TOKEN/api/tile?g=9&level={top}&tile=0&block=0"),
        "Accept-Encoding: gzip\r\n",
        "",
    );
    assert!(head.contains("content-encoding: gzip") && packed.len() < tile.len(), "{head}");
    let (_, with_shares) =
        served.request("GET", &format!("/TOKEN/api/tile?level={top}&tile=0&block=0&shares=1"), "", "");
    assert!(with_shares.starts_with(&tile) && with_shares.len() == 16 + n_bins * 8);
    assert_eq!(served.status("GET", "/TOKEN/api/tile?level=0&tile=0&block=999", "", ""), 204);
    // Several at once are the same, each compressed by itself; what is not there is empty.
    let (head, parts) = served.request(
        "GET",
        &format!("/TOKEN/api/tiles?g=9&level={top}&at=0.0,0.999"),
        "Accept-Encoding: gzip\r\n",
        "",
    );
    assert!(head.contains("immutable") && !head.contains("content-encoding"), "{head}");
    let length = 4 + packed.len();
    assert_eq!(parts[..4], u32::try_from(packed.len()).unwrap().to_le_bytes());
    assert!(parts[4..length] == packed && parts[length..] == [0; 4]);
    let many = vec!["0.0"; 17].join(",");
    for at in ["", "0", "0.", "0.0,", "x.0", "0.-1", &many] {
        assert_eq!(
            served.status("GET", &format!("/TOKEN/api/tiles?level={top}&at={at}"), "", ""),
            400,
            "{at}"
        );
    }
    assert_eq!(served.status("GET", "/TOKEN/api/tiles?at=0.0", "", ""), 400);
    served.end();
}

#[cfg(unix)]
#[test]
fn a_socket_lies_in_a_folder_of_its_user_and_is_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixStream;
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("own").join("ouzel.sock");
    let served = served(Listen::Socket(path.clone()));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
    let (_, token) = served.parts();
    let line = format!("GET /{token}/api/meta");
    let (head, _) = sent(UnixStream::connect(&path).unwrap(), "localhost:8000", &line, "", "");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    served.end();
    assert!(!path.exists());
    // Others could enter: refused before anything listens.
    let open = scratch.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    let listen = Listen::Socket(open.join("ouzel.sock"));
    let settings = Settings { listen, opens_browser: false, cache: None, idle: Duration::from_secs(2) };
    let open = || Opened::Ok((Vec::new(), Arc::new(Echo)));
    let Err(ServeError::Serve(refused)) = serve(open, &settings, |_| panic!("it listens")) else {
        panic!("it is served")
    };
    assert!(refused.to_string().contains("others can enter"), "{refused}");
}

#[test]
fn the_page_is_there_before_the_run_is_open() {
    let (sender, is_wanted) = mpsc::channel();
    let served = served_by(Listen::Port(0), move || {
        is_wanted.recv().unwrap();
        Err("the file is cut off".to_owned())
    });
    assert_eq!(served.status("GET", "/TOKEN/", "", ""), 200);
    let (host, token) = served.parts();
    let mut waiting = TcpStream::connect(host).unwrap();
    write!(waiting, "GET /{token}/api/meta HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    waiting.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(waiting.read(&mut [0]).is_err(), "an answer about a run that is not open");
    sender.send(()).unwrap();
    let Err(ServeError::Open(why)) = served.ended.join().unwrap() else { panic!("it is opened") };
    assert_eq!(why, "the file is cut off");
}
