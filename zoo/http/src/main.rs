//! A small HTTP server on hyper: `underbar-http [--ecb] [--leak BYTES]`.
//!
//! ```text
//! connection (a task of tokio) ── hyper reads a request ──> body, outside
//!                                                           work: polled in the ECB of the request, by any thread
//!                                  hyper writes  <───────── the response, made outside
//! ```
//!
//! With `--ecb` each request has an ECB of class HTTP: the thread enters it for each poll of the work, and leaves it before it does
//! anything else. `--leak` makes the work forget so many bytes for each request. It listens on a free port of loopback, prints
//! `PORT PROCESS`, and ends with SIGTERM; then it prints how many requests it answered.
//!
//! | request | answer |
//! |---|---|
//! | `GET /table?rows=N` | a table of N rows, sorted |
//! | `POST /json` | the JSON of the body, its objects sorted, with the sum of its numbers |
//! | `GET /panic` | none: the work panics, and the connection ends |
//!
//! Invariant: answers depend on the request alone: there is no date, and no order of a hash table.
//! Not here: the load and the comparison (`zoo/tests/ecb_servers.rs`, `bench/src/ecb/soak`).

mod work;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use underbar::ecb::{self, Ecb};

use crate::work::{Answer, Question};

/// What the command line asks for.
#[derive(Clone, Copy, Default)]
struct Settings {
    /// An ECB for each request.
    has_ecbs: bool,
    /// Bytes that the work of each request forgets.
    leak: usize,
}

/// Requests that were answered. Relaxed: it is read when the server ends.
static ANSWERED: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--ecb" => settings.has_ecbs = true,
            "--leak" => settings.leak = words.next().ok_or("--leak wants a number of bytes")?.parse()?,
            _ => return Err(format!("unknown: {word}").into()),
        }
    }
    // Two threads: the work of a request goes on in another one.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build()?;
    runtime.block_on(listen(settings))?;
    println!("answered {}", ANSWERED.load(Ordering::Relaxed));
    Ok(())
}

/// Serves connections until SIGTERM.
async fn listen(settings: Settings) -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut term = signal(SignalKind::terminate())?;
    println!("{} {}", listener.local_addr()?.port(), std::process::id());
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(serve(stream, settings))),
                Err(error) => break error,
            }
        }
    };
    let (mut accept, mut term) = (pin!(accept), pin!(term.recv()));
    poll_fn(|context| match accept.as_mut().poll(context) {
        Poll::Ready(error) => Poll::Ready(Err(error)),
        Poll::Pending => term.as_mut().poll(context).map(|_| Ok(())),
    })
    .await
}

/// Serves one connection to its end. What the client does wrong ends the connection, and nothing else.
async fn serve(stream: TcpStream, settings: Settings) {
    let service = service_fn(move |request| answer(request, settings));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.auto_date_header(false);
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// Answers one request: the work is done in an ECB of its own.
async fn answer(request: Request<Incoming>, settings: Settings) -> hyper::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let question = Question {
        is_post: head.method == Method::POST,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body: body.collect().await?.to_bytes(),
    };
    // None: no ECB is wanted, or the server does not run under underbar.
    let ecb = if settings.has_ecbs { Ecb::new("HTTP").ok() } else { None };
    // Dropped before the ECB, also if the client goes away in the middle.
    let mut work = pin!(work::answer(&question, settings.leak));
    let response = poll_fn(|context| {
        let mut poll = || work.as_mut().poll(context).map(|answer| ecb::outside(|| response(&answer)));
        match &ecb {
            // SAFETY: what `poll` allocates is in `work`, which is dropped before the ECB, or in the answer, which is dropped here; the
            // response is made outside, and so is what tokio gets meanwhile (`outside`).
            Some(ecb) => unsafe { ecb.run(poll) },
            None => poll(),
        }
    });
    let response = response.await;
    ANSWERED.fetch_add(1, Ordering::Relaxed);
    Ok(response)
}

/// The response with a copy of the answer.
fn response(answer: &Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(&answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(answer.kind));
    response
}

/// Waits for something of tokio's from within an ECB: what tokio gets for itself stays with the process.
async fn outside<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| ecb::outside(|| future.as_mut().poll(context))).await
}
