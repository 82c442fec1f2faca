//! A proxy on loopback between rote and a server, which damages one conversation at a chosen place.
//!
//! Each connection carries one exchange: the proxy reads the request, passes it on, reads the answer and passes that
//! back. A fault says at which byte of which half something happens, and what. Every wait is bounded.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::SockRef;

/// Longest wait for either side.
const PATIENCE: Duration = Duration::from_secs(30);

/// The byte classes of an exchange, in the order in which they travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The connection is there, no byte of the request was taken.
    Accepted,
    /// Within the request line.
    RequestLine,
    /// Within the request's headers.
    RequestHead,
    /// After the blank line, or within the body where there is one.
    RequestBody,
    /// The server has the whole request and has said nothing.
    Taken,
    /// Within the status line.
    StatusLine,
    /// Within the answer's headers.
    AnswerHead,
    /// After the blank line that ends the headers.
    AnswerStart,
    /// Within the body.
    AnswerBody,
    /// Before the last byte.
    AnswerEnd,
    /// After the whole answer.
    Answered,
}

impl Place {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Accepted,
        Self::RequestLine,
        Self::RequestHead,
        Self::RequestBody,
        Self::Taken,
        Self::StatusLine,
        Self::AnswerHead,
        Self::AnswerStart,
        Self::AnswerBody,
        Self::AnswerEnd,
        Self::Answered,
    ];

    /// Whether the server has the whole request by then.
    #[must_use]
    pub fn server_knows(self) -> bool {
        self >= Self::Taken
    }
}

/// What happens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// Both connections are closed in order (FIN).
    Close,
    /// Both connections are torn down (RST).
    Reset,
    /// Nothing more is said until the client has gone.
    Stall,
    /// The byte there has another value; everything else passes.
    Corrupt,
    /// Everything so far of this half is sent a second time; the rest follows.
    Duplicate,
    /// From there on every byte is a packet of its own; nothing is lost.
    Trickle,
}

impl Harm {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Close, Self::Reset, Self::Stall, Self::Corrupt, Self::Duplicate, Self::Trickle];
}

/// One fault: it hits the `after`-th exchange from now on, counted from 0, and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What.
    pub harm: Harm,
    /// How many exchanges pass before it.
    pub after: usize,
}

struct Shared {
    server: SocketAddr,
    armed: Mutex<Option<Fault>>,
    stopped: AtomicBool,
}

/// The running proxy.
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl FaultProxy {
    /// Starts a proxy before the server on this loopback port.
    ///
    /// # Panics
    /// When no loopback port is free.
    #[must_use]
    pub fn before(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let shared = Arc::new(Shared { server, armed: Mutex::new(None), stopped: AtomicBool::new(false) });
        let state = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if state.stopped.load(Ordering::SeqCst) {
                    return;
                }
                // Counted here, in the order of arrival, so that it is known which exchange is hit.
                let fault = state.next_fault();
                let state = Arc::clone(&state);
                std::thread::spawn(move || {
                    let _broken = exchange(stream, &state, fault);
                });
            }
        });
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// Arms a fault, in place of one that has not happened.
    pub fn arm(&self, fault: Option<Fault>) {
        *self.shared.armed.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    /// Whether the fault that was armed has not happened yet.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.shared.armed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for FaultProxy {
    #[expect(clippy::disallowed_methods, reason = "the proxy wakes its own acceptor")]
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _woken = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _panicked = acceptor.join();
        }
    }
}

impl Shared {
    /// The fault of the exchange that begins now.
    fn next_fault(&self) -> Option<Fault> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *armed {
            Some(fault) if fault.after > 0 => {
                fault.after -= 1;
                None
            }
            other => other.take(),
        }
    }
}

