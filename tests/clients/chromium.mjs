// Chromium opens the page of GET / and sends what stands there, a valid message, and the page's own mistake.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [url, controlFile, executablePath, folder] = process.argv.slice(2);
const { chromium } = createRequire(join(folder, 'index.json'))('playwright-core');
const control = await readFile(controlFile, 'utf8');

const files = [
  { file: 'page.png', name: 'image', type: 'image/png', place: '/image' },
  { file: 'page.pdf', name: 'report', type: 'application/pdf', place: '/documents/0' },
];
const pathOf = ({ file }) => join('testdata/files', file);

const context = await chromium.launchPersistentContext(join(folder, 'profile'), {
  executablePath,
  args: [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
  ],
});
try {
  const page = await context.newPage();
  // A refusal is an error to the console too; whatever else it says, its policy above all, is the page's fault.
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.location().url.endsWith('/messages')) faults.push(message.text());
  });

  const send = async (name, verdict) => {
    const [answer] = await Promise.all([page.waitForResponse('**/messages'), page.click('#send')]);
    await page.locator('#send:not([aria-disabled])').waitFor();
    assert.match(await page.textContent('#verdict'), verdict);
    const body = (await page.textContent('#answer')).replaceAll(/\s+/g, ' ');
    console.log([name, answer.status(), answer.headers()['content-type'], body].join('\t'));
  };

  await page.goto(url);
  await send('example', /^Valid HTTP 200/);

  await page.setInputFiles('#files', files.map(pathOf));
  // The references are left out, then inserted with the page's button.
  await page.fill('#control', control.replaceAll(/\{"\$ref":"(\w+)"\}/g, '@$1'));
  for (const [row, { name }] of files.entries()) {
    const item = page.locator('#list li').nth(row);
    await item.getByLabel('Part name').fill(name);
    await page.locator('#control').evaluate((area, gap) => {
      const start = area.value.indexOf(gap);
      area.setSelectionRange(start, start + gap.length);
    }, `@${name}`);
    await item.getByRole('button', { name: 'Insert reference' }).click();
  }
  assert.equal(await page.inputValue('#control'), control);
  await send('valid', /^Valid HTTP 200/);
  for (const [row, part] of files.entries()) {
    const content = await readFile(pathOf(part));
    const digest = createHash('sha256').update(content).digest('hex').slice(0, 12);
    const size = content.length.toLocaleString('en');
    const cells = page.locator('#parts tbody tr').nth(row).locator('td');
    const { name, type, file, place } = part;
    assert.deepEqual(await cells.allTextContents(), [`${row + 1}`, name, type, file, size, `${digest}…`, place]);
  }

  await page.check('#as-text');
  await send('wrong', /^Refused: control_not_json HTTP 422/);
  assert.match(await page.textContent('#facts'), /byte \d+ of the message.*add Content-Type: application\/json/);
  assert.deepEqual(faults, []);
} finally {
  await context.close();
}
