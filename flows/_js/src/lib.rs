//! The script template: a component of world `rote:flow/flow` that runs the script in its payload.
//!
//! Every TypeScript flow is this component with another payload, so all of them share one compiled template. The
//! engine is made and the SDK evaluated when the file is built ([`initialize`]); the file is a snapshot of that
//! state, and a run begins with the payload. It decides nothing about policy: whatever a script wants, it asks of
//! the host.
#![expect(missing_docs, unsafe_code, reason = "what wit-bindgen generates, and exports with their names")]
mod engine;
mod natives;
mod wire;

wit_bindgen::generate!({
    path: ["../../wit/rote-base@0.2.0", "../../wit/rote-host@0.2.0", "../../wit/rote-flow@0.2.0"],
    world: "rote:flow/flow",
    generate_all,
});

use std::cell::RefCell;

use crate::engine::Engine;
use crate::rote::host::{clock, payload};

struct Template;

impl Guest for Template {
    fn describe() -> Json {
        r#"{"kind":"script","sdk":"0.1.0"}"#.to_owned()
    }

    fn run(parameters: Json) -> Result<Json, Error> {
        let script = String::from_utf8(payload::read())
            .map_err(|error| wire::internal(format!("the script is not UTF-8: {error}")))?;
        ENGINE.with_borrow(|engine| match engine {
            Some(engine) => engine.run(&script, &parameters),
            None => Err(wire::internal("the template was not initialized when it was built".to_owned())),
        })
    }
}

export!(Template);

thread_local! {
    /// The engine with the SDK, made at build time.
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

/// Makes the engine. Called once, by the snapshot tool, which removes the export.
///
/// It must not reach an import: there is no host yet.
#[unsafe(no_mangle)]
extern "C" fn initialize() {
    let engine = Engine::new();
    ENGINE.with_borrow_mut(|slot| *slot = Some(engine));
}

/// The engine's clock, in microseconds since 1970-01-01T00:00:00Z: `Date` reads it. The epoch while building.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    let running = ENGINE.with(|engine| engine.try_borrow().is_ok_and(|engine| engine.is_some()));
    if running { milliseconds(clock::now()) * 1_000.0 } else { 0.0 }
}

/// A script's numbers are doubles; milliseconds fit one exactly for the next 285,000 years.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 ms")]
fn milliseconds(value: u64) -> f64 {
    value as f64
}
