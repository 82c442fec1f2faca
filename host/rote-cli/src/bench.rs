//! `rote bench`: the program measures itself as its user meets it, as whole processes.
//!
//! Every figure stands beside a baseline of the same run, since a time alone says more about the machine than
//! about rote. Nothing outside the temporary homes is read or written.

mod adapters;
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
    /// The goal of the time, in milliseconds, where it is one for every machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most_milliseconds: Option<f64>,
    /// The goal of the memory, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most_mib: Option<f64>,
}

/// By how much a figure may miss its goal before `--check` fails: machines differ, and so do runs.
const TOLERANCE: f64 = 1.25;

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
            at_most_milliseconds: None,
            at_most_mib: None,
        }
    }

    /// Sets the goal of the time.
    fn at_most(mut self, time: Duration) -> Self {
        self.at_most_milliseconds = Some(time.as_secs_f64() * 1e3);
        self
    }

    /// Whether a goal is missed by more than a quarter.
    pub(crate) fn is_missed(&self) -> bool {
        let beyond = |figure: Option<f64>, goal: Option<f64>| figure.zip(goal).is_some_and(|(f, g)| f > g * TOLERANCE);
        beyond(Some(self.milliseconds), self.at_most_milliseconds) || beyond(self.peak_mib, self.at_most_mib)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_missed_when_it_is_by_more_than_a_quarter() {
        let took = |milliseconds| Measured::new("x", Duration::from_millis(milliseconds), "100 ms");
        assert!(!took(1_000).is_missed(), "without a goal nothing is");
        assert!(!took(124).at_most(Duration::from_millis(100)).is_missed());
        assert!(took(126).at_most(Duration::from_millis(100)).is_missed());
        let mut large = took(1);
        (large.peak_mib, large.at_most_mib) = (Some(130.0), Some(100.0));
        assert!(large.is_missed());
    }
}
