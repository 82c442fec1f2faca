//! What jq's grammar has and jaq's has not, turned into what both have, before the program is parsed.
//!
//! `?//` between patterns, `reduce` and `foreach` over any term, `{$name: pattern}`, `$__loc__` and numbers that begin
//! with a point. The tokens are changed, not the text, so that a mistake is still found where it stands.

use jaq_core::load::lex::{StrPart, Tok, Token};
use jaq_core::load::parse::{TError, Term};
use jaq_core::load::{Lexer, Parser};

use crate::message;

/// Most tokens that a program may become. Each alternative of `?//` repeats the rest of its program.
const MAX_TOKENS: usize = 1 << 16;

type Piece = Token<&'static str>;

/// Parses `program`; says what is wrong with it.
pub(crate) fn parse(program: &'static str) -> Result<Term<&'static str>, String> {
    let tokens = Lexer::new(program).lex().map_err(|errors| message::lexed(program, &errors))?;
    let mut rewriter = Rewriter { program, left: MAX_TOKENS };
    let tokens = rewriter.level(tokens, false);
    if rewriter.left == 0 {
        return Err("its alternatives (`?//`) repeat too much".to_owned());
    }
    let found = |(expect, token): TError<'_, &'static str>| (expect, Token::opt_as_str(token, program));
    Parser::new(&tokens).parse(|parser| parser.term()).map_err(|errors| {
        let errors: Vec<_> = errors.into_iter().map(found).collect();
        message::parsed(program, &errors)
    })
}

struct Rewriter {
    program: &'static str,
    left: usize,
}

impl Rewriter {
    /// Rewrites one level of brackets; `object` when it is that of an object.
    fn level(&mut self, tokens: Vec<Piece>, object: bool) -> Vec<Piece> {
        self.left = self.left.saturating_sub(tokens.len());
        if self.left == 0 {
            return tokens;
        }
        let tokens = tokens.into_iter().map(|token| self.inner(token)).collect();
        let tokens = self.locations(points(tokens), object);
        self.alternatives(patterns(folds(tokens)))
    }

    fn inner(&mut self, Token(text, kind): Piece) -> Piece {
        let kind = match kind {
            Tok::Block(tokens) => Tok::Block(self.level(tokens, text.starts_with('{'))),
            Tok::Str(parts) => Tok::Str(parts.into_iter().map(|part| self.part(part)).collect()),
            kind => kind,
        };
        Token(text, kind)
    }

    fn part(&mut self, part: StrPart<&'static str, Piece>) -> StrPart<&'static str, Piece> {
        match part {
            StrPart::Term(term) => StrPart::Term(self.inner(term)),
            part => part,
        }
    }

    /// `$__loc__` is where it stands.
    fn locations(&self, tokens: Vec<Piece>, object: bool) -> Vec<Piece> {
        let mut out: Vec<Piece> = Vec::new();
        for token in tokens {
            if token.0 != "$__loc__" {
                out.push(token);
                continue;
            }
            let start = (token.0.as_ptr() as usize).checked_sub(self.program.as_ptr() as usize);
            let before = start.and_then(|start| self.program.get(..start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            if object && out.last().is_none_or(|last| last.0 == ",") {
                out.extend(lexed("__loc__:"));
            }
            out.extend(lexed(format!("{{\"file\":\"<top-level>\",\"line\":{line}}}").leak()));
        }
        out
    }

    /// `T as A ?// B | body` tries the body with each pattern; variables of other patterns are null.
    fn alternatives(&mut self, mut tokens: Vec<Piece>) -> Vec<Piece> {
        let starts = |window: &[Piece]| window[0].0 == "as" && window[2].0 == "?" && window[3].0 == "//";
        let Some(start) = tokens.windows(4).position(starts) else { return tokens };
        let (mut patterns, mut next) = (vec![start + 1], start + 2);
        while tokens.get(next).is_some_and(|token| token.0 == "?")
            && tokens.get(next + 1).is_some_and(|token| token.0 == "//")
        {
            patterns.push(next + 2);
            next += 3;
        }
        if tokens.get(next).is_none_or(|token| token.0 != "|") {
            return tokens;
        }
        let end = next + 1 + scope(&tokens[next + 1..]);
        let rest = tokens.split_off(end);
        let body = self.alternatives(tokens.split_off(next + 1));
        let repeated = patterns.len().saturating_mul(body.iter().map(size).sum());
        self.left = self.left.saturating_sub(repeated);
        if self.left == 0 {
            return tokens;
        }
        let patterns: Vec<&Piece> = patterns.iter().filter_map(|place| tokens.get(*place)).collect();
        let mut out = lexed("as $__one | . as $__here |");
        for name in patterns.iter().flat_map(|pattern| names(pattern)) {
            out.extend(lexed(format!("null as {name} |").leak()));
        }
        out.push(group(tries(&patterns, &body)));
        tokens.truncate(start);
        tokens.into_iter().chain(out).chain(self.alternatives(rest)).collect()
    }
}

/// How many tokens there are in a token.
fn size(token: &Piece) -> usize {
    1 + match &token.1 {
        Tok::Block(tokens) => tokens.iter().map(size).sum(),
        Tok::Str(parts) => {
            let inner = |part: &StrPart<_, _>| if let StrPart::Term(term) = part { size(term) } else { 1 };
            parts.iter().map(inner).sum()
        }
        _ => 0,
    }
}

fn tries(patterns: &[&Piece], body: &[Piece]) -> Vec<Piece> {
    let Some((pattern, others)) = patterns.split_first() else { return Vec::new() };
    let mut one = lexed("$__one as");
    one.push(copy(pattern));
    one.extend(lexed("|"));
    one.extend(body.iter().map(copy));
    if others.is_empty() {
        return one;
    }
    let mut other = lexed("$__here |");
    other.push(group(tries(others, body)));
    let mut out = lexed("try");
    out.push(group(one));
    out.extend(lexed("catch"));
    out.push(group(other));
    out
}

/// How many of `tokens` belong to what began before them.
fn scope(tokens: &[Piece]) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate() {
        match token.0 {
            ";" | ")" | "]" | "}" => return place,
            "if" => depth += 1,
            "then" | "elif" | "else" | "end" if depth == 0 => return place,
            "end" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The variables that a pattern binds. Keys in parentheses only read some.
fn names(pattern: &Piece) -> Vec<&'static str> {
    match &pattern.1 {
        Tok::Var => vec![pattern.0],
        Tok::Block(tokens) if !pattern.0.starts_with('(') => tokens.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// `.5` is `0.5`.
fn points(tokens: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for token in tokens {
        let point =
            out.last().is_some_and(|last| last.0 == "." && last.0.as_bytes().as_ptr_range().end == token.0.as_ptr());
        if point && matches!(token.1, Tok::Num) && !token.0.contains('.') {
            out.pop();
            out.push(Token(format!("0.{}", token.0).leak(), Tok::Num));
        } else {
            out.push(token);
        }
    }
    out
}

/// What `reduce` and `foreach` go over is put in parentheses, where it is more than one term.
fn folds(tokens: Vec<Piece>) -> Vec<Piece> {
    const OPERATORS: [&str; 17] =
        ["+", "-", "*", "/", "%", ",", "|", "//", "==", "!=", "<", ">", "<=", ">=", "and", "or", "="];
    let mut open: Vec<usize> = Vec::new();
    let mut out: Vec<Piece> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        // Before a colon it is the key of an object.
        let is_key = tokens.peek().is_some_and(|next| next.0 == ":");
        match token.0 {
            "reduce" | "foreach" if matches!(token.1, Tok::Word) && !is_key => open.push(out.len()),
            "as" => {
                if let Some(start) = open.pop()
                    && out[start + 1..].iter().any(|token| OPERATORS.contains(&token.0))
                {
                    let over = out.split_off(start + 1);
                    out.push(group(over));
                }
            }
            _ => {}
        }
        out.push(token);
    }
    out
}

/// `{$name: pattern}` binds both.
fn patterns(tokens: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for token in tokens {
        let expected = match out.last() {
            Some(last) if last.0 == "as" => true,
            Some(last) if last.0 == "//" => out.len() > 1 && out[out.len() - 2].0 == "?",
            _ => false,
        };
        out.push(if expected { pattern(token) } else { token });
    }
    out
}

fn pattern(token: Piece) -> Piece {
    let (text, tokens) = match token {
        Token(text, Tok::Block(tokens)) => (text, tokens),
        token => return token,
    };
    let object = text.starts_with('{');
    let mut out: Vec<Piece> = Vec::new();
    for token in tokens {
        let name = out.last().filter(|last| object && token.0 == ":" && matches!(last.1, Tok::Var)).map(|last| last.0);
        if let Some(name) = name {
            out.push(Token(",", Tok::Sym));
            out.push(Token(&name[1..], Tok::Word));
        }
        let inner = !object || out.last().is_some_and(|last| last.0 == ":");
        out.push(if inner { pattern(token) } else { token });
    }
    Token(text, Tok::Block(out))
}

fn lexed(text: &'static str) -> Vec<Piece> {
    Lexer::new(text).lex().unwrap_or_default()
}

fn group(mut tokens: Vec<Piece>) -> Piece {
    tokens.push(Token(")", Tok::Sym));
    Token("(", Tok::Block(tokens))
}

fn copy(token: &Piece) -> Piece {
    let kind = match &token.1 {
        Tok::Word => Tok::Word,
        Tok::Var => Tok::Var,
        Tok::Fmt => Tok::Fmt,
        Tok::Num => Tok::Num,
        Tok::Sym => Tok::Sym,
        Tok::Block(tokens) => Tok::Block(tokens.iter().map(copy).collect()),
        Tok::Str(parts) => Tok::Str(
            parts
                .iter()
                .map(|part| match part {
                    StrPart::Str(text) => StrPart::Str(*text),
                    StrPart::Char(char) => StrPart::Char(*char),
                    StrPart::Term(term) => StrPart::Term(copy(term)),
                })
                .collect(),
        ),
    };
    Token(token.0, kind)
}