/// Carries one request and its answer.
#[expect(clippy::disallowed_methods, reason = "the proxy speaks with the server that it stands before")]
fn exchange(mut client: TcpStream, shared: &Shared, fault: Option<Fault>) -> io::Result<()> {
    for wait in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        wait(&client, Some(PATIENCE))?;
    }
    client.set_nodelay(true)?;
    if let Some(Fault { place: Place::Accepted, harm, .. }) = fault
        && ends(harm)
    {
        return end(harm, client, None, shared);
    }
    let mut server = TcpStream::connect(shared.server)?;
    server.set_read_timeout(Some(PATIENCE))?;
    server.set_nodelay(true)?;

    let request = read_message(&mut client)?;
    let cut = fault.filter(|fault| fault.place < Place::Taken);
    if let Some(harm) = pass(&request, &mut server, cut)? {
        return end(harm, client, Some(server), shared);
    }
    let _half = server.shutdown(Shutdown::Write);
    let answer = read_message(&mut server)?;
    let cut = fault.filter(|fault| fault.place >= Place::Taken);
    if let Some(harm) = pass(&answer, &mut client, cut)? {
        return end(harm, client, Some(server), shared);
    }
    client.shutdown(Shutdown::Both)
}

/// Whether nothing passes any more after it.
fn ends(harm: Harm) -> bool {
    matches!(harm, Harm::Close | Harm::Reset | Harm::Stall)
}

/// Sends a message, up to the fault; returns the harm that ends the exchange there.
fn pass(message: &Message, to: &mut TcpStream, fault: Option<Fault>) -> io::Result<Option<Harm>> {
    let Some(fault) = fault else {
        return to.write_all(&message.bytes).map(|()| None);
    };
    let at = message.offset(fault.place);
    let (before, rest) = message.bytes.split_at(at);
    match fault.harm {
        harm if ends(harm) => {
            to.write_all(before)?;
            return Ok(Some(harm));
        }
        Harm::Corrupt => {
            let mut bytes = message.bytes.clone();
            if let Some(byte) = bytes.get_mut(at.min(message.bytes.len() - 1)) {
                *byte ^= 0x15;
            }
            to.write_all(&bytes)?;
        }
        Harm::Duplicate => {
            to.write_all(before)?;
            to.write_all(before)?;
            to.write_all(rest)?;
        }
        _ => {
            to.write_all(before)?;
            for byte in rest {
                to.write_all(std::slice::from_ref(byte))?;
            }
        }
    }
    Ok(None)
}

/// Ends an exchange in the way of `harm`.
fn end(harm: Harm, mut client: TcpStream, server: Option<TcpStream>, shared: &Shared) -> io::Result<()> {
    match harm {
        Harm::Reset => {
            // With a linger time of zero a close is a reset (SO_LINGER, socket(7)).
            SockRef::from(&client).set_linger(Some(Duration::ZERO))?;
            if let Some(server) = &server {
                SockRef::from(server).set_linger(Some(Duration::ZERO))?;
            }
        }
        Harm::Stall => {
            client.set_read_timeout(Some(Duration::from_millis(50)))?;
            let mut waits = PATIENCE.as_millis() / 50;
            let mut gone = false;
            while !gone && waits > 0 && !shared.stopped.load(Ordering::SeqCst) {
                waits -= 1;
                gone = match client.read(&mut [0; 1024]) {
                    Ok(0) => true,
                    Ok(_) => false,
                    Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
                };
            }
        }
        _ => {}
    }
    Ok(())
}

/// A request or an answer with its head's end.
struct Message {
    bytes: Vec<u8>,
    /// Where the body begins.
    body: usize,
}

impl Message {
    /// The byte at which a place is.
    fn offset(&self, place: Place) -> usize {
        let line = self.bytes.iter().position(|byte| *byte == b'\n').unwrap_or(self.body);
        let length = self.bytes.len();
        match place {
            Place::Accepted | Place::Taken => 0,
            Place::RequestLine | Place::StatusLine => line / 2,
            Place::RequestHead | Place::AnswerHead => usize::midpoint(line, self.body),
            Place::AnswerStart => self.body,
            Place::RequestBody | Place::AnswerBody => usize::midpoint(self.body, length),
            Place::AnswerEnd => length.saturating_sub(1),
            Place::Answered => length,
        }
    }
}

