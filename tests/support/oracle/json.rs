//! JSON: RFC 8259, and the two rules of RFC 7493 in ACP-CTL-4 and ACP-CTL-5.

use super::*;

/// As much of a JSON value as the rules look at.
pub(super) enum Json {
    Object(Vec<(String, Self)>),
    Array(Vec<Self>),
    Text(String),
    Other,
}

impl Json {
    /// The string, if it is one and a valid name.
    pub(super) fn as_name(&self) -> Option<&str> {
        match self {
            Self::Text(text) if name_fault(text.as_bytes()).is_none() => Some(text),
            _ => None,
        }
    }
}

/// Recursive descent; the offset of a fault is the number of characters before it.
pub(super) fn read_json(chars: &[char], policy: &Policy) -> Result<Json, Stop> {
    let code = "control_malformed";
    let mut scanner = Scanner { items: chars, at: 0, code };
    scanner.white();
    let root = scanner.value(0, policy)?;
    scanner.white();
    if scanner.peek().is_some() { scanner.refuse() } else { Ok(root) }
}

impl Scanner<'_, char> {
    pub(super) fn white(&mut self) {
        self.run(|character| [' ', '\t', '\n', '\r'].contains(&character));
    }

    /// Reads a value inside `depth` open arrays and objects.
    pub(super) fn value(&mut self, depth: u64, policy: &Policy) -> Result<Json, Stop> {
        match self.peek() {
            Some('{' | '[') if depth >= policy.json_depth => Err(("limit_json_depth", self.at)),
            Some('{') => self.object(depth, policy),
            Some('[') => self.array(depth, policy),
            Some('"') => self.string().map(Json::Text),
            Some('t') => self.literal("true"),
            Some('f') => self.literal("false"),
            Some('n') => self.literal("null"),
            _ => self.number(),
        }
    }

    pub(super) fn literal(&mut self, word: &str) -> Result<Json, Stop> {
        for character in word.chars() {
            self.expect(character)?;
        }
        Ok(Json::Other)
    }

    /// Goes to the next item of a container, over a comma unless it is the first; or closes it.
    pub(super) fn next_item(&mut self, bracket: char, first: bool) -> Result<bool, Stop> {
        self.white();
        if self.take(bracket) {
            return Ok(false);
        }
        if !first {
            self.expect(',')?;
            self.white();
        }
        Ok(true)
    }

    pub(super) fn array(&mut self, depth: u64, policy: &Policy) -> Result<Json, Stop> {
        self.expect('[')?;
        let mut items = Vec::new();
        while self.next_item(']', items.is_empty())? {
            items.push(self.value(depth + 1, policy)?);
        }
        Ok(Json::Array(items))
    }

    pub(super) fn object(&mut self, depth: u64, policy: &Policy) -> Result<Json, Stop> {
        self.expect('{')?;
        let mut members = Vec::new();
        let mut names = HashSet::new();
        while self.next_item('}', members.is_empty())? {
            let name = self.string()?;
            if !names.insert(name.clone()) && !policy.allow_duplicate_members {
                return Err((self.code, self.at - 1)); // The closing quote.
            }
            self.white();
            self.expect(':')?;
            self.white();
            members.push((name, self.value(depth + 1, policy)?));
        }
        Ok(Json::Object(members))
    }

    pub(super) fn number(&mut self) -> Result<Json, Stop> {
        let digit = |character: char| character.is_ascii_digit();
        let start = self.at;
        self.take('-');
        if !self.take('0') {
            self.some(digit)?;
        }
        if self.take('.') {
            self.some(digit)?;
        }
        if self.take('e') || self.take('E') {
            let _sign = self.take('+') || self.take('-');
            self.some(digit)?;
        }
        let text: String = self.items[start..self.at].iter().collect();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Json::Other),
            _ => Err((self.code, start)),
        }
    }

    pub(super) fn string(&mut self) -> Result<String, Stop> {
        self.expect('"')?;
        let mut text = String::new();
        while !self.take('"') {
            text.extend(self.run(|character| character >= ' ' && !"\"\\".contains(character)));
            match self.peek() {
                Some('"') => {}
                Some('\\') => text.push(self.escape()?),
                _ => return self.refuse(),
            }
        }
        Ok(text)
    }

    pub(super) fn escape(&mut self) -> Result<char, Stop> {
        self.expect('\\')?;
        if self.take('u') {
            return self.unicode_escape();
        }
        let letters = "\"\\/bfnrt".chars();
        let mut pairs = letters.zip("\"\\/\u{8}\u{c}\n\r\t".chars());
        match pairs.find(|(letter, _)| self.take(*letter)) {
            Some((_, meaning)) => Ok(meaning),
            None => self.refuse(),
        }
    }

    /// What stands after `\u`; a high surrogate takes the low one after it along.
    pub(super) fn unicode_escape(&mut self) -> Result<char, Stop> {
        let mut scalar = self.four_digits(false)?;
        if (0xd800..0xdc00).contains(&scalar) {
            self.expect('\\')?;
            self.expect('u')?;
            scalar = 0x10000 + ((scalar - 0xd800) << 10) + self.four_digits(true)? - 0xdc00;
        }
        char::from_u32(scalar).map_or_else(|| self.refuse(), Ok)
    }

    /// Four hexadecimal digits. A low surrogate is what is wanted, or what may not be: either is
    /// certain at the second digit, or already at a first one other than `d`.
    pub(super) fn four_digits(&mut self, low_surrogate: bool) -> Result<u32, Stop> {
        let mut number = 0;
        for place in 0..4 {
            let digit = self.peek().and_then(|character| character.to_digit(16));
            number = number * 16 + digit.map_or_else(|| self.refuse(), Ok)?;
            let is_low = (0xdc..=0xdf).contains(&number);
            let fits = match place {
                0 => !low_surrogate || number == 0xd,
                1 => low_surrogate == is_low,
                _ => true,
            };
            if !fits {
                return self.refuse();
            }
            self.at += 1;
        }
        Ok(number)
    }
}
