//! Which requests are answered. Login nodes have many users, and browsers have many pages open.
//!
//! Law: every request that is answered carries the token, names this server by a loopback name, and comes from the page
//! itself or from no page at all. Nothing says whether a token was nearly right.

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode, Uri};

/// The names under which a browser reaches this server; `ssh -L` changes the port.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The path of the only answer to POST.
pub(crate) const ASK: &str = "api/ask";

/// The secret part of the address: 192 random bits.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new() -> std::io::Result<Self> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// As it stands in the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is this one, in a time that does not depend on the first difference.
    fn is(&self, other: &str) -> bool {
        let differences = self.0.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        differences == 0 && self.0.len() == other.len()
    }
}

/// What of a request decides whether it is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
}

/// The path below the token of a request that may be answered.
///
/// # Errors
/// The status of the refusal.
pub(crate) fn admitted<'a>(asked: Asked<'a>, token: &Token) -> Result<&'a str, StatusCode> {
    let Asked { method, uri, headers } = asked;
    if uri.authority().is_some() {
        return Err(StatusCode::BAD_REQUEST);
    }
    let host = single(headers, &HOST)?.filter(|host| is_loopback(host)).ok_or(StatusCode::FORBIDDEN)?;
    // The whole origin is compared: a prefix would let other ports through.
    let origin = single(headers, &ORIGIN)?;
    if origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host)) {
        return Err(StatusCode::FORBIDDEN);
    }
    let path = below(uri.path(), token).ok_or(StatusCode::NOT_FOUND)?;
    check_site(asked, path)?;
    match *method {
        Method::GET | Method::HEAD => Ok(path),
        Method::POST if path == ASK => match single(headers, &CONTENT_TYPE)? {
            Some(kind) if is_json(kind) => Ok(path),
            _ => Err(StatusCode::UNSUPPORTED_MEDIA_TYPE),
        },
        _ => Err(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// Browsers tell which page a request comes from: it must be ours, or the user. One other way leads in: the page as the
/// document of a tab, opened by the file that hands over the token; who knows the address may show it to the user.
fn check_site(asked: Asked<'_>, path: &str) -> Result<(), StatusCode> {
    let fetch = |name: &'static str| single(asked.headers, &HeaderName::from_static(name));
    match fetch("sec-fetch-site")? {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => {
            let is_document =
                fetch("sec-fetch-mode")? == Some("navigate") && fetch("sec-fetch-dest")? == Some("document");
            let is_opened = path.is_empty() && *asked.method == Method::GET && is_document;
            if is_opened { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
        }
    }
}

/// The value of a header that occurs at most once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, StatusCode> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(StatusCode::BAD_REQUEST);
    }
    first.map(|value| value.to_str().map_err(|_| StatusCode::BAD_REQUEST)).transpose()
}

fn is_loopback(host: &str) -> bool {
    HOSTS.iter().any(|name| match host.strip_prefix(name) {
        Some("") => true,
        Some(rest) => {
            rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok() && is_digits(port))
        }
        None => false,
    })
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What follows `/TOKEN/`. `/TOKEN` alone is nothing.
fn below<'a>(path: &'a str, token: &Token) -> Option<&'a str> {
    let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
    token.is(first).then_some(rest)
}

