// Has a reader of Node.js read the messages that tests/strictness.rs has written.
//
// node readers.mjs FOLDER READER prints what it reads, as tests/strictness/document.py takes it. Packages are looked
// for in a directory above FOLDER.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';

const [folder, reader] = process.argv.slice(2);
const require = createRequire(join(folder, 'index.json'));
const PATIENCE_MS = 3000;

/** The package's version out of its package.json, which it may not export. */
function version(name) {
  let folder = dirname(require.resolve(name));
  for (;;) {
    try {
      const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      if (found.name === name) return found.version;
    } catch {
      // One above, then.
    }
    folder = dirname(folder);
  }
}

/** A request as node:http gives it. */
const request = (contentType, body) =>
  Object.assign(Readable.from(body.length > 0 ? [body] : []), {
    method: 'POST',
    headers: { 'content-type': contentType, 'content-length': String(body.length) },
  });

function readBusboy(contentType, body) {
  return new Promise((resolve, reject) => {
    const parts = [];
    const parser = require('busboy')({ headers: { 'content-type': contentType } });
    parser.on('field', (name, value) => parts.push([name, null, Buffer.from(value)]));
    parser.on('file', (name, stream, { filename }) => {
      const chunks = [];
      const part = [name, filename ?? null, null];
      parts.push(part);
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('close', () => (part[2] = Buffer.concat(chunks)));
    });
    parser.on('close', () => resolve(parts));
    parser.on('error', reject);
    parser.end(body);
  });
}

async function readUndici(contentType, body) {
  const response = new Response(body, { headers: { 'content-type': contentType } });
  const parts = [];
  for (const [name, value] of await response.formData()) {
    if (typeof value === 'string') parts.push([name, null, Buffer.from(value)]);
    else parts.push([name, value.name, Buffer.from(await value.arrayBuffer())]);
  }
  return parts;
}

async function readFormidable(contentType, body) {
  const { formidable } = require('formidable');
  const form = formidable({ uploadDir: folder, allowEmptyFiles: true, minFileSize: 0 });
  return named(await form.parse(request(contentType, body)), ({ originalFilename, filepath }) => [
    originalFilename,
    readFileSync(filepath),
  ]);
}

function readMultiparty(contentType, body) {
  const { Form } = require('multiparty');
  return new Promise((resolve, reject) => {
    new Form({ uploadDir: folder }).parse(request(contentType, body), (error, fields, files) => {
      if (error) reject(error);
      else resolve(named([fields, files], ({ originalFilename, path }) => [originalFilename, readFileSync(path)]));
    });
  });
}

/** Fields, then files. */
function named([fields, files], ofFile) {
  const all = (object) => Object.entries(object).flatMap(([name, values]) => values.map((value) => [name, value]));
  return [
    ...all(fields).map(([name, value]) => [name, null, Buffer.from(value)]),
    ...all(files).map(([name, file]) => [name, ...ofFile(file)]),
  ];
}

/** As `Response.json()` reads it. */
function readDocument(bytes) {
  const written = (_, value) => (typeof value === 'number' && !Number.isFinite(value) ? String(value) : value);
  return JSON.stringify(JSON.parse(new TextDecoder().decode(bytes)), written).replaceAll('"Infinity"', 'Infinity');
}

const READERS = {
  busboy: ['busboy', readBusboy],
  undici: ['undici', readUndici],
  formidable: ['formidable', readFormidable],
  multiparty: ['multiparty', readMultiparty],
};

async function outcome(read) {
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error('no end')), PATIENCE_MS).unref();
  });
  try {
    return await Promise.race([read(), late]);
  } catch (error) {
    return { refused: String(error?.message ?? error) };
  }
}

const [name, read] = READERS[reader];
const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
const isOwn = reader === 'undici';
const readings = {
  name,
  version: isOwn ? `${process.versions.undici} (Node.js ${process.versions.node})` : version(reader),
  messages: {},
};
for (const { case: id, content_type: contentType } of index.messages) {
  const body = readFileSync(join(folder, `${id}.body`));
  readings.messages[id] = await outcome(async () => {
    const parts = await read(contentType, body);
    return { parts: parts.map(([name, filename, content]) => [name, filename, content.toString('base64')]) };
  });
}
if (isOwn) {
  // What JSON.parse reads is in the file of the reader that comes with Node.js.
  readings.documents = {};
  for (const { case: id } of index.documents) {
    const bytes = readFileSync(join(folder, `${id}.json`));
    readings.documents[id] = await outcome(async () => ({ document: readDocument(bytes) }));
  }
}
process.stdout.write(JSON.stringify(readings));
