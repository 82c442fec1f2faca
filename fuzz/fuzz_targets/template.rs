//! Foreign text as an argument with references and as a query: a reference means alone what it means in the text, and
//! what the short forms of a query were written out to is not written out again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rote_workspace::{Piece, desugar, has_template, meant_reference, parse_template};
use serde_json::json;

fuzz_target!(|text: &str| {
    let pieces = parse_template(text);
    for piece in &pieces {
        if let Piece::Reference { written, .. } = piece {
            assert!(text.contains(written.as_str()), "`{written}` is in the text");
            assert_eq!(parse_template(written), std::slice::from_ref(piece));
        }
    }
    let value = json!({ "text": [text] });
    assert_eq!(has_template(&value), pieces.iter().any(|piece| !matches!(piece, Piece::Text(_))));
    assert!(meant_reference(&value).is_none_or(|meant| text.contains(&meant)));
    let program = desugar(text);
    assert_eq!(desugar(&program), program);
});
