//! The multipart form (sections 3 and 4).

use super::*;

/// Reads a multipart body from its first byte to its last.
pub(super) struct Reader<'a> {
    /// What may be read: the first `message_size` bytes at most.
    pub(super) data: &'a [u8],
    /// Whether the body goes on after that.
    pub(super) over: bool,
    /// `--` and the boundary.
    pub(super) dash_boundary: Vec<u8>,
    /// The same after CRLF.
    pub(super) delimiter: Vec<u8>,
    pub(super) policy: &'a Policy,
    /// All names so far, the control part's included.
    pub(super) names: HashSet<String>,
    /// What the first part holds, once it is judged.
    pub(super) control: Option<Document>,
    pub(super) parts: Vec<Part>,
    pub(super) warnings: Vec<(&'static str, Place, Option<u64>)>,
}

/// What stands between a place and the next delimiter.
pub(super) struct Text {
    /// The byte at which it was certain that there is more text than the limit.
    pub(super) excess: Option<usize>,
    /// Where the next delimiter begins and ends, if there is one.
    pub(super) delimiter: Option<(usize, usize)>,
}

/// The rest of a delimiter line.
pub(super) struct DelimiterLine {
    pub(super) close: bool,
    /// Its LF, or the end of input.
    pub(super) complete: usize,
    /// The first byte after it.
    pub(super) next: usize,
}

/// One header line: its first byte, its name in lower case, the range of its value.
pub(super) struct HeaderLine {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) value: (usize, usize),
}

