//! Who holds an unfinished response number: a process, told apart from a later one with the same id.
//!
//! A number whose process is gone was either lost (a read) or is in doubt (a write), unless the journal knows that its
//! request was never begun (`rote_gate::sift`). So is one that its process has given to nobody, because its answer is lost. On Linux the start time of
//! the process is part of its name, so that a recycled process id does not keep a dead call alive for ever.

use std::sync::OnceLock;

/// Returns the name of this process, `<pid>:<start time>`.
#[must_use]
pub fn this_process() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let pid = std::process::id();
        match start_time(pid) {
            Some(start) => format!("{pid}:{start}"),
            None => format!("{pid}:"),
        }
    })
}

/// Whether the process of that name still runs. A name that does not parse belongs to nobody.
#[must_use]
pub fn is_alive(name: &str) -> bool {
    if name == this_process() {
        return true;
    }
    let Some((pid, start)) = name.split_once(':') else {
        return false;
    };
    let Ok(pid) = pid.parse::<u32>() else {
        return false;
    };
    if start.is_empty() { exists(pid) } else { start_time(pid).as_deref() == Some(start) }
}

fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

/// Returns field 22 of `/proc/<pid>/stat` (proc(5)); nothing for a process that is gone or a zombie.
#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<String> {
    let path = format!("/proc/{pid}/stat");
    let text = rote_home::read_capped(std::path::Path::new(&path), 4096).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    // The second field is the command in brackets and may hold blanks and brackets of its own.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

#[cfg(not(target_os = "linux"))]
fn start_time(_pid: u32) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_a_recycled_id_is_not_it() {
        assert!(is_alive(this_process()));
        if cfg!(target_os = "linux") {
            assert!(!is_alive(&format!("{}:1", std::process::id())));
        }
        assert!(!is_alive("nonsense"));
        assert!(!is_alive("x:1"));
        assert!(!is_alive("4194305:77"));
    }
}
