//! The tracker on a loopback socket: one thread, one acceptor, a log of what arrived.
//!
//! Bodies are capped and connections bounded by the thread that owns them; dropping [`TrackerServer`] stops it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::api::{self, PREFIX, Reply, Request};
use super::store::Store;

/// Most bytes of one request body.
const MAX_BODY: usize = 16 << 20;
/// Most requests that the log keeps; older ones are dropped.
const MAX_LOG: usize = 10_000;

#[derive(Debug)]
struct Shared {
    store: Mutex<Store>,
    log: Mutex<Vec<Request>>,
    /// Hang up after a write was taken, instead of answering.
    loses_answers: AtomicBool,
}

/// The answer of a write is lost: the connection closes without it.
#[derive(Debug)]
struct Lost;

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer is lost")
    }
}

impl std::error::Error for Lost {}

/// A running tracker API.
#[derive(Debug)]
pub struct TrackerServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl TrackerServer {
    /// Starts the API on `127.0.0.1`; port 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken or no thread can be started.
    pub fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            store: Mutex::new(Store::seeded()),
            log: Mutex::new(Vec::new()),
            loses_answers: AtomicBool::new(false),
        });
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let state = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("tracker".to_owned()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    () = accept(listener, state) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the base URL that an adapter needs.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}{PREFIX}", self.address)
    }

    /// Makes the API take writes and hang up, or answer them again.
    pub fn lose_answers(&self, lose: bool) {
        self.shared.loses_answers.store(lose, Ordering::SeqCst);
    }

    /// Returns the requests that have arrived, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TrackerServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The receiver is gone only when the thread has ended by itself.
            let _ended = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let shared = Arc::clone(&shared);
        let service = service_fn(move |request| serve(Arc::clone(&shared), request));
        tokio::spawn(async move {
            // A client that goes away in the middle is not a concern of the server's.
            let _gone =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn serve(shared: Arc<Shared>, request: hyper::Request<Incoming>) -> Result<hyper::Response<Full<Bytes>>, Lost> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return Ok(respond(api::too_large()));
    };
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let request = Request {
        method: head.method.to_string(),
        target: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: headers.collect(),
        body: body.to_bytes().to_vec(),
    };
    let reply = api::answer(&mut shared.store.lock().unwrap_or_else(PoisonError::into_inner), &request);
    let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() == MAX_LOG {
        log.remove(0);
    }
    let writes = request.method != "GET";
    log.push(request);
    if writes && shared.loses_answers.load(Ordering::SeqCst) { Err(Lost) } else { Ok(respond(reply)) }
}

fn respond(reply: Reply) -> hyper::Response<Full<Bytes>> {
    let mut response = hyper::Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let built = response.body(Full::new(Bytes::from(reply.body)));
    built.unwrap_or_else(|_| {
        let mut failed = hyper::Response::new(Full::new(Bytes::new()));
        *failed.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        failed
    })
}
