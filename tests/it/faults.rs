//! Faults on demand, in the program under test only: it kills itself at the n-th boundary, or finds the disk full
//! from there on.
//!
//! A boundary is the moment before or after a call that changes what others can see: a write to a file, pipe or
//! socket, a sync, a new name, a rename, a removal. Such calls go through symbols of the C library, from Rust's
//! standard library as from SQLite, and the definitions here take the place of those symbols when the program is
//! linked. Calls that `rustix` makes (the renames of staged folders and of temporary files) go straight to the
//! kernel and are not a boundary of their own; the boundaries before and after them stand on either side.
//!
//! | variable | effect |
//! |---|---|
//! | `ROTE_TEST_KILL_AT=n` | SIGKILL to itself at boundary `n`, counted from 1 |
//! | `ROTE_TEST_KILL_AT=sent:n` | SIGKILL to itself right after its `n`-th packet to a socket, counted from 1 |
//! | `ROTE_TEST_FULL_AT=n` | from boundary `n` on, what would take space on a disk fails with `ENOSPC` |
//! | `ROTE_TEST_COUNT=file` | the number of boundaries is written there at the end |

#![expect(unsafe_code, reason = "taking the place of symbols of the C library is unsafe by nature")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::{c_char, c_int, c_long, c_uint, c_void, iovec, mode_t, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

/// Boundaries passed since [`around`] began.
static PASSED: AtomicU64 = AtomicU64::new(0);
/// Where to die; 0 for nowhere.
static KILL_AT: AtomicU64 = AtomicU64::new(0);
/// Packets given to sockets since [`around`] began.
static SENT: AtomicU64 = AtomicU64::new(0);
/// After which packet to die; 0 for none.
static KILL_SENT: AtomicU64 = AtomicU64::new(0);
/// From where on the disk is full; 0 for never.
static FULL_AT: AtomicU64 = AtomicU64::new(0);

/// Runs the program with the faults that the environment asks for.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test program reads its own orders, or fails")]
pub(crate) fn around(program: impl FnOnce() -> ExitCode) -> ExitCode {
    let order = |name| std::env::var(name).unwrap_or_else(|_| "0".to_owned());
    let number = |name| order(name).parse().unwrap();
    match order("ROTE_TEST_KILL_AT").strip_prefix("sent:") {
        Some(packet) => KILL_SENT.store(packet.parse().unwrap(), Ordering::SeqCst),
        None => KILL_AT.store(number("ROTE_TEST_KILL_AT"), Ordering::SeqCst),
    }
    FULL_AT.store(number("ROTE_TEST_FULL_AT"), Ordering::SeqCst);
    PASSED.store(0, Ordering::SeqCst);
    let code = program();
    let passed = PASSED.load(Ordering::SeqCst);
    FULL_AT.store(0, Ordering::SeqCst);
    if let Some(file) = std::env::var_os("ROTE_TEST_COUNT") {
        std::fs::write(PathBuf::from(file), passed.to_string()).unwrap();
    }
    code
}

/// Passes one boundary: dies here if that is the order.
fn boundary() {
    if PASSED.fetch_add(1, Ordering::SeqCst) + 1 == KILL_AT.load(Ordering::SeqCst) {
        die();
    }
}

fn die() {
    // SAFETY: both calls take and return plain numbers.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

/// Passes the boundaries around a packet. How many lie before it differs by a few from run to run, so a test that
/// must meet the moment after it says which packet, not which boundary.
fn packet<T>(call: impl FnOnce() -> T) -> T {
    boundary();
    let result = call();
    if SENT.fetch_add(1, Ordering::SeqCst) + 1 == KILL_SENT.load(Ordering::SeqCst) {
        die();
    }
    boundary();
    result
}

/// Passes the boundaries around one call.
fn between<T>(call: impl FnOnce() -> T) -> T {
    boundary();
    let result = call();
    boundary();
    result
}

/// What a call would change.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A file, which takes space.
    File,
    Pipe,
    Socket,
    /// Nothing that anybody else can see, such as the counter that wakes an event loop.
    Inner,
}

fn kind_of(descriptor: c_int) -> Kind {
    let mut found = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `found` is writable and as large as the call needs; all zeros is a valid `stat`.
    let found = unsafe {
        libc::fstat(descriptor, found.as_mut_ptr());
        found.assume_init()
    };
    match found.st_mode & libc::S_IFMT {
        // A file without a name is memory: wasmtime keeps the first pages of a component in one.
        libc::S_IFREG if found.st_nlink == 0 => Kind::Inner,
        libc::S_IFREG => Kind::File,
        libc::S_IFIFO => Kind::Pipe,
        libc::S_IFSOCK => Kind::Socket,
        _ => Kind::Inner,
    }
}

