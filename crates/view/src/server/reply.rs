//! Answers with the headers that every one of them has.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, VARY};
use hyper::{Response, StatusCode};
use serde::Serialize;
use std::io::{Read as _, Write as _};

/// What the page may do: nothing that is not its own.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ALWAYS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The type of answers whose parts are compressed.
pub(crate) const PACKED_INSIDE: &str = "application/octet-stream; parts=gzip";

/// Smaller answers are not compressed: they fit into one packet.
const PACKED_FROM_BYTES: usize = 1 << 10;

/// How long an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Asked again each time.
    Never,
    /// For ever under its address.
    Forever,
}

/// Bytes compressed with gzip.
pub(crate) fn packed(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), level);
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes what is written to it")
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub bytes: Vec<u8>,
    pub is_packed: bool,
    pub kept: Kept,
}

impl Reply {
    /// Only a status.
    pub fn status(status: StatusCode) -> Self {
        Reply {
            status,
            content_type: "text/plain; charset=utf-8",
            bytes: Vec::new(),
            is_packed: false,
            kept: Kept::Never,
        }
    }

    /// Bytes of a media type.
    pub fn of(content_type: &'static str, bytes: Vec<u8>) -> Self {
        Reply { content_type, bytes, ..Reply::status(StatusCode::OK) }
    }

    /// A JSON document.
    pub fn json(value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => Reply::of("application/json", bytes),
            Err(error) => Reply::error(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    /// Why there is no answer.
    pub fn error(status: StatusCode, message: &str) -> Self {
        let bytes = serde_json::json!({ "error": message }).to_string().into_bytes();
        Reply { bytes, content_type: "application/json", ..Reply::status(status) }
    }

    /// The same, kept by the browser.
    pub fn forever(self) -> Self {
        Reply { kept: Kept::Forever, ..self }
    }

    /// The same, compressed if that is worth it.
    pub fn packed(self) -> Self {
        if self.is_packed || self.content_type == PACKED_INSIDE || self.bytes.len() < PACKED_FROM_BYTES {
            return self;
        }
        Reply { bytes: packed(&self.bytes, Compression::fast()), is_packed: true, ..self }
    }

    /// The same as it was before compression.
    pub fn unpacked(mut self) -> Self {
        let mut bytes = Vec::new();
        if self.is_packed && GzDecoder::new(&*self.bytes).read_to_end(&mut bytes).is_ok() {
            self.bytes = bytes;
            self.is_packed = false;
        }
        self
    }

    /// As HTTP sends it.
    pub fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.bytes)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        for (name, value) in ALWAYS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        let kept = match self.kept {
            Kept::Never => "no-store",
            Kept::Forever => "private, max-age=31536000, immutable",
        };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
        if self.is_packed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}
