//! Splits a source into pieces without parsing it: words, literals, comments, brackets, marks.
//!
//! Two users: the nesting check, which must never see fewer brackets or words than the parser does, and the search for
//! the frontmatter comment, which must not look into strings. The only thing that needs the grammar is whether a `/`
//! starts a regular expression. Where the pieces before it do not tell, and the two readings would differ in their
//! brackets or quotes, the scanner stops with [`AmbiguousSlash`] rather than guess: a wrong guess could hide the rest
//! of a file from the nesting check.

use crate::place::is_line_end;

/// A piece of the source: its kind and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// A value stands before the piece and a line ended between them: where a statement may end without a `;`.
    pub(crate) after_line: bool,
}

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comment,
    /// An identifier, a keyword or a private name.
    Word,
    /// A number, a string, a regular expression or a stretch of a template.
    Literal,
    /// `(`, `[`, `{`, or the `${` of a template.
    Open,
    Close,
    /// One byte of punctuation.
    Mark(u8),
}

/// A `/` that may be a division or the start of a regular expression, at this offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AmbiguousSlash(pub(crate) usize);

/// What stands before a piece, as far as it decides what a `/` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value: `/` divides.
    Operand,
    /// Anything that a value follows: `/` starts a regular expression.
    Operator,
    /// Either: the end of a block or of an object, of a comparison or of type arguments.
    Unknown,
}

/// An open bracket.
struct Bracket {
    byte: u8,
    /// Opened by `${`: its `}` continues the template.
    template: bool,
    /// What the bracket's end is to a following `/`.
    after: Before,
}

/// The iterator over the pieces.
pub(crate) struct Scanner<'s> {
    source: &'s str,
    at: usize,
    before: Before,
    /// The last word, unless another piece or a `.` before it came between.
    word: &'s str,
    after_dot: bool,
    /// A line ended since the last piece that is not a comment.
    line_ended: bool,
    brackets: Vec<Bracket>,
}