/// What the headers of one part say.
#[derive(Default)]
pub(super) struct Head {
    pub(super) name: Option<String>,
    pub(super) name_at: usize,
    pub(super) filename: Option<String>,
    pub(super) content_type: Option<Field>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8], boundary: &[u8], policy: &'a Policy) -> Self {
        let allowed = (body.len() as u64).min(policy.message_size) as usize;
        Self {
            data: &body[..allowed],
            over: body.len() > allowed,
            dash_boundary: [b"--", boundary].concat(),
            delimiter: [b"\r\n--", boundary].concat(),
            policy,
            names: HashSet::new(),
            control: None,
            parts: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn read(mut self) -> Result<Message, Fault> {
        let nowhere = |stop| fault_at(stop, None);
        let preamble = self.text(0, 0);
        if let Some(at) = preamble.excess {
            self.warn("preamble", at, None)?;
        }
        let delimiter = preamble.delimiter.ok_or_else(|| self.end_of_input());
        let (_, after) = delimiter.map_err(nowhere)?;
        let mut line = self.delimiter_line(after).map_err(nowhere)?;
        let mut index = 0;
        while !line.close {
            if index > self.policy.parts {
                return Err(nowhere(("limit_parts", line.complete)));
            }
            line = self.part(line.next, index)?;
            index += 1;
        }
        self.close(line)
    }

    /// Reads one part, and the delimiter line after it.
    pub(super) fn part(&mut self, start: usize, index: u64) -> Result<DelimiterLine, Fault> {
        let here = |stop| fault_in_part(stop, index);
        let (lines, blank) = self.header_block(start).map_err(here)?;
        let head = self.meaning(&lines, blank, index).map_err(here)?;
        self.head_warnings(&head, blank, index)?;
        let (start, end, line) = self.body(blank + 2, index).map_err(here)?;
        let body = &self.data[start..end];
        if index == 0 {
            let charset = head.content_type.as_ref().and_then(|field| {
                let place = Place::Byte(field.at as u64);
                Some((field.parameter("charset")?.unescaped(), place))
            });
            let name = head.name.as_deref();
            let document = judge_document(body, start, charset, name, Some(0), self.policy)?;
            self.control = Some(document);
        } else {
            let name = head.name.unwrap_or_default();
            self.parts.push(Part {
                referenced_by: self.references_to(&name),
                name,
                content_type: head.content_type.map_or_else(|| b"text/plain".into(), |f| f.value),
                filename: head.filename,
                body: body.to_vec(),
            });
        }
        Ok(line)
    }

    /// Reads a body and the delimiter line after it; gives the body's range and that line.
    pub(super) fn body(
        &self,
        start: usize,
        index: u64,
    ) -> Result<(usize, usize, DelimiterLine), Stop> {
        let (limit, code) = match index {
            0 => (self.policy.control_size, "limit_control_size"),
            _ => (self.policy.part_size, "limit_part_size"),
        };
        let text = self.text(start, limit);
        if let Some(at) = text.excess {
            return Err((code, at));
        }
        let (end, after) = text.delimiter.ok_or_else(|| self.end_of_input())?;
        if self.data[end] != b'\r' {
            // No CRLF of its own: it stands directly after the blank line.
            return Err(("delimiter_malformed", after - 1));
        }
        Ok((start, end, self.delimiter_line(after)?))
    }

    /// What is judged when the close delimiter line is complete, and what follows it.
    pub(super) fn close(mut self, line: DelimiterLine) -> Result<Message, Fault> {
        let Some(Document { text: control, references }) = self.control.take() else {
            return Err(fault_at(("control_missing", line.complete), None));
        };
        check_resolved(&references, &self.parts)?;
        if let Some(at) = self.epilogue(line.next) {
            self.warn("epilogue", at, None)?;
        }
        if self.over {
            return Err(fault_at(self.end_of_input(), None));
        }
        let Self { parts, warnings, .. } = self;
        Ok(Message { control, parts, warnings })
    }

    /// The byte at which it is certain that more than a CRLF follows the close delimiter line.
    pub(super) fn epilogue(&self, start: usize) -> Option<usize> {
        match self.data.get(start..)? {
            [] | [b'\r', b'\n'] => None,
            [b'\r'] if self.over => None,
            [b'\r', b'\n', ..] => Some(start + 2),
            [b'\r', ..] => Some(start + 1),
            _ => Some(start),
        }
    }

    pub(super) fn warn(
        &mut self,
        code: &'static str,
        at: usize,
        part: Option<u64>,
    ) -> Result<(), Fault> {
        if self.policy.refuse.contains(&code) {
            return Err(fault_at((code, at), part));
        }
        self.warnings.push((code, Place::Byte(at as u64), part));
        Ok(())
    }

    pub(super) fn references_to(&self, name: &str) -> Vec<String> {
        let all = self.control.iter().flat_map(|document| &document.references);
        let here = all.filter(|(wanted, _)| wanted == name);
        here.map(|(_, pointer)| pointer.clone()).collect()
    }

    /// The verdict when there is nothing more to read, but there should be.
    pub(super) fn end_of_input(&self) -> Stop {
        let code = ["truncated", "limit_message_size"][usize::from(self.over)];
        (code, self.data.len())
    }

    pub(super) fn byte(&self, at: usize) -> Result<u8, Stop> {
        let byte = self.data.get(at).copied();
        byte.ok_or_else(|| self.end_of_input())
    }

    /// Looks for the next delimiter. At `start` itself, `--boundary` is one without its CRLF.
    ///
    /// Bytes that agree with the delimiter so far may still be its beginning. They become text at
    /// the byte that does not agree, and that byte may in turn begin a delimiter.
    pub(super) fn text(&self, start: usize, limit: u64) -> Text {
        let mut excess = None;
        let mut at = start;
        loop {
            let rest = &self.data[at..];
            let bare = at == start && rest.starts_with(b"-");
            let full = [&self.delimiter, &self.dash_boundary][usize::from(bare)];
            let pairs = rest.iter().zip(full);
            let agree = pairs.take_while(|(a, b)| a == b).count();
            if agree == full.len() {
                let delimiter = Some((at, at + agree));
                return Text { excess, delimiter };
            }
            if agree == rest.len() {
                let delimiter = None;
                return Text { excess, delimiter };
            }
            let certain_at = at + agree;
            at += agree.max(1);
            if excess.is_none() && (at - start) as u64 > limit {
                excess = Some(certain_at);
            }
        }
    }

    /// Reads what follows `--boundary`: padding and CRLF, or `--` first (ACP-FRM-2, ACP-FRM-5).
    pub(super) fn delimiter_line(&self, mut at: usize) -> Result<DelimiterLine, Stop> {
        let malformed = |at| Err(("delimiter_malformed", at));
        let close = self.byte(at)? == b'-';
        if close {
            if self.byte(at + 1)? != b'-' {
                return malformed(at + 1);
            }
            at += 2;
        }
        let start = at;
        while matches!(self.data.get(at), Some(b' ' | b'\t')) {
            if at - start == MAX_PADDING {
                return malformed(at);
            }
            at += 1;
        }
        // After `--boundary--` the input may end, but not between CR and LF.
        let may_end = close && !self.over;
        let (mut complete, mut next) = (at, at);
        if !(may_end && at == self.data.len()) {
            if self.byte(at)? != b'\r' {
                return malformed(at);
            }
            (complete, next) = (at + 1, at + 2);
            if may_end && complete == self.data.len() || self.byte(complete)? != b'\n' {
                return malformed(complete);
            }
        }
        Ok(DelimiterLine { close, complete, next })
    }

    /// Reads the header lines; with them comes the place of the blank line.
    pub(super) fn header_block(&self, start: usize) -> Result<(Vec<HeaderLine>, usize), Stop> {
        let mut lines = Vec::new();
        let mut at = start;
        while self.byte(at)? != b'\r' {
            self.header_byte(start, at)?;
            if lines.len() as u64 >= self.policy.headers {
                return Err(("limit_headers", at));
            }
            let (line, next) = self.header_line(start, at)?;
            lines.push(line);
            at = next;
        }
        if self.byte(at + 1)? != b'\n' {
            return Err(("header_malformed", at + 1));
        }
        Ok((lines, at))
    }

    /// A byte of a header line, which counts against the limit (ACP-LIM-7).
    pub(super) fn header_byte(&self, block: usize, at: usize) -> Result<u8, Stop> {
        let byte = self.byte(at)?;
        if (at - block) as u64 >= self.policy.header_size {
            return Err(("limit_header_size", at));
        }
        Ok(byte)
    }

    /// Reads one header line byte by byte (ACP-HDR-1); with it comes the place after it.
    pub(super) fn header_line(
        &self,
        block: usize,
        start: usize,
    ) -> Result<(HeaderLine, usize), Stop> {
        let malformed = |at| Err(("header_malformed", at));
        let boundary_ends_at = |at| self.data[start..=at] == self.dash_boundary;
        let mut at = start;
        while self.header_byte(block, at)? != b':' || at == start {
            if !is_token(self.data[at]) || boundary_ends_at(at) {
                return malformed(at);
            }
            at += 1;
        }
        let colon = at;
        while self.header_byte(block, at)? != b'\r' {
            if !is_text(self.data[at], true) || boundary_ends_at(at) {
                return malformed(at);
            }
            at += 1;
        }
        if self.header_byte(block, at + 1)? != b'\n' {
            return malformed(at + 1);
        }
        let name = lower(&self.data[start..colon]);
        let value = trim(self.data, (colon + 1, at), b" \t");
        Ok((HeaderLine { at: start, name, value }, at + 2))
    }

    /// What the fields mean, in the order of ACP-HDR-7; ACP-HDR-2 and ACP-HDR-5.
    pub(super) fn meaning(
        &mut self,
        lines: &[HeaderLine],
        blank: usize,
        part: u64,
    ) -> Result<Head, Stop> {
        let mut head = Head::default();
        let mut seen = HashSet::new();
        for HeaderLine { at, name, value } in lines {
            let known = name.strip_prefix("content-").unwrap_or_default();
            let once = ["disposition", "type", "transfer-encoding"].contains(&known);
            if once && !seen.insert(known) {
                return Err(("header_duplicate", *at));
            }
            match known {
                "disposition" => self.disposition(*value, &mut head)?,
                "type" => head.content_type = Some(self.part_type(*value, part)?),
                "transfer-encoding" => {
                    let encoding = lower(&self.data[value.0..value.1]);
                    if !["7bit", "8bit", "binary"].contains(&encoding.as_str()) {
                        return Err(("transfer_encoding", value.0));
                    }
                }
                _ => {}
            }
        }
        if part == 0 && head.content_type.is_none() {
            return Err(("control_not_json", blank));
        }
        if part > 0 && head.name.is_none() {
            return Err(("name_missing", blank));
        }
        let name = head.name.clone();
        if name.is_some_and(|name| !self.names.insert(name)) {
            return Err(("name_duplicate", head.name_at));
        }
        Ok(head)
    }

    /// ACP-HDR-3, then ACP-NAME-1.
    pub(super) fn disposition(&self, value: (usize, usize), head: &mut Head) -> Result<(), Stop> {
        let field = form_data(self.data, value)?;
        if let Some(Parameter { raw, raw_at, .. }) = field.parameter("name") {
            if let Some(at) = name_fault(raw) {
                return Err(("name_invalid", raw_at + at));
            }
            head.name = Some(String::from_utf8_lossy(raw).into_owned());
            head.name_at = *raw_at;
        }
        head.filename = file_name(&field);
        Ok(())
    }

    /// A part's Content-Type: its syntax, then whether this part may be of that type.
    pub(super) fn part_type(&self, value: (usize, usize), part: u64) -> Result<Field, Stop> {
        let code = "content_type_invalid";
        let field = Field::read(self.data, value, code, true, true)?;
        let mut seen = HashSet::new();
        if let Some(repeated) = field.parameters.iter().find(|p| !seen.insert(&p.name)) {
            return Err((code, repeated.name_at));
        }
        let json = field.head == "application/json";
        if part == 0 && !json {
            return Err(("control_not_json", field.at));
        }
        if part > 0 && json && !self.policy.allow_json_content {
            return Err(("control_duplicate", field.at));
        }
        if field.head.starts_with("multipart/") {
            return Err(("nested_multipart", field.at));
        }
        Ok(field)
    }

    pub(super) fn head_warnings(
        &mut self,
        head: &Head,
        blank: usize,
        part: u64,
    ) -> Result<(), Fault> {
        let Some(name) = &head.name else {
            return self.warn("control_unnamed", blank, Some(part));
        };
        if part == 0 {
            return Ok(());
        }
        let unlabelled_at = match &head.content_type {
            None => Some(blank),
            Some(field) if !field.head.starts_with("text/") => None,
            Some(field) if field.parameter("charset").is_some() => None,
            Some(field) => Some(field.at),
        };
        if let Some(at) = unlabelled_at {
            self.warn("charset_missing", at, Some(part))?;
        }
        if self.references_to(name).is_empty() {
            self.warn("unreferenced_part", head.name_at, Some(part))?;
        }
        Ok(())
    }
}

