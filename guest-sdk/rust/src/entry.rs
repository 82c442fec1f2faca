//! From the exports of a component to the author's function: parameters in, result out.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Cause, Result, Rote, json};

/// What a flow says of itself (`describe` of the world `rote:flow/flow`).
#[cfg(target_family = "wasm")]
pub(crate) const DESCRIPTION: &str = concat!(r#"{"kind":"rust","sdk":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// A function that can be a flow. `Signature` only tells the two forms apart for the compiler.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a flow",
    label = "expected `fn(&Rote) -> rote_sdk::Result<_>` or `fn(&Rote, Params) -> rote_sdk::Result<_>`",
    note = "`Params` must implement `serde::Deserialize`, the result `serde::Serialize`"
)]
pub trait Entry<Signature> {
    /// Runs with `parameters`, a JSON text; returns the result as a JSON text.
    ///
    /// # Errors
    /// [`Cause::InvalidInput`](crate::Cause::InvalidInput) when the parameters do not fit, else what the function returns.
    fn enter(&self, rote: &Rote, parameters: &str) -> Result<String>;
}

impl<Function, Output> Entry<()> for Function
where
    Function: Fn(&Rote) -> Result<Output>,
    Output: Serialize,
{
    fn enter(&self, rote: &Rote, _parameters: &str) -> Result<String> {
        Ok(serde_json::to_string(&self(rote)?)?)
    }
}

impl<Function, Params, Output> Entry<(Params,)> for Function
where
    Function: Fn(&Rote, Params) -> Result<Output>,
    Params: DeserializeOwned,
    Output: Serialize,
{
    fn enter(&self, rote: &Rote, parameters: &str) -> Result<String> {
        let parameters = json::read(parameters).map_err(|problem| Cause::InvalidInput(vec![problem]))?;
        Ok(serde_json::to_string(&self(rote, parameters)?)?)
    }
}

/// The type that [`flow`](crate::flow) makes; its exports are the component's.
pub trait Component {
    /// Calls the author's function.
    ///
    /// # Errors
    /// See [`Entry::enter`].
    fn run(rote: &Rote, parameters: &str) -> Result<String>;
}

/// Makes the component's exports of a function; what [`flow`](crate::flow) expands to.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_flow {
    ($flow:ident) => {
        const _: () = {
            struct Exported;
            impl $crate::__private::Component for Exported {
                fn run(rote: &$crate::Rote, parameters: &str) -> $crate::Result<::std::string::String> {
                    $crate::__private::Entry::enter(&$flow, rote, parameters)
                }
            }
            $crate::__export_component!(Exported);
        };
    };
}

/// Natively there is nothing to export; the mention keeps the function from counting as unused.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_component {
    ($exported:ident) => {
        const _: fn(&$crate::Rote, &str) -> $crate::Result<::std::string::String> =
            <$exported as $crate::__private::Component>::run;
    };
}
