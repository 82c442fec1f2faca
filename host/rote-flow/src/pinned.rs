//! The flows that a flow runs, and those that they run: what all of them may write, for whoever decides about the
//! first one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use rote_govern::{BlessedTool, Constraint, Verdict};
use rote_plan::Plan;
use rote_types::{AdapterId, FlowName, Sha256Digest};
use serde::Serialize;

use crate::error::RunnerError;
use crate::surface::Reading;
use crate::{FlowError, FlowPin, FlowReference, FlowStatus, Form, Frontmatter, Library, Package, Pins, WriteMode};

/// Most flows below one.
const MAX_PINNED: usize = 1_000;

/// A flow that another one pins, as it is here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PinnedFlow {
    pub name: FlowName,
    /// The pinned version.
    pub version: String,
    /// The pinned file.
    pub sha256: Sha256Digest,
    /// The flow that pins it.
    pub pinned_by: FlowName,
    /// What it is made of, when it is here.
    pub form: Option<Form>,
    /// Why a run of it is refused; then it is not known what it does.
    pub problem: Option<String>,
}

/// A write that a flow, or one that it runs, may make.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowWrite {
    pub adapter: AdapterId,
    pub tool: String,
    /// How the write guard treated it when it was recorded.
    pub mode: WriteMode,
    /// The origins that its requests go to now.
    pub goes_to: BTreeSet<String>,
    /// What the write guard says of it now, whatever its arguments are; nothing where it is not installed.
    pub verdict: Option<Verdict>,
    /// Whether values of arguments make it one that asks.
    pub raised: bool,
    /// The pinned flow that makes it; the flow itself, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowName>,
    /// What a blessing allows of it; nothing, when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blessed: Option<Allowed>,
}

/// What a blessing allows of one tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Allowed {
    /// Most calls in one run, whichever flow of it makes them; any number, when absent.
    pub max_calls: Option<u32>,
    /// What arguments must be.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Constraint>,
}

/// What a person is told of the writes of a flow and of those that it runs, wherever they are decided about: one line for
/// each tool, one for all of them that ask where there are several, one for each flow of which nothing is known.
#[must_use]
pub fn write_lines(writes: &[FlowWrite], flows: &[PinnedFlow]) -> Vec<String> {
    // A tool is counted once for all the flows of a run.
    let mut tools: BTreeMap<(&AdapterId, &str), Vec<&FlowWrite>> = BTreeMap::new();
    writes.iter().for_each(|one| tools.entry((&one.adapter, &one.tool)).or_default().push(one));
    let mut lines: Vec<String> = tools.values().map(|uses| line(uses)).collect();
    let asking = tools.values().filter_map(|uses| uses.first()).filter(|one| one.asks());
    let bounds = asking.filter_map(|one| one.blessed.as_ref().map(|allowed| allowed.max_calls));
    let all: Option<u64> = bounds.clone().map(|bound| bound.map(u64::from)).sum();
    if bounds.count() > 1 {
        lines.push(format!("all that ask: {}", calls(all)));
    }
    let unknown = flows.iter().filter(|flow| flow.problem.is_some());
    lines.extend(unknown.map(|flow| format!("unknown (by flow {}, which cannot run here)", flow.name)));
    lines
}

fn line(uses: &[&FlowWrite]) -> String {
    let Some(first) = uses.first() else { return String::new() };
    let by: Vec<String> = uses.iter().filter_map(|one| one.flow.as_ref()).map(|flow| format!("flow {flow}")).collect();
    let itself = if by.len() < uses.len() && !by.is_empty() { "itself and " } else { "" };
    let by = if by.is_empty() { String::new() } else { format!(" (by {itself}{})", by.join(" and ")) };
    let places: Vec<&str> = first.goes_to.iter().map(String::as_str).collect();
    let to = if places.is_empty() { "nowhere".to_owned() } else { places.join(" and ") };
    let bound = match (&first.blessed, first.verdict) {
        (Some(allowed), Some(Verdict::Confirm)) => allowed.to_string(),
        (None, Some(Verdict::Confirm)) => "each asks".to_owned(),
        (_, Some(Verdict::Deny)) => "each is refused".to_owned(),
        (_, None) => "not installed".to_owned(),
        (Some(allowed), Some(_)) if first.raised => format!("{FREE}, {RAISED}: {allowed}"),
        (None, Some(_)) if first.raised => format!("{FREE}, {RAISED} asks"),
        (_, Some(Verdict::Allow | Verdict::Audit)) => FREE.to_owned(),
    };
    format!("{}/{}{by} to {to}: {bound}", first.adapter, first.tool)
}

/// What is said of writes that the guard lets pass, with or without a blessing.
const FREE: &str = "none asks, each is recorded";
const RAISED: &str = "but one that an argument makes publish, force or purge";

impl FlowWrite {
    /// Whether a call of it may wait for a person, so that a blessing has something to allow.
    fn asks(&self) -> bool {
        self.raised || self.verdict == Some(Verdict::Confirm)
    }
}

fn calls(most: Option<u64>) -> String {
    match most {
        None => "any number of calls in a run".to_owned(),
        Some(1) => "at most 1 call in a run".to_owned(),
        Some(most) => format!("at most {most} calls in a run"),
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&calls(self.max_calls.map(u64::from)))?;
        if self.arguments.is_empty() {
            return Ok(());
        }
        write!(f, " with {}", serde_json::to_string(&self.arguments).map_err(|_| fmt::Error)?)
    }
}

