// `Response.formData()` of Node.js, which is undici, reads our messages: a reader of the WHATWG kind.
//
// A part without a file name comes as a string, decoded as UTF-8, without its media type. Where its content is not
// UTF-8, its bytes cannot be compared; that the string is what stands there in the message, decoded, can.

import { compare, doubleBackslashes } from './compare.mjs';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

// It collects the body before it parses, so feeding it in pieces would show nothing.
async function read({ content_type, body, parts: sent }) {
  const response = new Response(body, { headers: { 'content-type': content_type } });
  const parts = [];
  for (const [name, value] of await response.formData()) {
    if (typeof value === 'string') {
      const content = encode(value, sent[parts.length]?.len);
      parts.push({ name, filename: null, content, decoded: isInMessage(value, content_type, body) });
    } else {
      const content = Buffer.from(await value.arrayBuffer());
      parts.push({ name, filename: value.name, content_type: value.type, content });
    }
  }
  return parts;
}

// A byte order mark at the start of a text is dropped: put it back where one is missing.
function encode(text, len) {
  const content = Buffer.from(text);
  const dropped = content.length + BYTE_ORDER_MARK.length === len;
  return dropped ? Buffer.concat([BYTE_ORDER_MARK, content]) : content;
}

function isInMessage(text, contentType, body) {
  if (!text.includes('\ufffd')) return undefined;
  const decoded = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  return decoded.includes(`\r\n\r\n${text}\r\n--${boundaryOf(contentType)}`);
}

function expected(part, got) {
  if (got.filename === null) {
    const { name, filename, len, sha256 } = part;
    return got.decoded === undefined ? { name, filename, len, sha256 } : { name, filename, decoded: true };
  }
  // Backslashes have no meaning for WHATWG; a File's type is in lower case.
  const filename = part.filename && doubleBackslashes(part.filename);
  return { ...part, filename, content_type: part.content_type?.toLowerCase() };
}

// undici, up to 7.30 at least, takes the boundary's text for a delimiter wherever it stands, then finds no line end
// and refuses the message: where that text stands in content, or, made of dashes, begins in those before it.
function mayRefuse({ content_type, body }) {
  const boundary = boundaryOf(content_type);
  for (let at = body.indexOf(boundary); at >= 0; at = body.indexOf(boundary, at + 1)) {
    const before = body.subarray(Math.max(at - 4, 0), at).toString('latin1');
    if (before !== '\r\n--' && !(before === '--' && at === 2)) return true;
  }
  return false;
}

const boundaryOf = (contentType) => /boundary="?([^"]*)/.exec(contentType)[1];

const { undici, node } = process.versions;
await compare(`undici ${undici} (Node.js ${node})`, { read, expected, inPieces: false, mayRefuse });
