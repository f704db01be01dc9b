// Builds the page into dist/site, which the controller embeds. It asks no other host for anything.
import { defineConfig } from 'vite';
import solid from 'vite-plugin-solid';

export default defineConfig({
  plugins: [solid()],
  base: './',
  build: { outDir: 'dist/site', emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 900, modulePreload: { polyfill: false } },
  server: { proxy: { '/api': 'http://127.0.0.1:7980' } },
});