impl<'s> Scanner<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        let at = if source.starts_with('\u{feff}') { 3 } else { 0 };
        let (before, word, brackets) = (Before::Operator, "", Vec::new());
        Self { source, at, before, word, after_dot: false, line_ended: true, brackets }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        let space = rest.find(|c: char| !is_space(c)).unwrap_or(rest.len());
        self.line_ended |= rest[..space].contains(is_line_end);
        self.at += space;
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, AmbiguousSlash> {
        self.skip_space();
        let start = self.at;
        let Some(first) = self.peek(0) else { return Ok(None) };
        let after_line = self.line_ended && self.before == Before::Operand;
        let kind = match first {
            b'#' if start == 0 && self.peek(1) == Some(b'!') => self.line_comment(),
            b'/' if self.peek(1) == Some(b'/') => self.line_comment(),
            b'/' if self.peek(1) == Some(b'*') => self.block_comment(),
            b'/' => self.slash()?,
            b'"' | b'\'' => self.string(first),
            b'`' => self.template(),
            b'}' if self.brackets.last().is_some_and(|bracket| bracket.template) => {
                // The template goes on in the next piece; its text begins behind the brace.
                self.brackets.pop();
                self.at += 1;
                self.before = Before::Unknown;
                return Ok(Some(self.template_end(start)));
            }
            b'(' | b'[' | b'{' => self.open(first),
            b')' | b']' | b'}' => self.close(first),
            b'0'..=b'9' => self.number(),
            _ if is_word(self.rest().chars().next().unwrap_or(' ')) => self.word(),
            _ => self.mark(first),
        };
        if kind != Kind::Comment {
            self.line_ended = false;
        }
        Ok(Some(Piece { kind, start, end: self.at, after_line }))
    }

    fn line_comment(&mut self) -> Kind {
        self.at += self.rest().find(is_line_end).unwrap_or(self.rest().len());
        Kind::Comment
    }

    fn block_comment(&mut self) -> Kind {
        let rest = self.rest();
        let end = rest.get(2..).and_then(|text| text.find("*/")).map_or(rest.len(), |at| at + 4);
        self.line_ended |= rest[..end].contains(is_line_end);
        self.at += end;
        Kind::Comment
    }

    fn value(&mut self) -> Kind {
        (self.before, self.word, self.after_dot) = (Before::Operand, "", false);
        Kind::Literal
    }

    fn string(&mut self, quote: u8) -> Kind {
        let bytes = self.source.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' if bytes[self.at + 1..].starts_with(b"\r\n") => self.at += 3,
                b'\\' => self.at += 2,
                b'\n' | b'\r' => break,
                _ => self.at += 1,
            }
            if *byte == quote {
                break;
            }
        }
        self.settle();
        self.value()
    }

    /// Brings `at` back to the edge of a character after counting in bytes.
    fn settle(&mut self) {
        self.at = self.source.ceil_char_boundary(self.at.min(self.source.len()));
    }

    fn template(&mut self) -> Kind {
        self.at += 1;
        self.template_text();
        Kind::Literal
    }

    /// The `}` that ends a substitution; the text behind it is consumed with it.
    fn template_end(&mut self, start: usize) -> Piece {
        self.template_text();
        self.line_ended = false;
        Piece { kind: Kind::Close, start, end: self.at, after_line: false }
    }

    /// Reads the text of a template up to its end or to a `${`, which opens a bracket with the next piece.
    fn template_text(&mut self) {
        let bytes = self.source.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'`' => {
                    self.at += 1;
                    break;
                }
                // The next piece is the brace itself, see `open`.
                b'$' if bytes.get(self.at + 1) == Some(&b'{') => {
                    self.at += 1;
                    self.settle();
                    (self.before, self.word, self.after_dot) = (Before::Operator, "$", false);
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.settle();
        self.value();
    }

    fn number(&mut self) -> Kind {
        let digits = |text: &str| text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let start = self.at;
        self.at += digits(self.rest());
        if self.peek(0) == Some(b'.') {
            self.at += 1;
            self.at += digits(self.rest());
        }
        let text = &self.source[start..self.at];
        let decimal = !text.starts_with("0x") && !text.starts_with("0X");
        if decimal && text.ends_with(['e', 'E']) && matches!(self.peek(0), Some(b'+' | b'-')) {
            self.at += 1;
            self.at += digits(self.rest());
        }
        self.value()
    }

    fn word(&mut self) -> Kind {
        let rest = self.rest();
        let word = &rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())];
        self.at += word.len();
        self.before = match word {
            _ if self.after_dot => Before::Operand,
            "return" | "typeof" | "instanceof" | "in" | "new" | "delete" | "void" | "throw" | "case" | "do"
            | "else" | "yield" | "default" | "extends" => Before::Operator,
            // Words that are keywords in some places only.
            "of" | "await" | "as" | "satisfies" | "is" | "keyof" => Before::Unknown,
            _ => Before::Operand,
        };
        // `for await (`: the word that says what the parentheses are is `for`.
        let head = if self.after_dot { "" } else { word };
        self.word = if self.word == "for" && head == "await" { "for" } else { head };
        self.after_dot = false;
        Kind::Word
    }

    fn open(&mut self, byte: u8) -> Kind {
        let after = match byte {
            b'(' if ["if", "while", "for", "with"].contains(&self.word) => Before::Operator,
            b'{' => Before::Unknown,
            _ => Before::Operand,
        };
        let template = byte == b'{' && self.word == "$" && self.source[..self.at].ends_with('$') && !self.after_word();
        self.brackets.push(Bracket { byte, template, after });
        self.at += 1;
        (self.before, self.word, self.after_dot) = (Before::Operator, "", false);
        Kind::Open
    }

    /// Whether `$` was read as a word; then a `{` behind it opens a block, such as `class $ {` without the space.
    fn after_word(&self) -> bool {
        self.before == Before::Operand
    }

    fn close(&mut self, byte: u8) -> Kind {
        let opener = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        self.before = Before::Unknown;
        // A bracket that does not match closes nothing: the parser refuses it, and the depth is not underrated.
        if self.brackets.last().is_some_and(|bracket| bracket.byte == opener) {
            self.before = self.brackets.pop().map_or(Before::Unknown, |bracket| bracket.after);
        }
        self.at += 1;
        (self.word, self.after_dot) = ("", false);
        Kind::Close
    }

    fn mark(&mut self, byte: u8) -> Kind {
        let postfix = self.before != Before::Operator && !self.line_ended;
        let doubled = self.peek(1) == Some(byte);
        match byte {
            b'!' if postfix && self.peek(1) != Some(b'=') => {}
            b'+' | b'-' if doubled => {
                self.at += 1;
                if !postfix {
                    self.before = Before::Operator;
                }
            }
            b'>' if !self.source[..self.at].ends_with('=') => self.before = Before::Unknown,
            _ => self.before = Before::Operator,
        }
        let ranges = byte == b'.' && (doubled || self.source[..self.at].ends_with('.'));
        self.after_dot = byte == b'.' && !ranges;
        self.word = "";
        self.at += 1;
        self.settle();
        Kind::Mark(byte)
    }

    fn slash(&mut self) -> Result<Kind, AmbiguousSlash> {
        let is_regex = match self.before {
            Before::Operator => true,
            Before::Operand if !self.line_ended => false,
            _ => match self.regex_length().filter(|length| differs(&self.rest()[1..*length])) {
                Some(_) => return Err(AmbiguousSlash(self.at)),
                None => false,
            },
        };
        if !is_regex {
            return Ok(self.mark(b'/'));
        }
        let line = self.rest().find(is_line_end).unwrap_or(self.rest().len());
        self.at += self.regex_length().unwrap_or(line);
        // The flags.
        self.at += self.rest().find(|c: char| !is_word(c)).unwrap_or(self.rest().len());
        Ok(self.value())
    }

    /// The bytes of a regular expression that starts here, both slashes included; `None` when the line ends before it.
    fn regex_length(&self) -> Option<usize> {
        let (mut in_class, mut escaped) = (false, false);
        for (at, character) in self.rest().char_indices().skip(1) {
            match character {
                _ if is_line_end(character) => return None,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => return Some(at + 1),
                _ => {}
            }
        }
        None
    }
}

impl Iterator for Scanner<'_> {
    type Item = Result<Piece, AmbiguousSlash>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_piece().transpose()
    }
}

/// Whether a text reads differently inside of a regular expression and outside. Its last byte is the closing slash.
fn differs(text: &str) -> bool {
    text.contains(['"', '\'', '`', '(', ')', '[', ']', '{', '}', '\\', ';', ','])
        || text.starts_with('*')
        || text.contains("//")
}

fn is_space(character: char) -> bool {
    // Characters without a shape count as space: taking one for a part of a word would hide a word.
    character.is_whitespace() || matches!(character, '\u{180e}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

fn is_word(character: char) -> bool {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '$' | '#' | '\\' => true,
        _ => !character.is_ascii() && !is_space(character),
    }
}
