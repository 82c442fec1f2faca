//! Greets someone.

use rote_sdk::{Result, Rote, ensure};
use serde::{Deserialize, Serialize};

/// What a run takes; `flow.yaml` has its schema.
#[derive(Deserialize)]
struct Params {
    name: String,
}

/// What a run returns.
#[derive(Serialize)]
struct Greeting {
    text: String,
}

#[rote_sdk::flow]
fn main(cx: &Rote, params: Params) -> Result<Greeting> {
    ensure!(!params.name.is_empty(), "`name` is empty");
    let text = format!("Hello, {}!", params.name);
    cx.output().human(&text);
    Ok(Greeting { text })
}

#[cfg(test)]
mod tests {
    use rote_sdk::testing::FakeHost;
    use rote_sdk::{Error, json};

    use super::main;

    #[test]
    fn it_greets() {
        let host = FakeHost::new();
        let result = host.run(main, json!({ "name": "Ada" }));
        assert_eq!(result, Ok(json!({ "text": "Hello, Ada!" })));
        assert_eq!(host.human(), ["Hello, Ada!"]);
    }

    #[test]
    fn an_empty_name_is_refused() {
        let result = FakeHost::new().run(main, json!({ "name": "" }));
        assert_eq!(result, Err(Error::msg("`name` is empty")));
    }
}
