// What the tests of the page share: a controller of their own on a free port, and a Chromium that draws in software.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const PATIENCE = 120_000;

function heddle() {
  const folder = process.env.CARGO_TARGET_DIR ?? join(import.meta.dirname, '../../target');
  const wanted = process.env.HEDDLE ? [process.env.HEDDLE] : ['debug', 'release'].map((kind) => join(folder, kind, 'heddle'));
  const found = wanted.find((path) => existsSync(path));
  if (!found) throw new Error(`no heddle at ${wanted.join(' or ')}: run cargo build -p cli`);
  return found;
}

function browserPath() {
  const wanted = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome'].filter(Boolean);
  const found = wanted.find((path) => existsSync(path));
  if (!found) throw new Error(`no browser at ${wanted.join(' or ')}: apt-get install chromium`);
  return found;
}

/** A controller around an emulated fabric: a SuperPOD of 1,024 GPUs, or a fat tree of 27,648 hosts. */
export async function controller(size) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-web-'));
  const args = ['up', '--emulate', '--listen', '127.0.0.1:0', '--json'];
  if (size === 27_648) {
    const tree = join(folder, 'tree.toml');
    execFileSync(heddle(), ['fabric', 'generate', 'fat-tree', '--levels', '3', '--radix', '48', '-o', tree]);
    args.push(tree);
  }
  const process_ = spawn(heddle(), args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = async () => {
    const gone = new Promise((resolve) => process_.once('exit', resolve));
    if (process_.exitCode === null && process_.kill('SIGTERM')) await gone;
    rmSync(folder, { recursive: true });
  };
  let said = '';
  const address = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`heddle does not listen: ${said}`)), PATIENCE);
    process_.once('exit', (code) => reject(new Error(`heddle has ended with ${code}: ${said}`)));
    process_.stdout.on('data', (data) => {
      said += data;
      const listening = said.match(/"listening":"(http:[^"]+)"/);
      if (!listening) return;
      clearTimeout(late);
      resolve(listening[1]);
    });
  }).catch(async (error) => {
    await end();
    throw error;
  });
  return { address, end, post: (path) => fetch(`${address}/api/v1/${path}`, { method: 'POST' }), get: async (path) => (await fetch(`${address}/api/v1/${path}`)).json() };
}

export async function browser() {
  return chromium.launch({
    executablePath: browserPath(),
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
  });
}

/** A page on which every error counts, and which reaches nothing but the controller. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US', reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(message.text());
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== address) wrong.push(`asks ${url.href}`);
  });
  await page.goto(`${address}/`);
  await page.waitForFunction(() => performance.getEntriesByName('heddle-map').length > 0, null, { timeout: PATIENCE });
  return { page, wrong };
}

/** When the page first showed anything, the summary's figures, and the map; in ms from the request. */
export async function times(page) {
  return page.evaluate(() => {
    const at = (name) => Math.round(performance.getEntriesByName(name)[0]?.startTime ?? NaN);
    return { first: at('first-contentful-paint'), summary: at('heddle-summary'), map: at('heddle-map') };
  });
}

/** Where shots are kept, for who wants to look at them. */
export function shot(page, name) {
  const folder = process.env.HEDDLE_SHOTS;
  return folder ? page.screenshot({ path: join(folder, `${name}.png`) }) : undefined;
}

/** How many pixels of the map are of the colour of what is lost. */
export async function redPixels(page) {
  const png = (await page.locator('.map').screenshot()).toString('base64');
  return page.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
    const pen = canvas.getContext('2d');
    pen.drawImage(image, 0, 0);
    const { data: pixels } = pen.getImageData(0, 0, image.width, image.height);
    let red = 0;
    for (let at = 0; at < pixels.length; at += 4) if (pixels[at] > 170 && pixels[at + 1] < 70 && pixels[at + 2] < 80) red++;
    // The legend has some of its own.
    return red;
  }, png);
}
