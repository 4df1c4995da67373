// What the JavaScript readers share: they read the messages that tests/interop.rs and
// tests/differential.rs have written, and compare.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PIECE = 7;

export const folder = process.argv[2];

/**
 * Has `read(message, pieces)` read every message, whole and, if `inPieces`, in pieces; it gives an object for
 * each part, the content as a Buffer. `expected(part, got)` is what it should give for a part of index.json; of
 * those in accepted.json, names and content only are compared. Where `mayRefuse(message)` holds, an error is fine
 * too. Prints every difference that is not among the exceptions; then the exit code is 1.
 */
export async function compare(reader, { read, expected, inPieces, mayRefuse = () => false }) {
  const [sent, accepted] = ['index.json', 'accepted.json'].map((name) => readJson(join(folder, name)));
  const exceptions = exceptionsOf(reader.split(' ')[0]);
  let [parts, refused] = [0, 0];
  const differences = [];
  for (const entry of sent) {
    const { outcome, found, message } = await compared(entry, { read, expected, inPieces });
    if (outcome === 'refuses' && mayRefuse(message)) refused += 1;
    else differences.push(...found);
    parts += outcome === 'refuses' ? 0 : entry.parts.length;
  }
  const met = new Set();
  for (const entry of accepted) {
    const { outcome, found, message } = await compared(entry, { read, expected: namesAndContent(expected), inPieces });
    const listed = exceptions.get(entry.case) ?? SAME;
    if (exceptions.has(entry.case)) met.add(entry.case);
    if (listed === outcome) continue;
    if (outcome === 'refuses' && (listed === MAY_REFUSE || mayRefuse(message))) {
      refused += 1;
      continue;
    }
    if (outcome === SAME && listed === MAY_REFUSE) continue;
    differences.push(...found);
    if (listed !== SAME) {
      differences.push(`${entry.case}: ${outcome}, but exceptions.json says that it ${listed}: change it`);
    }
  }
  for (const id of exceptions.keys()) {
    if (!met.has(id)) differences.push(`${id}: in exceptions.json, but no message`);
  }
  for (const difference of differences) console.log(`${reader}: ${difference}`);
  const sizes = inPieces ? `, each whole and in pieces of ${PIECE} bytes` : '';
  const refusals = refused > 0 ? `${refused} messages refused as expected, ` : '';
  console.log(
    `${reader}: ${sent.length} messages with ${parts} parts and ${accepted.length} accepted ones${sizes}: ` +
      `${refusals}${exceptions.size} exceptions, ${differences.length} differences`,
  );
  process.exitCode = differences.length > 0 ? 1 : 0;
}

const SAME = 'reads the same';
/** What an exception says of a reader that comes with the runtime, where newer versions read the same. */
const MAY_REFUSE = 'may refuse';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** What the reader does with which message, where it does not read the same. */
function exceptionsOf(reader) {
  const ofReader = readJson(process.argv[3]).filter((entry) => entry.reader === reader);
  return new Map(ofReader.flatMap(({ cases, it }) => cases.map((id) => [id, it])));
}

/** Neither the file name nor the media type. */
const namesAndContent = (expected) => (part, got) => {
  const { filename, content_type, essence, ...rest } = expected(part, got);
  return rest;
};

/** What the reader does with the message, and every difference. */
async function compared(entry, { read, expected, inPieces }) {
  const message = { ...entry, body: readFileSync(join(folder, `${entry.case}.body`)) };
  const found = [];
  let outcome = SAME;
  for (const size of inPieces ? [message.body.length, PIECE] : [message.body.length]) {
    const where = `${message.case}, in pieces of ${size} bytes`;
    let got;
    try {
      got = await read(message, cut(message.body, size));
    } catch (error) {
      outcome = 'refuses';
      found.push(`${where}: not read: ${error.message}`);
      continue;
    }
    if (got.length !== message.parts.length) {
      found.push(`${where}: expected ${message.parts.length} parts, got ${got.length}`);
    }
    message.parts.slice(0, got.length).forEach((part, number) => {
      const { content, ...fields } = got[number];
      const actual = { ...fields, len: content.length, sha256: sha256(content) };
      for (const [field, value] of Object.entries(expected(part, actual))) {
        if (actual[field] !== value) {
          const [a, b] = [value, actual[field]].map((value) => JSON.stringify(value));
          found.push(`${where}: part ${number} ("${part.name}"), ${field}: expected ${a}, got ${b}`);
        }
      }
    });
  }
  if (found.length > 0 && outcome === SAME) outcome = 'reads otherwise';
  return { outcome, found, message };
}

function cut(body, size) {
  const pieces = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size));
  return pieces;
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** As the encoder does: where a backslash stands at the end or before another one (ACP-ENC-5). */
export const doubleBackslashes = (filename) => filename.replace(/\\(?=\\|$)/g, '\\\\');
