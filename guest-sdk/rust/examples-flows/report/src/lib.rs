//! Reports on a repository: its stars, and the titles of its open bugs.

use rote_sdk::{Result, Rote};
use serde::{Deserialize, Serialize};

/// What a run takes; `flow.yaml` has its schema. Both tools take the same.
#[derive(Serialize, Deserialize)]
struct Params {
    owner: String,
    repo: String,
}

/// What a run returns.
#[derive(Debug, PartialEq, Serialize)]
struct Report {
    stars: u64,
    open_bugs: Vec<String>,
}

#[rote_sdk::flow]
fn report(cx: &Rote, params: Params) -> Result<Report> {
    let github = cx.adapter("github");

    // Both at once.
    let (about, issues) = (github.call_bg("repos/get", &params)?, github.call_bg("issues/list", &params)?);
    let (stars, open_bugs) = cx.tasks().run("read the repository", || {
        let stars = about.wait()?.query(".stargazers_count")?;
        let open_bugs = match issues.wait() {
            Ok(issues) => cx.query(&issues).filter(".state == \"open\"").map(".title").execute()?,
            // A repository without issues answers 410 and says why.
            Err(error) => match error.response() {
                Some(answer) if answer.status() == 410 => {
                    cx.log().warn(answer.query::<String>(".message")?);
                    Vec::new()
                }
                _ => return Err(error),
            },
        };
        Ok((stars, open_bugs))
    })?;
    let Params { owner, repo } = params;
    cx.output().summary(format!("{owner}/{repo}: {stars} stars, {} open bugs", open_bugs.len()));
    Ok(Report { stars, open_bugs })
}

#[cfg(test)]
mod tests {
    use rote_sdk::testing::FakeHost;
    use rote_sdk::{Cause, Error, json};

    use super::*;

    fn params() -> Params {
        Params { owner: "octocat".to_owned(), repo: "hello".to_owned() }
    }

    #[test]
    fn it_counts_open_bugs_only() {
        let host = FakeHost::new();
        host.on("github", "repos/get").json(json!({ "stargazers_count": 80 }));
        host.on("github", "issues/list").json(json!([
            { "title": "crash", "state": "open" },
            { "title": "typo", "state": "closed" },
        ]));
        let report = report(&host.rote(), params());
        assert_eq!(report, Ok(Report { stars: 80, open_bugs: vec!["crash".to_owned()] }));
        assert_eq!(host.summary(), ["octocat/hello: 80 stars, 1 open bugs"]);
        assert_eq!(host.calls()[1].arguments, json!({ "owner": "octocat", "repo": "hello" }));
    }

    #[test]
    fn a_repository_without_issues_has_no_bugs() {
        let host = FakeHost::new();
        host.on("github", "repos/get").json(json!({ "stargazers_count": 80 }));
        host.on("github", "issues/list").status(410, json!({ "message": "Issues are disabled" }));
        assert!(report(&host.rote(), params()).unwrap().open_bugs.is_empty());
        assert_eq!(host.log(), [("warn".to_owned(), "Issues are disabled".to_owned())]);
    }

    #[test]
    fn a_refusal_is_passed_on() {
        let host = FakeHost::new();
        let refusal = Error::from(Cause::Auth("no token for `github`".to_owned()));
        host.on("github", "repos/get").fail(refusal.clone());
        host.on("github", "issues/list").fail(refusal.clone());
        assert_eq!(report(&host.rote(), params()), Err(refusal));
        assert_eq!(host.steps().last().unwrap().1, "failed");
    }
}