/// Reads one message with a content length, or none and no body.
fn read_message(from: &mut TcpStream) -> io::Result<Message> {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 16 << 10];
    loop {
        let body = bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
        if let Some(body) = body
            && bytes.len() >= body + content_length(&bytes[..body])
        {
            return Ok(Message { bytes, body });
        }
        match from.read(&mut buffer)? {
            0 => {
                let body = body.unwrap_or(bytes.len());
                return Ok(Message { bytes, body });
            }
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FakeApi, Script};

    #[expect(clippy::disallowed_methods, reason = "the test is the client")]
    fn ask(proxy: &FaultProxy, body: &str) -> io::Result<Vec<u8>> {
        let mut client = TcpStream::connect(proxy.address)?;
        client.set_read_timeout(Some(PATIENCE))?;
        let request = format!("POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        client.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        client.read_to_end(&mut answer)?;
        Ok(answer)
    }

    fn fault(place: Place, harm: Harm, after: usize) -> Option<Fault> {
        Some(Fault { place, harm, after })
    }

    #[test]
    fn without_a_fault_everything_passes() {
        let server = FakeApi::start(|_| Script::Answer(201, Vec::new(), b"hello".to_vec()));
        let proxy = FaultProxy::before(server.port());
        assert!(ask(&proxy, "abc").unwrap().ends_with(b"\r\n\r\nhello"));
        assert_eq!(server.received()[0].body, b"abc");
    }

    #[test]
    fn a_fault_hits_the_exchange_that_was_meant_and_only_that_one() {
        let server = FakeApi::start(|_| Script::Answer(201, Vec::new(), b"hello".to_vec()));
        let proxy = FaultProxy::before(server.port());
        proxy.arm(fault(Place::Taken, Harm::Close, 1));
        assert!(ask(&proxy, "0").unwrap().ends_with(b"hello"));
        assert_eq!(ask(&proxy, "1").unwrap(), b"");
        assert!(!proxy.is_armed());
        assert!(ask(&proxy, "2").unwrap().ends_with(b"hello"));
        assert_eq!(server.received().len(), 3);
    }

    #[test]
    fn each_place_is_where_it_says() {
        let server = FakeApi::start(|_| Script::Answer(201, Vec::new(), b"hello".to_vec()));
        let proxy = FaultProxy::before(server.port());
        let whole = ask(&proxy, "abc").unwrap();
        for (place, ends_with) in [
            (Place::StatusLine, &b"HTTP/1."[..]),
            (Place::AnswerStart, b"\r\n\r\n"),
            (Place::AnswerBody, b"he"),
            (Place::AnswerEnd, b"hell"),
            (Place::Answered, b"hello"),
        ] {
            proxy.arm(fault(place, Harm::Close, 0));
            let answer = ask(&proxy, "abc").unwrap();
            assert!(answer.ends_with(ends_with) && whole.starts_with(&answer), "{place:?}: {answer:?}");
        }
        proxy.arm(fault(Place::AnswerBody, Harm::Reset, 0));
        assert!(ask(&proxy, "abc").is_err(), "a reset is an error");
        proxy.arm(fault(Place::AnswerBody, Harm::Corrupt, 0));
        assert!(ask(&proxy, "abc").unwrap().ends_with(b"heylo"));
        proxy.arm(fault(Place::Answered, Harm::Duplicate, 0));
        assert_eq!(ask(&proxy, "abc").unwrap(), [&whole[..], &whole].concat());
        proxy.arm(fault(Place::StatusLine, Harm::Trickle, 0));
        assert_eq!(ask(&proxy, "abc").unwrap(), whole);
    }

    #[test]
    fn what_is_cut_before_the_server_is_not_whole_there() {
        let server = FakeApi::start(|_| Script::Close);
        let proxy = FaultProxy::before(server.port());
        for place in [Place::Accepted, Place::RequestLine, Place::RequestHead] {
            proxy.arm(fault(place, Harm::Close, 0));
            let _cut = ask(&proxy, "abc");
        }
        server.settle();
        assert!(server.received().is_empty());
    }
}
