//! The attribute `#[rote_sdk::flow]`.
//!
//! It reads no more of the function than its name, so that the crate needs no parser of Rust and the compiler's own
//! messages point into the author's code. What it adds is `rote_sdk::__export_flow!(name)`.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Makes a function the flow: what a run of the component calls.
///
/// The function takes `&Rote` and, if it has parameters, one value that implements `serde::Deserialize`; it returns
/// `rote_sdk::Result` of a value that implements `serde::Serialize`. A crate has one flow.
#[proc_macro_attribute]
pub fn flow(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(token) = arguments.into_iter().next() {
        return refuse(token.span(), "`#[rote_sdk::flow]` takes no arguments");
    }
    match function_name(item.clone()) {
        Ok(name) => item.into_iter().chain(export(name)).collect(),
        Err(span) => refuse(span, "`#[rote_sdk::flow]` stands before a function that is neither async nor a method"),
    }
}

/// Returns the name of the function that `item` is, or where to report that it is none.
fn function_name(item: TokenStream) -> Result<Ident, Span> {
    let mut last = Span::call_site();
    let mut tokens = item.into_iter();
    while let Some(token) = tokens.next() {
        last = token.span();
        let TokenTree::Ident(word) = token else { continue };
        match word.to_string().as_str() {
            "fn" => {
                return match tokens.next() {
                    Some(TokenTree::Ident(name)) => Ok(name),
                    _ => Err(last),
                };
            }
            "pub" | "crate" => {}
            _ => return Err(last),
        }
    }
    Err(last)
}

/// `::rote_sdk::__export_flow!(name);`
fn export(name: Ident) -> impl Iterator<Item = TokenTree> {
    let word = |text: &str| TokenTree::Ident(Ident::new(text, Span::call_site()));
    let call = invocation(word("__export_flow"), TokenTree::Ident(name).into());
    path_start().into_iter().chain([word("rote_sdk")]).chain(path_start()).chain(call)
}

fn refuse(span: Span, message: &str) -> TokenStream {
    let text = TokenTree::Literal(proc_macro::Literal::string(message));
    let name = TokenTree::Ident(Ident::new("compile_error", span));
    invocation(name, text.into())
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

fn path_start() -> [TokenTree; 2] {
    [Punct::new(':', Spacing::Joint).into(), Punct::new(':', Spacing::Alone).into()]
}

/// `name!(arguments);`
fn invocation(name: TokenTree, arguments: TokenStream) -> [TokenTree; 4] {
    [
        name,
        Punct::new('!', Spacing::Alone).into(),
        Group::new(Delimiter::Parenthesis, arguments).into(),
        Punct::new(';', Spacing::Alone).into(),
    ]
}
