//! The HTML names of printable ASCII characters, which is what tokens are made of.

/// Names and characters (HTML Living Standard, §13.5).
const NAMES: [(&str, char); 46] = [
    ("AMP", '&'),
    ("GT", '>'),
    ("Hat", '^'),
    ("LT", '<'),
    ("NewLine", '\n'),
    ("QUOT", '"'),
    ("Tab", '\t'),
    ("UnderBar", '_'),
    ("VerticalLine", '|'),
    ("amp", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("bsol", '\\'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("dollar", '$'),
    ("equals", '='),
    ("excl", '!'),
    ("grave", '`'),
    ("gt", '>'),
    ("lbrace", '{'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lsqb", '['),
    ("lt", '<'),
    ("midast", '*'),
    ("nbsp", ' '),
    ("num", '#'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("quest", '?'),
    ("quot", '"'),
    ("rbrace", '}'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("semi", ';'),
    ("sol", '/'),
    ("tilde", '~'),
    ("verbar", '|'),
    ("vert", '|'),
];

/// Returns the character of a name.
pub(super) fn named(name: &str) -> Option<char> {
    NAMES.binary_search_by_key(&name, |(known, _)| known).ok().map(|index| NAMES[index].1)
}

/// Returns the length and the character of a name that is read without a semicolon too (HTML Living Standard, §13.2.5.73).
pub(super) fn unended(rest: &[u8]) -> Option<(usize, char)> {
    let names = ["amp", "AMP", "lt", "LT", "gt", "GT", "quot", "QUOT"];
    let name = names.into_iter().find(|name| rest.starts_with(name.as_bytes()))?;
    Some((name.len(), named(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(NAMES.is_sorted());
        assert_eq!((named("plus"), named("sol"), named("nothing")), (Some('+'), Some('/'), None));
    }
}
