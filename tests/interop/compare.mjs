// What the JavaScript readers share: they read the messages that tests/interop.rs has written, and compare.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PIECE = 7;

export const folder = process.argv[2];

/**
 * Has `read(message, pieces)` read every message, whole and, if `inPieces`, in pieces; it gives an object for
 * each part, the content as a Buffer. `expected(part, got)` is what it should give for a part of index.json.
 * Where `mayRefuse(message)` holds, an error is fine too. Prints every difference; then the exit code is 1.
 */
export async function compare(reader, { read, expected, inPieces, mayRefuse = () => false }) {
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  let [parts, refused, differences] = [0, 0, 0];
  const differ = (text) => {
    differences += 1;
    console.log(`${reader}: ${text}`);
  };
  for (const entry of index) {
    const body = readFileSync(join(folder, `${entry.case}.body`));
    const message = { ...entry, body };
    for (const size of inPieces ? [body.length, PIECE] : [body.length]) {
      const where = `${message.case}, in pieces of ${size} bytes`;
      let got;
      try {
        got = await read(message, cut(body, size));
      } catch (error) {
        if (mayRefuse(message)) refused += 1;
        else differ(`${where}: not read: ${error.message}`);
        continue;
      }
      if (size === body.length) parts += message.parts.length;
      if (got.length !== message.parts.length) {
        differ(`${where}: expected ${message.parts.length} parts, got ${got.length}`);
      }
      message.parts.slice(0, got.length).forEach((part, number) => {
        const { content, ...fields } = got[number];
        const actual = { ...fields, len: content.length, sha256: sha256(content) };
        for (const [field, value] of Object.entries(expected(part, actual))) {
          if (actual[field] !== value) {
            const [a, b] = [value, actual[field]].map((value) => JSON.stringify(value));
            differ(`${where}: part ${number} ("${part.name}"), ${field}: expected ${a}, got ${b}`);
          }
        }
      });
    }
  }
  const sizes = inPieces ? `, each whole and in pieces of ${PIECE} bytes` : '';
  const refusals = refused > 0 ? `${refused} messages refused as expected, ` : '';
  const compared = `${index.length - refused} messages with ${parts} parts${sizes}`;
  console.log(`${reader}: ${compared}: ${refusals}${differences} differences`);
  process.exitCode = differences > 0 ? 1 : 0;
}

function cut(body, size) {
  const pieces = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size));
  return pieces;
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** As the encoder does: where a backslash stands at the end or before another one (ACP-ENC-5). */
export const doubleBackslashes = (filename) => filename.replace(/\\(?=\\|$)/g, '\\\\');
