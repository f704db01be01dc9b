# The two commands that a newcomer needs: `make run` and `make test`.

CARGO ?= cargo
# Debian packages that the tests judge Heddle with.
PEERS := opensm ibsim-utils infiniband-diags ibutils tshark openssl prometheus systemd chromium
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: run test web page-packages web-test packages lint bench clean

## Builds heddle and brings up an emulated SuperPOD of 1,024 GPUs.
run: web
	$(CARGO) run --release --locked -p cli -- up --emulate --once

## Installs the peers and runs every test. Property tests draw the same cases every time here; `cargo test` alone draws
## new ones.
test: export PROPTEST_RNG_SEED ?= 20261201
test: packages web
	$(CARGO) build --locked -p cli
	$(CARGO) test --workspace --locked --doc --quiet
	@failed=""; \
	$(MAKE) --no-print-directory web-test || failed="the page"; \
	if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --workspace --locked --no-fail-fast || failed="$$failed tests"; \
	else \
		$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --tests || failed="$$failed tests"; \
	fi; \
	if [ -n "$$failed" ]; then echo "failed: $$failed"; exit 1; fi

## Builds the page that the controller serves, where its sources are newer than it. It takes node 20.19 or newer; where
## there is no node, Debian's is installed; where that is too old, heddle is built without its page and says so.
web: page-packages
	@if node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then \
		$(MAKE) --no-print-directory web/dist/site/index.html; \
	else \
		echo "no node 20.19 or newer: heddle is built without its page (see https://nodejs.org)"; \
	fi

page-packages:
	@command -v npm >/dev/null || { \
		echo "installing: nodejs npm"; \
		$(SUDO) apt-get update -qq && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null; \
	} || true

web/dist/site/index.html: web/node_modules/.package-lock.json $(shell find web/src web/public -type f) web/index.html web/vite.config.ts
	cd web && npm run --silent build
	@touch $@

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

## The page in a real browser, against the heddle that was built last.
web-test: packages web
	@if [ -f web/dist/site/index.html ]; then \
		$(CARGO) build --locked -p cli && cd web && npm test; \
	else \
		echo "skipped: no page to test"; \
	fi

## Installs the Debian packages that the tests need, where one is missing.
packages:
	@missing=""; for p in $(PEERS); do \
		dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; \
	if [ -n "$$missing" ]; then \
		echo "installing:$$missing"; \
		$(SUDO) apt-get update -qq && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi

## Formatting and lints.
lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

## Side by side with OpenSM on the same simulator; prints the table for bench/RESULTS.md.
bench:
	$(CARGO) build --release --locked -p cli
	$(CARGO) run --release --locked -p bench -- all

clean:
	$(CARGO) clean
