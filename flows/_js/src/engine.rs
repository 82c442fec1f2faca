//! QuickJS with the SDK evaluated, and the loop that drives a script.
//!
//! A script is synchronous code and jobs (continuations after `await`). The loop runs all jobs there are, asks the
//! SDK whether the script is done, and if not, lets it wait for one call. So calls that a script started together
//! are in flight together, and a script that waits for nothing ends with an error instead of hanging.

use rquickjs::context::EvalOptions;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Object, Persistent, Runtime, Value};

use crate::natives;
use crate::rote::base::types::Error;
use crate::wire;
use crate::wire::internal;

/// The SDK and the driver, bundled by `cargo xtask guests`.
const SDK: &str = include_str!(env!("ROTE_JS_SDK"));

/// Most stack of a script, in bytes of linear memory; beyond it the engine throws `RangeError`. The host gives a
/// guest 1 MiB of native stack, which the engine cannot see. Fifteen kinds of recursion between functions all ended
/// in an exception at 256 KiB; at 384 KiB one of them used up the native stack first: a trap (`README.md`).
const STACK_BYTES: usize = 256 << 10;

/// The engine, ready to run one script.
pub(crate) struct Engine {
    context: Context,
    driver: Driver,
    /// Never used again, and kept for as long as the context.
    _runtime: Runtime,
}

/// The functions of the SDK's driver, `guest-sdk/ts/src/template.ts`.
struct Driver {
    /// `(exports, parameters) => void`: calls the script.
    start: Persistent<Function<'static>>,
    /// `(thrown) => void`: ends a script that did not even load.
    fail: Persistent<Function<'static>>,
    /// `() => string | undefined`: the script's outcome, once there is one.
    outcome: Persistent<Function<'static>>,
    /// `() => void`: waits for one call and settles it.
    step: Persistent<Function<'static>>,
}

impl Engine {
    /// Makes the engine and evaluates the SDK. Runs at build time, where a panic fails the build.
    pub(crate) fn new() -> Self {
        let runtime = Runtime::new().expect("memory for a runtime");
        runtime.set_max_stack_size(STACK_BYTES);
        let context = Context::full(&runtime).expect("memory for a context");
        let (driver, note) = context.with(|ctx| Driver::new(&ctx).catch(&ctx).expect("the SDK evaluates"));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
            // Only a note for the log: what goes wrong here must not touch the script.
            let noted = note.clone().restore(&ctx).and_then(|note| note.call::<_, ()>((promise, reason, handled)));
            if noted.is_err() {
                ctx.catch();
            }
        })));
        runtime.run_gc();
        Self { context, driver, _runtime: runtime }
    }

    /// Runs a script to its end.
    pub(crate) fn run(&self, script: &str, parameters: &str) -> Result<String, Error> {
        self.context.with(|ctx| {
            let outcome = self.driver.enter(&ctx).and_then(|driver| driver.run(&ctx, script, parameters));
            let outcome = outcome.map_err(|error| internal(format!("the engine failed: {error}")))?;
            wire::script_outcome(&outcome)
        })
    }
}

impl Driver {
    /// Evaluates the SDK. Returns its driver, and its function that notes rejected promises.
    fn new(ctx: &Ctx<'_>) -> rquickjs::Result<(Self, Persistent<Function<'static>>)> {
        let make: Function<'_> = evaluate(ctx, "rote:sdk", SDK)?;
        let driver: Object<'_> = make.call((natives::object(ctx)?,))?;
        let function = |name: &str| driver.get(name).map(|function: Function<'_>| Persistent::save(ctx, function));
        let (start, fail) = (function("start")?, function("fail")?);
        Ok((Self { start, fail, outcome: function("outcome")?, step: function("step")? }, function("rejected")?))
    }

    fn enter<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Entered<'js>> {
        Ok(Entered {
            start: self.start.clone().restore(ctx)?,
            fail: self.fail.clone().restore(ctx)?,
            outcome: self.outcome.clone().restore(ctx)?,
            step: self.step.clone().restore(ctx)?,
        })
    }
}

/// A driver's functions in an entered context.
struct Entered<'js> {
    start: Function<'js>,
    fail: Function<'js>,
    outcome: Function<'js>,
    step: Function<'js>,
}

impl<'js> Entered<'js> {
    fn run(&self, ctx: &Ctx<'js>, script: &str, parameters: &str) -> rquickjs::Result<String> {
        match evaluate::<Value<'js>>(ctx, "rote:flow", script) {
            Ok(exports) => self.start.call::<_, ()>((exports, parameters))?,
            Err(rquickjs::Error::Exception) => self.fail.call::<_, ()>((ctx.catch(),))?,
            Err(error) => return Err(error),
        }
        loop {
            while ctx.execute_pending_job() {}
            if let Some(outcome) = self.outcome.call(())? {
                return Ok(outcome);
            }
            self.step.call::<_, ()>(())?;
        }
    }
}

/// Evaluates a script and returns the value of its last expression.
fn evaluate<'js, T: rquickjs::FromJs<'js>>(ctx: &Ctx<'js>, name: &str, source: &str) -> rquickjs::Result<T> {
    let mut options = EvalOptions::default();
    options.filename = Some(name.to_owned());
    ctx.eval_with_options(source, options)
}
