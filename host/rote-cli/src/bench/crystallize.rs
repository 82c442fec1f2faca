//! Making a flow of a workspace of many calls, and of one of few with lists, in this process: what crystallizing takes
//! beyond replaying, the changed worlds included.

use std::path::Path;
use std::time::{Duration, Instant};

use rote_app::{AppError, CrystallizeRequest, ParamSpec, ReplayRequest, Session};
use serde_json::json;

use super::Measured;
use super::governed::session;
use super::measure::{call, fresh, text};
use super::process::{rote, time};
use crate::context::Context;
use crate::demo::TrackerServer;
use crate::error::{Result, io};

/// How often a flow is made, and replayed.
const TIMES: usize = 5;
/// How often `Replayer::test` replays.
const REPLAYS: u32 = 2;
/// Issues of the long job, which has three calls for each.
const ISSUES: u64 = 33;
/// What either may take beyond a replay.
const LONG_MORE: Duration = Duration::from_millis(300);
const SHORT_MORE: Duration = Duration::from_millis(200);

/// Measures both sizes.
pub(super) fn measure(context: &Context, folder: &Path, sample: &Path) -> Result<Vec<Measured>> {
    let server = TrackerServer::start(0).map_err(|error| io("cannot serve the sample API", &error))?;
    let home = fresh(folder)?;
    let setup: [&[&str]; 3] = [
        &["adapter", "new", "tracker", "--spec", text(sample)?, "--base-url", &server.base_url(), "--yes"],
        &["token", "set", "TRACKER_TOKEN", "demo-token", "--yes"],
        &["init", "bench"],
    ];
    for arguments in setup {
        time(&mut rote(home.path(), arguments)?)?;
    }
    let [long, short, others] = ["long", "job", "short"].map(|workspace| session(home.path(), workspace));
    context.block_on(record_long(&long))??;
    context.block_on(record_short(&short, &others))??;
    let (made, replayed) = context.block_on(take(&long, "long"))??;
    let long = Measured::new("crystallize of 100 calls", made, "300 ms more than a replay")
        .against("its replay", Some(replayed))
        .at_most(replayed + LONG_MORE);
    let (made, replayed) = context.block_on(take(&short, "short"))??;
    let short =
        Measured::new("crystallize of 10 calls with lists", made, "200 ms more than a replay, changed worlds included")
            .against("its replay", Some(replayed))
            .at_most(replayed + SHORT_MORE);
    Ok(vec![long, short])
}

/// A hundred calls that all stay steps; what an answer said is typed.
async fn record_long(app: &Session) -> Result<()> {
    begin(app, "long").await?;
    for number in 1..=ISSUES {
        create(app, "long", number).await?;
        comment(app, "long", number).await?;
        call(app, "tracker", "updateIssue", json!({ "project": "long", "number": number, "priority": "urgent" }))
            .await?;
    }
    Ok(())
}

/// Ten calls: a list that others filled, something for each of it, and something for one of it.
async fn record_short(app: &Session, others: &Session) -> Result<()> {
    begin(others, "short").await?;
    for number in 1..=3 {
        create(others, "short", number).await?;
    }
    app.init("job", false)?;
    call(app, "tracker", "listIssues", json!({ "project": "short" })).await?;
    // The newest stands first.
    for number in (1..=3).rev() {
        comment(app, "short", number).await?;
    }
    let of_one = |more: &str, value: &str| json!({ "project": "short", "number": 2, more: value });
    call(app, "tracker", "updateIssue", of_one("priority", "urgent")).await?;
    call(app, "tracker", "addComment", of_one("body", "It is late")).await?;
    call(app, "tracker", "listComments", json!({ "project": "short", "number": 2 })).await?;
    call(app, "tracker", "addComment", of_one("body", "See above")).await?;
    call(app, "tracker", "updateIssue", of_one("state", "closed")).await?;
    call(app, "tracker", "getIssue", json!({ "project": "short", "number": 2 })).await
}

async fn begin(app: &Session, project: &str) -> Result<()> {
    app.init(project, false)?;
    call(app, "tracker", "createProject", json!({ "key": project, "title": "Bench" })).await
}

async fn create(app: &Session, project: &str, number: u64) -> Result<()> {
    call(app, "tracker", "createIssue", json!({ "project": project, "title": format!("Part {number}") })).await
}

async fn comment(app: &Session, project: &str, number: u64) -> Result<()> {
    call(app, "tracker", "addComment", json!({ "project": project, "number": number, "body": "Begun" })).await
}

/// The medians of making the flow and of one replay of it.
async fn take(app: &Session, name: &str) -> Result<(Duration, Duration)> {
    let (crystallizer, replayer) = (app.host().crystallizer()?, app.host().replayer()?);
    let project = ParamSpec { name: "project".to_owned(), value: Some(name.to_owned()), ..ParamSpec::default() };
    let workspace = app.workspace_name()?;
    let request = CrystallizeRequest {
        params: vec![project],
        force: true,
        ..CrystallizeRequest::new(workspace, name.parse().map_err(AppError::from)?)
    };
    let (mut made, mut replayed) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let start = Instant::now();
        let flow = crystallizer.crystallize(&request).await.map_err(AppError::from)?;
        made.push(start.elapsed());
        let recording = flow.path.with_file_name("test.rec");
        let start = Instant::now();
        replayer.test(&ReplayRequest { flow: None, recording }).await.map_err(AppError::from)?;
        replayed.push(start.elapsed() / REPLAYS);
    }
    made.sort_unstable();
    replayed.sort_unstable();
    Ok((made[TIMES / 2], replayed[TIMES / 2]))
}