/// Makes a call that takes space when it goes to a file.
fn spend(descriptor: c_int, call: impl FnOnce() -> c_long) -> c_long {
    match kind_of(descriptor) {
        Kind::Inner => call(),
        Kind::Pipe => between(call),
        Kind::Socket => packet(call),
        Kind::File => between(|| if is_full() { no_space() } else { call() }),
    }
}

fn is_full() -> bool {
    let from = FULL_AT.load(Ordering::SeqCst);
    from != 0 && PASSED.load(Ordering::SeqCst) >= from
}

fn no_space() -> c_long {
    // SAFETY: the address is that of this thread's own `errno`.
    unsafe { *libc::__errno_location() = libc::ENOSPC };
    -1
}

/// The result of a call that returns a small number.
#[expect(clippy::cast_possible_truncation, reason = "the kernel returns 0, -1 or a descriptor here")]
fn int(result: c_long) -> c_int {
    result as c_int
}

/// The result of a call that returns a number of bytes.
#[expect(clippy::cast_possible_truncation, reason = "both are as wide as a word on every Linux")]
fn size(result: c_long) -> ssize_t {
    result as ssize_t
}

/// Defines symbols of the C library that make the system call of the same meaning.
macro_rules! symbols {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty { $body:expr })*) => {$(
        // SAFETY (of the symbol): its signature is that of the C library on Linux, where a caller of a variadic
        // function passes its words as it passes those of any other.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            $body
        }
    )*};
}

/// Makes a system call with the caller's own arguments.
macro_rules! system {
    ($number:ident $(, $argument:expr)*) => {
        // SAFETY: the arguments are those that the caller gave to the C library's function of the same contract.
        unsafe { libc::syscall(libc::$number $(, $argument)*) }
    };
}

symbols! {
    write(fd: c_int, data: *const c_void, length: size_t) -> ssize_t { size(spend(fd, || system!(SYS_write, fd, data, length))) }
    pwrite(fd: c_int, data: *const c_void, length: size_t, at: off_t) -> ssize_t {
        size(spend(fd, || system!(SYS_pwrite64, fd, data, length, at)))
    }
    pwrite64(fd: c_int, data: *const c_void, length: size_t, at: off_t) -> ssize_t {
        size(spend(fd, || system!(SYS_pwrite64, fd, data, length, at)))
    }
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
        size(spend(fd, || system!(SYS_writev, fd, parts, count)))
    }
    send(fd: c_int, data: *const c_void, length: size_t, flags: c_int) -> ssize_t {
        size(packet(|| system!(SYS_sendto, fd, data, length, flags, 0_usize, 0_usize)))
    }
    sendto(fd: c_int, data: *const c_void, length: size_t, flags: c_int, to: *const sockaddr, to_length: socklen_t) -> ssize_t {
        size(packet(|| system!(SYS_sendto, fd, data, length, flags, to, to_length)))
    }
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
        size(packet(|| system!(SYS_sendmsg, fd, message, flags)))
    }
    fsync(fd: c_int) -> c_int { int(between(|| system!(SYS_fsync, fd))) }
    fdatasync(fd: c_int) -> c_int { int(between(|| system!(SYS_fdatasync, fd))) }
    ftruncate(fd: c_int, size: off_t) -> c_int { int(spend(fd, || system!(SYS_ftruncate, fd, size))) }
    ftruncate64(fd: c_int, size: off_t) -> c_int { int(spend(fd, || system!(SYS_ftruncate, fd, size))) }
    open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int { open_at(libc::AT_FDCWD, path, flags, mode) }
    open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int { open_at(libc::AT_FDCWD, path, flags, mode) }
    openat(base: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int { open_at(base, path, flags, mode) }
    openat64(base: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int { open_at(base, path, flags, mode) }
    mkdir(path: *const c_char, mode: mode_t) -> c_int {
        int(between(|| if is_full() { no_space() } else { system!(SYS_mkdirat, libc::AT_FDCWD, path, mode) }))
    }
    rmdir(path: *const c_char) -> c_int {
        int(between(|| system!(SYS_unlinkat, libc::AT_FDCWD, path, libc::AT_REMOVEDIR)))
    }
    unlink(path: *const c_char) -> c_int { int(between(|| system!(SYS_unlinkat, libc::AT_FDCWD, path, 0))) }
    unlinkat(base: c_int, path: *const c_char, flags: c_int) -> c_int {
        int(between(|| system!(SYS_unlinkat, base, path, flags)))
    }
    rename(from: *const c_char, to: *const c_char) -> c_int {
        int(between(|| system!(SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0)))
    }
    renameat(base: c_int, from: *const c_char, other: c_int, to: *const c_char) -> c_int {
        int(between(|| system!(SYS_renameat2, base, from, other, to, 0)))
    }
}

/// Opening makes a boundary when it may make a name.
fn open_at(base: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let open = || system!(SYS_openat, base, path, flags, mode);
    int(if flags & libc::O_CREAT == 0 { open() } else { between(open) })
}