/// A pinned flow with what is known of it.
pub(crate) struct Inner {
    pub(crate) shown: PinnedFlow,
    /// Nothing when a run of it is refused.
    pub(crate) known: Option<(Frontmatter, Option<Plan>)>,
}

impl Library {
    /// Finds every flow below one, each once, whoever pins it first.
    ///
    /// # Errors
    /// [`RunnerError::NestedFlow`] for more than a person could look through.
    pub(crate) fn pinned_flows(&self, package: &Package) -> Result<Vec<Inner>, FlowError> {
        let pins = |frontmatter: &Frontmatter| -> Vec<(FlowName, FlowName, FlowPin)> {
            let by = &frontmatter.name;
            frontmatter.flows.iter().map(|(name, pin)| (by.clone(), name.clone(), pin.clone())).collect()
        };
        let (mut open, mut seen, mut found) = (VecDeque::from(pins(&package.frontmatter)), BTreeSet::new(), Vec::new());
        while let Some((by, name, pin)) = open.pop_front() {
            // Told by digest, so that nothing is followed in a circle.
            if !seen.insert((name.clone(), pin.sha256)) {
                continue;
            }
            if seen.len() > MAX_PINNED {
                let reason = format!("more than {MAX_PINNED} flows would run below it");
                return Err(FlowError::Run(RunnerError::NestedFlow {
                    flow: package.frontmatter.name.clone(),
                    name: name.to_string(),
                    reason,
                }));
            }
            let inner = self.inner(by, name, &pin);
            open.extend(inner.known.iter().flat_map(|(frontmatter, _)| pins(frontmatter)));
            found.push(inner);
        }
        Ok(found)
    }

    fn inner(&self, pinned_by: FlowName, name: FlowName, pin: &FlowPin) -> Inner {
        let loaded = self.load(&FlowReference::Name(name.clone())).map(|(_, package)| package);
        let problem = match &loaded {
            Err(error) => Some(error.to_string()),
            Ok(package) if package.digest() != pin.sha256 => {
                Some(format!("version {} of another digest is here", package.frontmatter.version))
            }
            Ok(package) if package.frontmatter.status != FlowStatus::Released => Some("it is not released".to_owned()),
            Ok(_) => None,
        };
        let known = loaded.ok().filter(|_| problem.is_none());
        let known = known.map(|package| (package.frontmatter.clone(), package.plan().cloned()));
        let form = known.as_ref().map(|(frontmatter, _)| frontmatter.form);
        let (version, sha256) = (pin.version.clone(), pin.sha256);
        Inner { shown: PinnedFlow { name, version, sha256, pinned_by, form, problem }, known }
    }
}

impl Pins {
    /// What a flow and those below it may write, and what of it these permissions of a blessing allow.
    pub(crate) fn writes(
        &self,
        frontmatter: &Frontmatter,
        below: &[Inner],
        blessed: &[BlessedTool],
    ) -> Result<Vec<FlowWrite>, FlowError> {
        let below = below.iter().filter_map(|inner| Some((Some(&inner.shown), &inner.known.as_ref()?.0)));
        let mut writes = Vec::new();
        for (flow, frontmatter) in std::iter::once((None, frontmatter)).chain(below) {
            for one in &frontmatter.write_permissions {
                let (adapter, tool) = (one.adapter.clone(), one.tool.clone());
                let by = flow.map(|flow| flow.sha256);
                let allowed = blessed.iter().find(|known| {
                    known.adapter == adapter && known.tool == tool && known.by.as_ref().map(|by| by.sha256) == by
                });
                let blessed =
                    allowed.map(|one| Allowed { max_calls: one.max_calls, arguments: one.args_constraints.clone() });
                let installed = self.surface.read(&adapter, &[&tool])?;
                let goes_to = installed.as_ref().map(Reading::goes_to).unwrap_or_default();
                let flow = flow.map(|flow| flow.name.clone());
                let verdict = self.surface.verdict(&adapter, &tool)?;
                let raised = installed.and_then(|one| Some(!one.tool(&tool)?.raising.is_empty())).unwrap_or_default();
                writes.push(FlowWrite { adapter, tool, mode: one.mode, goes_to, verdict, raised, flow, blessed });
            }
        }
        Ok(writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(tool: &str, verdict: Verdict) -> FlowWrite {
        FlowWrite {
            adapter: "shop".parse().unwrap(),
            tool: tool.to_owned(),
            mode: WriteMode::Confirm,
            goes_to: BTreeSet::new(),
            verdict: Some(verdict),
            raised: false,
            flow: None,
            blessed: Some(Allowed { max_calls: Some(2), arguments: BTreeMap::new() }),
        }
    }

    #[test]
    fn the_bound_of_a_run_is_that_of_the_writes_that_ask() {
        let writes = [write("add", Verdict::Audit), write("delete", Verdict::Confirm)];
        let one = "shop/add to nowhere: none asks, each is recorded";
        assert_eq!(write_lines(&writes, &[]), [one, "shop/delete to nowhere: at most 2 calls in a run"]);
        let writes = [write("delete", Verdict::Confirm), write("drop", Verdict::Confirm)];
        assert_eq!(write_lines(&writes, &[])[2], "all that ask: at most 4 calls in a run");
    }
}
