// The page as people meet it, in a real browser: each view, in both languages and themes, at 1,024 and at 27,648 hosts; a
// cable that is pulled turns red and heals before their eyes.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import { browser, controller, open, redPixels, shot, times } from './harness.mjs';

const SEEN = { timeout: 30_000 };
let chromium;

before(async () => (chromium = await browser()));
after(() => chromium?.close());

async function hasNoBarriers(page, where) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(' ')}`);
  assert.deepEqual(found, [], where);
}

/** Nothing is wider than the window, and no text of the frame is cut off by its neighbour. */
async function fits(page) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  assert.equal(wide, false, 'the page is wider than the window');
}

/** Waits until a figure of the map is as wanted. */
async function until(what, look, isSo) {
  for (let tries = 0; ; tries++) {
    const value = await look();
    if (isSo(value)) return value;
    assert.ok(tries < 100, `${what} stays at ${value}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

for (const size of [1_024, 27_648]) {
  test(`a cable that is pulled turns red and heals, at ${size} hosts`, async (t) => {
    const running = await controller(size);
    t.after(() => running.end());
    const { page, wrong } = await open(chromium, running.address);
    t.diagnostic(`at ${size} hosts, ms from the request: ${JSON.stringify(await times(page))}`);
    await page.getByText(size.toLocaleString('en-US'), { exact: true }).first().waitFor(SEEN);
    await shot(page, `fabric-${size}`);
    const calm = await redPixels(page);
    const [spine] = (await running.get('nodes?kind=switch&level=2&limit=1')).items;
    const { cabled } = await running.get(`nodes/${spine.guid}`);
    const at = `emulator/links/${spine.guid}/${cabled[0].port}`;
    assert.equal((await running.post(`${at}/pull`)).status, 202);
    await page.getByRole('region', { name: 'Links down' }).getByText(spine.name).waitFor(SEEN);
    await until('red on the map', () => redPixels(page), (red) => red > calm + 40);
    await shot(page, `fabric-${size}-down`);
    assert.equal((await running.post(`${at}/mend`)).status, 202);
    await page.getByRole('region', { name: 'Links down' }).waitFor({ state: 'detached', ...SEEN });
    await until('red on the map', () => redPixels(page), (red) => red < calm + 20);
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
    await rows.filter({ hasText: 'Healed' }).filter({ hasText: ' ms' }).nth(1).waitFor(SEEN);
    await page.getByText(/Time of each of the last 2 heals/).waitFor(SEEN);
    await shot(page, `events-${size}`);
    await fits(page);
    assert.deepEqual(wrong, []);
  });
}

test('from the whole fabric to one port with the keyboard, a path, and what if', async (t) => {
  const running = await controller(1_024);
  t.after(() => running.end());
  const { page, wrong } = await open(chromium, running.address);
  await page.getByRole('button', { name: 'Pod 1', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'leaf-su01-r1', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'leaf-su01-r1' }).waitFor(SEEN);
  await shot(page, 'switch');
  await hasNoBarriers(page, 'a switch');
  await page.getByRole('button', { name: 'Port 40', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Link', exact: true }).waitFor(SEEN);
  await page.getByText('400 Gbit/s').waitFor(SEEN);
  await hasNoBarriers(page, 'a link');

  await page.getByRole('button', { name: 'What if it were pulled?' }).click();
  await page.getByRole('button', { name: 'Compute' }).click();
  await page.getByText('Every pair of hosts keeps a path.').waitFor(SEEN);
  await page.getByText(/Counted: 1,047,552 ordered pairs/).waitFor(SEEN);
  await shot(page, 'what-if');
  await hasNoBarriers(page, 'what if');

  await page.getByRole('tab', { name: 'Path' }).click();
  for (const [field, host] of [['From', 'dgx-0001 mlx5_0'], ['To', 'dgx-0128 mlx5_3']]) {
    await page.getByRole('combobox', { name: field }).fill(host);
    await page.getByRole('option', { name: host }).waitFor(SEEN);
    await page.keyboard.press('Enter');
  }
  await page.getByText('4 links', { exact: true }).waitFor(SEEN);
  await shot(page, 'path');
  await hasNoBarriers(page, 'a path');
  assert.deepEqual(wrong, []);
});

test('both languages and both themes have no barriers and nothing that sticks out', async (t) => {
  const running = await controller(1_024);
  t.after(() => running.end());
  for (const [locale, colorScheme] of [['en-US', 'light'], ['zh-CN', 'dark']]) {
    const { page, wrong } = await open(chromium, running.address, { locale, colorScheme });
    for (const view of ['fabric', 'events']) {
      await page.goto(`${running.address}/#/${view}`);
      await page.waitForTimeout(300);
      await fits(page);
      await hasNoBarriers(page, `${view} ${locale} ${colorScheme}`);
      await shot(page, `${view}-${locale}-${colorScheme}`);
    }
    assert.equal(await page.getAttribute('html', 'lang'), locale === 'zh-CN' ? 'zh-CN' : 'en');
    assert.deepEqual(wrong, []);
    await page.context().close();
  }
});
