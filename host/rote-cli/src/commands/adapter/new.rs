//! `rote adapter new`.

use clap::Args;
use rote_app::{AdapterNew, AuthKind, InstallReport};
use rote_types::{AdapterId, command};

use crate::context::Context;
use crate::error::{Result, usage};
use crate::render::adapter::{auth_line, base_url, destinations};
use crate::render::table::facts;
use crate::render::units::{clip, plural, size};
use crate::ui::Report;

/// Most lines of one list of findings.
const MAX_FINDINGS: usize = 10;
/// Most characters of a finding.
const MAX_LINE: usize = 300;

/// Make an adapter from an OpenAPI 3.0 or 3.1 or Swagger 2.0 description
#[derive(Debug, Args)]
pub struct New {
    /// The name that it gets here
    id: String,
    /// The description: a file, a directory or a URL
    #[arg(value_name = "SPEC", conflicts_with = "spec")]
    source: Option<String>,
    /// The description, as a flag
    #[arg(long, value_name = "SPEC")]
    spec: Option<String>,
    /// Where requests go, instead of the description's own server; typing a loopback or private address here
    /// allows it
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Where operations go that have a server of their own: to another URL, or there (`keep`). With --base-url they
    /// are refused until this is said of each; several times for several hosts
    #[arg(long, value_name = "HOST=URL|keep")]
    server: Vec<String>,
    #[command(flatten)]
    credential: Credential,
    /// A display name instead of the description's own
    #[arg(long)]
    name: Option<String>,
    /// Read and count, install nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace an adapter of the same name
    #[arg(short, long)]
    yes: bool,
    /// Refuse (exit 10) when an operation had to be skipped
    #[arg(long)]
    strict: bool,
}

/// For an API whose description does not say how to authenticate, or says it wrongly. ENV names the entry of the
/// vault, or the environment variable, that holds the value; it may go to where the requests go, and nowhere else.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Credential {
    /// Send this credential as bearer token with every call, whatever the description says
    #[arg(long, value_name = "ENV")]
    bearer_token: Option<String>,
    /// Send it in a header of this name
    #[arg(long, value_name = "HEADER=ENV")]
    api_key_header: Option<String>,
    /// Send it in a query parameter of this name
    #[arg(long, value_name = "NAME=ENV")]
    api_key_query: Option<String>,
    /// Send it as basic authentication; the value is `user:password`
    #[arg(long, value_name = "ENV")]
    basic: Option<String>,
}

impl Credential {
    fn read(self) -> Result<Option<(AuthKind, String)>> {
        let pair = |word: String, flag: &str| match word.split_once('=') {
            Some((name, env)) if !name.is_empty() => Ok((name.to_owned(), env.to_owned())),
            _ => Err(usage(format!("`{word}` is not of the form NAME=ENV"), format!("{flag} X-Api-Key=MY_API_KEY"))),
        };
        Ok(match (self.bearer_token, self.api_key_header, self.api_key_query, self.basic) {
            (Some(env), ..) => Some((AuthKind::Bearer, env)),
            (_, Some(word), ..) => {
                let (name, env) = pair(word, "--api-key-header")?;
                Some((AuthKind::ApiKeyHeader { name }, env))
            }
            (_, _, Some(word), _) => {
                let (name, env) = pair(word, "--api-key-query")?;
                Some((AuthKind::ApiKeyQuery { name }, env))
            }
            (.., Some(env)) => Some((AuthKind::Basic, env)),
            _ => None,
        })
    }
}

impl New {
    pub(super) fn run(self, context: &Context) -> Result<Report> {
        let spec = self.source.or(self.spec);
        let spec = spec.ok_or_else(|| {
            usage("no API description was named", command("rote adapter new").argument(&self.id).plain("openapi.yaml"))
        })?;
        let wish = AdapterNew {
            id: self.id,
            spec,
            base_url: self.base_url,
            servers: self.server,
            credential: self.credential.read()?,
            name: self.name,
            dry_run: self.dry_run,
            replace: self.yes,
            strict: self.strict,
        };
        let made = context.block_on(context.app()?.adapter_new(wish))??;
        let report = Report::new(&made, text(&made));
        Ok(made.next.iter().fold(report, |report, command| report.next(command.clone())))
    }
}

fn text(made: &InstallReport) -> String {
    let (adapter, operations) = (&made.adapter, made.operations);
    let verb = if made.dry_run { "would install" } else { "installed" };
    let counts = format!(
        "{} of {} generated, {} repaired, {} skipped",
        operations.generated, operations.total, operations.repaired, operations.skipped
    );
    let digest = made.component.sha256.to_string();
    let hosts = destinations(&made.destinations);
    let mut rows = vec![
        ("operations", counts),
        ("fingerprint", adapter.fingerprint.to_string()),
        ("component", format!("{} · {}…", size(made.component.bytes), &digest[..digest.len().min(19)])),
        ("base url", base_url(adapter.base_url.as_deref())),
    ];
    rows.extend(hosts.into_iter().map(|host| ("goes to", host)));
    let bound: Vec<&str> = made.bound.iter().map(String::as_str).collect();
    rows.extend([
        ("credential", auth_line(&made.auth)),
        ("bound to", bound.join(", ")),
        ("allowed", made.granted.join(", ")),
    ]);
    let title = format!("{verb} {}: {} {} ({})", adapter.id, adapter.name, adapter.version, adapter.spec_type.as_str());
    let mut lines = vec![title, facts(&rows)];
    if made.policies_set_aside {
        lines.push("  set aside: policies of another API, now in config/policies.replaced.json".to_owned());
    }
    let skipped = made.skipped.iter().map(|one| format!("{}: {} ({})", one.name, one.reason, one.pointer));
    lines.extend(findings("skipped", &skipped.collect::<Vec<_>>()));
    let repaired = made.repaired.iter().map(|one| format!("{}: {}", one.tool, one.notes.join("; ")));
    lines.extend(findings("repaired", &repaired.collect::<Vec<_>>()));
    let noticed = made.diagnostics.iter().map(|one| format!("{} ({})", one.message, one.pointer));
    lines.extend(findings("noticed", &noticed.collect::<Vec<_>>()));
    lines.extend(safe_list(&adapter.id, &made.suggested_safe_list));
    lines.join("\n")
}

/// The line of a policy that a person may add; nothing adds it.
fn safe_list(id: &AdapterId, tools: &[String]) -> Vec<String> {
    if tools.is_empty() {
        return Vec::new();
    }
    // Names of tools hold nothing that JSON would escape.
    let named: Vec<String> = tools.iter().take(MAX_FINDINGS).map(|tool| format!("\"{tool}\"")).collect();
    let rest = match tools.len() - named.len() {
        0 => String::new(),
        more => format!(" (and {more} more: --json lists all)"),
    };
    vec![
        format!("  harmless: {} asks each time because it is a PUT; not to be asked, put", plural(tools.len(), "tool")),
        format!("    \"safe_list\": [{}]{rest}", named.join(", ")),
        format!("    into adapters/{id}/config/policies.json"),
    ]
}

fn findings(label: &str, all: &[String]) -> Vec<String> {
    let mut lines: Vec<String> =
        all.iter().take(MAX_FINDINGS).map(|text| format!("  {label}: {}", clip(text, MAX_LINE))).collect();
    if all.len() > MAX_FINDINGS {
        lines.push(format!("  {label}: {} more; --json lists all", plural(all.len() - MAX_FINDINGS, "operation")));
    }
    lines
}