/// A Content-Disposition without regard to the name's value (ACP-HDR-3).
pub(super) fn form_data(bytes: &[u8], value: (usize, usize)) -> Result<Field, Stop> {
    let code = "disposition_invalid";
    let field = Field::read(bytes, value, code, false, true)?;
    if field.head != "form-data" {
        return Err((code, field.at));
    }
    let mut seen = HashSet::new();
    for Parameter { name, name_at, .. } in &field.parameters {
        let continued = name.starts_with("filename*") && name != "filename*";
        if name.starts_with("name*") || continued || !seen.insert(name) {
            return Err((code, *name_at));
        }
    }
    Ok(field)
}

/// The offset of what makes a name invalid (ACP-NAME-1).
pub(super) fn name_fault(name: &[u8]) -> Option<usize> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bad = (0..name.len()).find(|&at| at == MAX_NAME || !allowed(name[at]));
    if name.is_empty() { Some(0) } else { bad }
}

/// The file name for display (ACP-HDR-6).
pub(super) fn file_name(disposition: &Field) -> Option<String> {
    let extended = disposition.parameter("filename*");
    let extended = extended.and_then(extended_file_name);
    extended.or_else(|| plain_file_name(disposition.parameter("filename")?))
}

/// `filename`: `\"`, `\\`, `%22`, `%0D` and `%0A` are undone, every other byte stays.
pub(super) fn plain_file_name(parameter: &Parameter) -> Option<String> {
    let mut name = Vec::new();
    let mut rest = parameter.raw.as_slice();
    while let [first, tail @ ..] = rest {
        let (byte, after) = match rest {
            [b'\\', byte @ (b'"' | b'\\'), after @ ..] => (*byte, after),
            [b'%', b'2', b'2', after @ ..] => (b'"', after),
            [b'%', b'0', b'D', after @ ..] => (b'\r', after),
            [b'%', b'0', b'A', after @ ..] => (b'\n', after),
            _ => (*first, tail),
        };
        name.push(byte);
        rest = after;
    }
    String::from_utf8(name).ok()
}

/// `filename*`: `UTF-8'language'value` of RFC 8187, or nothing when it is not exactly that.
pub(super) fn extended_file_name(parameter: &Parameter) -> Option<String> {
    let mut pieces = parameter.raw.splitn(3, |&byte| byte == b'\'');
    let (charset, language, value) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let language_fits = language.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-');
    if parameter.quoted || !charset.eq_ignore_ascii_case(b"utf-8") || !language_fits {
        return None;
    }
    let hex = |byte: &u8| char::from(*byte).to_digit(16);
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(byte);
    let mut name = Vec::new();
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => name.push((hex(bytes.next()?)? * 16 + hex(bytes.next()?)?) as u8),
            byte if plain(byte) => name.push(*byte),
            _ => return None,
        }
    }
    let name = String::from_utf8(name).ok()?;
    Some(name).filter(|name| !name.chars().any(char::is_control))
}
