// `fetch` and `FormData` of Node.js send a valid message and their easiest wrong one.

import { readFile } from 'node:fs/promises';

const [url, controlFile] = process.argv.slice(2);
const control = await readFile(controlFile, 'utf8');

async function send(name, first) {
  const form = new FormData();
  form.append('_acp_control', first);
  for (const [part, file, type] of [['image', 'page.png', 'image/png'], ['report', 'page.pdf', 'application/pdf']]) {
    form.append(part, new File([await readFile(`testdata/files/${file}`)], file, { type }));
  }
  const signal = AbortSignal.timeout(60_000);
  const answer = await fetch(`${url}/messages`, { method: 'POST', body: form, signal });
  const body = (await answer.text()).replaceAll(/\s+/g, ' ');
  console.log([name, answer.status, answer.headers.get('Content-Type'), body].join('\t'));
}

await send('valid', new Blob([control], { type: 'application/json' }));
await send('wrong', control);
