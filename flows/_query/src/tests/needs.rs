//! The one rule of `need.rs`: over a value cut down to the need, a program gives what it gives over the whole one.

use crate::evaluate::{both_ways, read_for};
use crate::need::Need;

/// A pseudo-random sequence, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Any text that jaq's reader takes, with keys that come twice and numbers in all spellings.
    fn document(&mut self, depth: usize) -> String {
        let children = if depth == 0 { 0 } else { self.below(5) };
        match self.below(if depth == 0 { 1 } else { 4 }) {
            1 => format!("[{}]", (0..children).map(|_| self.document(depth - 1)).collect::<Vec<_>>().join(" ,")),
            0 => self
                .one(&[
                    "null",
                    "true",
                    "false",
                    "0",
                    "1",
                    "-2.50",
                    "1e1000",
                    "12345678901234567890",
                    "NaN",
                    "\"a\"",
                    "\"\"",
                    "\"b\\u00e4\\n\"",
                    "{}",
                    "[]",
                ])
                .to_owned(),
            _ => {
                let keys = ["\"a\"", "\"b\"", "\"c\"", "\"\\u0061\"", "0", "\"d\""];
                let entries = (0..children).map(|_| format!("{} : {}", self.one(&keys), self.document(depth - 1)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// A program of the parts that `need.rs` knows, and of some that it does not.
    fn program(&mut self, depth: usize) -> String {
        if depth == 0 {
            let leaves =
                [".", ".a", ".b", ".[0]", ".[]", ".[]?", ".a?", "1", "\"a\"", "null", "empty", "length", "..", ".[-1]"];
            return self.one(&leaves).to_owned();
        }
        let [f, g, h] = [(); 3].map(|()| self.program(depth - 1));
        match self.below(30) {
            0..6 => format!("{f} | {g}"),
            6 => format!("{f}, {g}"),
            7 => format!("[{f}]"),
            8 => format!("{{a: {f}, \"b\": ({g})}}"),
            9 => format!("{{a, b: {f}}}"),
            10 => format!("{{({f}): {g}}}"),
            11 => format!("({f}) // ({g})"),
            12 => format!("if {f} then {g} else {h} end"),
            13 => format!("try ({f}) catch {g}"),
            14 => format!("({f})?"),
            15 => format!("({f}) == ({g})"),
            16 => format!("({f}) and ({g})"),
            17 => format!("({f}).a[1:]"),
            18 => format!(".[({f})]"),
            19 => format!("({f}) as $x | [$x, ({g})]"),
            20 => format!("map({f})"),
            21 => format!("select({f})"),
            22 => format!("{}({f})", self.one(&["first", "last", "isempty", "any", "all"])),
            23 => format!("limit(2; {f})"),
            24 => format!("{}({f})", self.one(&["sort_by", "group_by", "unique_by", "min_by", "max_by"])),
            25 => format!("({f}) | {}", self.one(&["length", "keys", "has(\"a\")", "type", "not", "first", "add"])),
            26 => format!("({f}).a |= {g}"),
            27 => format!("\"x\\({f})\""),
            28 => format!("reduce ({f}) as $x (0; . + 1)"),
            _ => format!("({f}).a.b, ({f})[0].a"),
        }
    }
}

#[test]
fn a_program_gives_the_same_over_what_it_needs_as_over_the_whole() {
    let mut random = Random(20_261_122);
    let mut cut = 0;
    for _ in 0..500 {
        let depth = 1 + random.below(3);
        let program = random.program(depth);
        let document = random.document(4);
        // Not every program that is made up parses.
        let Ok((need, [part, whole])) = both_ways(&program, &document) else { continue };
        cut += usize::from(need != Need::Whole && whole.is_ok());
        // Where both fail the words may differ; the caller is told those over the whole value.
        let same = part == whole || (part.is_err() && whole.is_err());
        assert!(same, "{program} on {document}: {part:?}, not {whole:?}");
    }
    assert!(cut > 100, "{cut}");
}

#[test]
fn plain_paths_and_usual_filters_need_little() {
    let text = "{\"items\":[{\"id\":1,\"n\":{\"x\":2,\"y\":3},\"z\":[1]},{\"id\":2}],\"next\":[1,{}]}";
    for (program, left) in [
        (".items[0].id", "{\"items\":[{\"id\":1},null]}"),
        (".items[].id", "{\"items\":[{\"id\":1},{\"id\":2}]}"),
        (".items | length", "{\"items\":[null,null]}"),
        ("[.items[] | select(.id % 2 == 0) | .n.x] | length", "{\"items\":[{\"id\":1,\"n\":{}},{\"id\":2}]}"),
        ("[.items[] | select(.id % 2 == 0) | .n.x]", "{\"items\":[{\"id\":1,\"n\":{\"x\":2}},{\"id\":2}]}"),
        (".items | map({id, x: .n.y})", "{\"items\":[{\"id\":1,\"n\":{\"y\":3}},{\"id\":2}]}"),
        (".items | sort_by(.id) | .[:1] | map(.z)", "{\"items\":[{\"id\":1,\"z\":[1]},{\"id\":2}]}"),
        ("keys", "{\"items\":null,\"next\":null}"),
        ("if .next then \"more\" else empty end", "{\"next\":[null,null]}"),
        (".next[1].a.b?", "{\"next\":[null,{}]}"),
        ("1", "{}"),
        ("def f: .items; f", text),
        ("try .items.a catch .", text),
    ] {
        assert_eq!(read_for(program, text).as_deref(), Ok(left), "{program}");
    }
}

#[test]
fn a_failure_shows_the_value_that_came_in() {
    let input = b"{\"a\":{\"b\":[1,{\"c\":2}]}}".to_vec();
    match crate::evaluate::evaluate(".a | sort_by(.c)", input, 1_000) {
        Err(crate::evaluate::Failure::Runtime(message)) => {
            assert!(message.contains("{\"b\":[1,{\"c\":2}]}"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}
