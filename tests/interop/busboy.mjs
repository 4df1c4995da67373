// The package `busboy` (used by Multer for Express, and in Fastify by a fork) reads our messages.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { compare, folder } from './compare.mjs';

// Out of the directory that holds the messages, or of one above it.
const require = createRequire(join(folder, 'index.json'));
const busboy = require('busboy');
const { version } = require('busboy/package.json');

// Text is decoded with the part's charset. Bytes in parts that say none come through as they are in latin1.
const DEFAULT_CHARSET = 'latin1';
const OPTIONS = {
  preservePath: true,
  defParamCharset: 'utf8',
  defCharset: DEFAULT_CHARSET,
  limits: { fieldNameSize: Infinity, fieldSize: Infinity, fields: Infinity, parts: Infinity },
};

function read({ content_type, parts: sent }, pieces) {
  return new Promise((resolve, reject) => {
    const parts = [];
    const parser = busboy({ ...OPTIONS, headers: { 'content-type': content_type } });
    parser.on('file', (name, stream, { filename, mimeType }) => {
      const chunks = [];
      const part = { name, filename: filename ?? null, essence: mimeType };
      parts.push(part);
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('end', () => (part.content = Buffer.concat(chunks)));
    });
    parser.on('field', (name, value, { mimeType, nameTruncated, valueTruncated }) => {
      if (nameTruncated || valueTruncated) reject(new Error(`${name} is truncated`));
      const content = encode(value, sent[parts.length]?.len);
      parts.push({ name, filename: null, essence: mimeType, content });
    });
    parser.on('close', () => resolve(parts));
    parser.on('error', reject);
    write(parser, pieces);
  });
}

async function write(parser, pieces) {
  for (const piece of pieces) {
    if (!parser.write(piece)) await new Promise((resolve) => parser.once('drain', resolve));
  }
  parser.end();
}

// The charset it was decoded with is not told; the length tells it, for texts of more than ASCII.
function encode(text, len) {
  const utf8 = Buffer.from(text);
  return utf8.length === len ? utf8 : Buffer.from(text, DEFAULT_CHARSET);
}

// Backslashes are undone as the encoder writes them; percent signs have no meaning. An empty file name is taken
// for none.
const expectedFilename = (filename) =>
  filename?.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A') || null;

// The API gives the media type without parameters.
const expected = ({ content_type, ...part }) => ({
  ...part,
  filename: expectedFilename(part.filename),
  essence: content_type?.split(';')[0].toLowerCase(),
});

await compare(`busboy ${version}`, { read, expected, inPieces: true });
