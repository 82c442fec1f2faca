//! `rote bench`: the program measures itself as its user meets it, as whole processes.
//!
//! Every figure stands beside a baseline of the same run, since a time alone says more about the machine than
//! about rote. Nothing outside the temporary homes is read or written.

mod measure;
mod process;
mod runs;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

pub(crate) use measure::measure;

/// One figure and its baseline.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    /// What was measured.
    name: String,
    /// Median wall time, in milliseconds.
    milliseconds: f64,
    /// Peak resident memory of the process, in MiB, where it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_mib: Option<f64>,
    /// What it is compared with.
    baseline: String,
    /// Median wall time of the baseline, in milliseconds; none when the baseline cannot be taken (no jq, or a description that is not JSON).
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_milliseconds: Option<f64>,
    /// The goal, in words.
    goal: &'static str,
}

impl Measured {
    fn new(name: impl Into<String>, time: Duration, goal: &'static str) -> Self {
        let milliseconds = time.as_secs_f64() * 1e3;
        Self {
            name: name.into(),
            milliseconds,
            peak_mib: None,
            baseline: String::new(),
            baseline_milliseconds: None,
            goal,
        }
    }

    fn against(mut self, baseline: impl Into<String>, time: Option<Duration>) -> Self {
        self.baseline = baseline.into();
        self.baseline_milliseconds = time.map(|time| time.as_secs_f64() * 1e3);
        self
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:.1} ms", self.name, self.milliseconds)?;
        if let Some(peak) = self.peak_mib {
            write!(f, ", {peak:.0} MiB")?;
        }
        match self.baseline_milliseconds {
            Some(base) => write!(f, "; {}: {base:.1} ms; ratio {:.2}", self.baseline, self.milliseconds / base)?,
            None => write!(f, "; {}: no figure", self.baseline)?,
        }
        write!(f, " (goal: {})", self.goal)
    }
}
