//! `rote bench`: the program measures itself as its user meets it, as whole processes, and what governing costs within one.
//!
//! Every figure stands beside a baseline of the same run, since a time alone says more about the machine than
//! about rote. Nothing outside the temporary homes is read or written.

mod adapters;
mod commands;
mod crystallize;
mod governed;
mod measure;
mod process;
mod runs;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

pub(crate) use measure::measure;

/// How far a figure may be beyond its goal before `--check` minds: another program may have had the machine meanwhile.
const SLACK: f64 = 1.25;

/// One figure and its baseline.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Measured {
    /// What was measured.
    name: String,
    /// Median wall time, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<f64>,
    /// How many in a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    /// How many, where that could be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<f64>,
    /// Peak resident memory of the process, in MiB, where it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_mib: Option<f64>,
    /// What it printed, in tokens of four bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<f64>,
    /// What it is compared with; empty where the goal is a figure of its own.
    baseline: String,
    /// Median wall time of the baseline, in milliseconds; none when the baseline cannot be taken (no jq, or a description that is not JSON).
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_milliseconds: Option<f64>,
    /// How many in a second the baseline has.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_per_second: Option<f64>,
    /// The goal, in words.
    goal: Cow<'static, str>,
    /// The goals as numbers, where missing one counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bounds: Vec<Bound>,
}

/// A goal that `--check` compares with.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Bound {
    /// What was measured: a ratio, or the figure itself.
    value: f64,
    /// What it is to be, at most or at least.
    goal: f64,
    /// More is better.
    at_least: bool,
}

impl Bound {
    fn most(value: f64, goal: f64) -> Self {
        Self { value, goal, at_least: false }
    }

    fn least(value: f64, goal: f64) -> Self {
        Self { value, goal, at_least: true }
    }

    fn is_over(self) -> bool {
        if self.at_least { self.value < self.goal } else { self.value > self.goal }
    }

    fn is_missed(self) -> bool {
        if self.at_least { self.value < self.goal / SLACK } else { self.value > self.goal * SLACK }
    }
}

impl Measured {
    fn new(name: impl Into<String>, time: Duration, goal: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), milliseconds: Some(milliseconds(time)), goal: goal.into(), ..Self::default() }
    }

    /// A figure of so many in a second.
    fn rate(name: impl Into<String>, per_second: f64, goal: &'static str) -> Self {
        Self { name: name.into(), per_second: Some(per_second), goal: goal.into(), ..Self::default() }
    }

    /// A number of things, which [`Measured::counted`] fills in where they could be counted.
    fn count(name: impl Into<String>, goal: &'static str) -> Self {
        Self { name: name.into(), goal: goal.into(), ..Self::default() }
    }

    fn counted(self, count: f64) -> Self {
        Self { count: Some(count), ..self }
    }

    fn against(self, baseline: impl Into<String>, time: Option<Duration>) -> Self {
        Self { baseline: baseline.into(), baseline_milliseconds: time.map(milliseconds), ..self }
    }

    /// As [`Measured::against`], for a rate.
    fn per(self, baseline: impl Into<String>, per_second: f64) -> Self {
        Self { baseline: baseline.into(), baseline_per_second: Some(per_second), ..self }
    }

    fn bound(mut self, bound: Bound) -> Self {
        self.bounds.push(bound);
        self
    }

    /// Sets the goal of the time.
    fn at_most(self, goal: Duration) -> Self {
        let value = self.milliseconds.unwrap_or_default();
        self.bound(Bound::most(value, milliseconds(goal)))
    }

    /// Sets the peak of the memory and its goal, in MiB.
    fn peak(self, mib: f64, goal: f64) -> Self {
        Self { peak_mib: Some(mib), ..self }.bound(Bound::most(mib, goal))
    }

    /// Sets what was printed and its goal, in tokens.
    fn tokens(self, tokens: f64, goal: f64) -> Self {
        Self { tokens: Some(tokens), ..self }.bound(Bound::most(tokens, goal))
    }

    /// Whether a goal is missed by more than a quarter.
    pub(crate) fn is_missed(&self) -> bool {
        self.bounds.iter().any(|bound| bound.is_missed())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match (self.milliseconds, self.per_second, self.count) {
            // What takes less than that is told apart by its second digit only.
            (Some(time), ..) if time < 10.0 => write!(f, "{time:.2} ms")?,
            (Some(time), ..) => write!(f, "{time:.1} ms")?,
            (_, Some(rate), _) => write!(f, "{rate:.0} a second")?,
            (.., Some(count)) => write!(f, "{count:.1}")?,
            _ => write!(f, "no figure")?,
        }
        if let Some(peak) = self.peak_mib {
            write!(f, ", {peak:.0} MiB")?;
        }
        if let Some(tokens) = self.tokens {
            write!(f, ", {tokens:.0} tokens")?;
        }
        match (self.milliseconds, self.baseline_milliseconds, self.per_second, self.baseline_per_second) {
            (Some(time), Some(base), ..) => write!(f, "; {}: {base:.2} ms; ratio {:.2}", self.baseline, time / base)?,
            (.., Some(rate), Some(base)) => {
                write!(f, "; {}: {base:.0} a second; ratio {:.2}", self.baseline, rate / base)?;
            }
            _ if !self.baseline.is_empty() => write!(f, "; {}: no figure", self.baseline)?,
            _ => {}
        }
        let missed = match (self.is_missed(), self.bounds.iter().any(|bound| bound.is_over())) {
            (true, _) => ", missed",
            (false, true) => ", missed by less than a quarter",
            (false, false) => "",
        };
        write!(f, " (goal: {}{missed})", self.goal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_missed_beyond_a_quarter() {
        for (bound, missed) in [
            (Bound::most(5.0, 5.0), false),
            (Bound::most(6.2, 5.0), false),
            (Bound::most(6.3, 5.0), true),
            (Bound::least(1.4, 1.7), false),
            (Bound::least(1.3, 1.7), true),
        ] {
            assert_eq!(bound.is_missed(), missed, "{bound:?}");
        }
        let measured = Measured::new("a call", Duration::from_micros(6300), "at most 5 times a bare one")
            .against("bare", Some(Duration::from_millis(1)))
            .bound(Bound::most(6.3, 5.0));
        let text = "a call: 6.30 ms; bare: 1.00 ms; ratio 6.30 (goal: at most 5 times a bare one, missed)";
        assert_eq!(measured.to_string(), text);
        let measured = Measured::count("a thing", "at most 5").counted(5.5).bound(Bound::most(5.5, 5.0));
        assert_eq!(measured.to_string(), "a thing: 5.5 (goal: at most 5, missed by less than a quarter)");
    }

    #[test]
    fn what_could_not_be_counted_misses_no_goal() {
        let measured = Measured::count("system calls", "at most 30");
        assert_eq!(measured.to_string(), "system calls: no figure (goal: at most 30)");
        assert!(!measured.is_missed());
        let rate = Measured::rate("calls", 9000.0, "1.7 times as many").per("alone", 5000.0);
        assert_eq!(
            rate.to_string(),
            "calls: 9000 a second; alone: 5000 a second; ratio 1.80 (goal: 1.7 times as many)"
        );
    }
}