fn is_json(kind: &str) -> bool {
    let mut parts = kind.split(';').map(str::trim);
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
        && parts.all(|parameter| parameter.eq_ignore_ascii_case("charset=utf-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    const OK: &str = "127.0.0.1:8000";

    /// The status of a request; 200 if it is admitted.
    fn status(method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        let token = Token("0123456789abcdef0123456789abcdef0123456789abcdef".to_owned());
        let uri = path.replace("TOKEN", token.as_str());
        let request =
            headers.iter().fold(Request::builder().method(method).uri(uri), |request, (name, value)| {
                request.header(*name, *value)
            });
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let asked = Asked { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
        admitted(asked, &token).map_or_else(|status| status.as_u16(), |_| 200)
    }

    #[test]
    fn only_paths_below_the_token_exist() {
        for (path, expected) in [
            ("/TOKEN/", 200),
            ("/TOKEN/api/meta", 200),
            ("/TOKEN", 404),
            ("/", 404),
            ("/api/meta", 404),
            ("//TOKEN/", 404),
            ("/TOKEN0/", 404),
            ("/0123456789abcdef0123456789abcdef0123456789abcde/", 404),
            ("/0123456789abcdef0123456789abcdef0123456789abcdee/", 404),
            ("http://127.0.0.1:8000/TOKEN/", 400),
        ] {
            assert_eq!(status("GET", path, &[("host", OK)]), expected, "{path}");
        }
    }

    #[test]
    fn the_host_is_a_loopback_name() {
        for (host, expected) in [
            ("127.0.0.1", 200),
            ("localhost:9", 200),
            ("[::1]:65535", 200),
            ("evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("localhost.evil.example:80", 403),
            ("127.0.0.1:80:80", 403),
            ("127.0.0.1:", 403),
            ("127.0.0.1:+80", 403),
            ("127.0.0.1:99999", 403),
            ("user@127.0.0.1", 403),
            ("0.0.0.0:80", 403),
            ("", 403),
        ] {
            assert_eq!(status("GET", "/TOKEN/", &[("host", host)]), expected, "{host:?}");
        }
        assert_eq!(status("GET", "/TOKEN/", &[]), 403);
        assert_eq!(status("GET", "/TOKEN/", &[("host", OK), ("host", OK)]), 400);
    }

    #[test]
    fn the_origin_is_the_host_and_nothing_that_begins_like_it() {
        for (origin, expected) in [
            ("http://127.0.0.1:8000", 200),
            ("http://127.0.0.1:80", 403),
            ("http://127.0.0.1:1", 403),
            ("http://127.0.0.1", 403),
            ("http://127.0.0.1:80001", 403),
            ("http://127.0.0.1:8000/", 403),
            ("https://127.0.0.1:8000", 403),
            ("http://localhost:8000", 403),
            ("null", 403),
        ] {
            assert_eq!(
                status("GET", "/TOKEN/api/meta", &[("host", OK), ("origin", origin)]),
                expected,
                "{origin}"
            );
        }
        let twice = [("host", OK), ("origin", "http://127.0.0.1:8000"), ("origin", "null")];
        assert_eq!(status("GET", "/TOKEN/", &twice), 400);
    }

    #[test]
    fn other_pages_open_the_document_at_most() {
        let check = |path: &str, site: &str, mode: &str, dest: &str| {
            let headers =
                [("host", OK), ("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
            status("GET", path, &headers)
        };
        assert_eq!(check("/TOKEN/", "same-origin", "cors", "empty"), 200);
        assert_eq!(check("/TOKEN/api/meta", "none", "navigate", "document"), 200);
        assert_eq!(check("/TOKEN/", "cross-site", "navigate", "document"), 200);
        assert_eq!(check("/TOKEN/", "cross-site", "navigate", "iframe"), 403);
        assert_eq!(check("/TOKEN/", "cross-site", "no-cors", "image"), 403);
        assert_eq!(check("/TOKEN/", "same-site", "cors", "empty"), 403);
        assert_eq!(check("/TOKEN/api/meta", "cross-site", "navigate", "document"), 403);
    }

    #[test]
    fn only_questions_are_posted_and_only_as_json() {
        for (method, path, kind, expected) in [
            ("POST", "/TOKEN/api/ask", "application/json", 200),
            ("POST", "/TOKEN/api/ask", "Application/JSON; charset=UTF-8", 200),
            ("POST", "/TOKEN/api/ask", "text/plain", 415),
            ("POST", "/TOKEN/api/ask", "application/json; x", 415),
            ("POST", "/TOKEN/api/ask", "application/x-www-form-urlencoded", 415),
            ("POST", "/TOKEN/", "application/json", 405),
            ("PUT", "/TOKEN/api/ask", "application/json", 405),
            ("DELETE", "/TOKEN/", "application/json", 405),
            ("OPTIONS", "/TOKEN/api/ask", "application/json", 405),
            ("TRACE", "/TOKEN/", "application/json", 405),
            ("HEAD", "/TOKEN/", "text/plain", 200),
        ] {
            assert_eq!(
                status(method, path, &[("host", OK), ("content-type", kind)]),
                expected,
                "{method} {path}"
            );
        }
        assert_eq!(status("POST", "/TOKEN/api/ask", &[("host", OK)]), 415);
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let (a, b) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(a.as_str().len(), 48);
        assert_ne!(a.as_str(), b.as_str());
        assert!(!format!("{a:?}").contains(a.as_str()));
    }
}
