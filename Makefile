# Everything a developer runs. Needs Python 3.11 or later and make; `make setup` brings the rest into .venv.
SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Images of Python often turn bytecode off: each of the many processes would compile every package anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; done; echo python3)
VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
PYTEST := $(PY) -m pytest -q
# One process more than there are processors: some tests wait.
SHARED = -p xdist.plugin -n $(shell $(PY) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist worksteal
HERE := not deployed and not browser
# Files with tests in a browser: to collect all others takes half a minute.
PAGES = $(shell grep -rl 'mark\.browser' tests --include='test_*.py' --exclude-dir=deployed)
LANES := --lanes tests/deployed/lanes.json
# Tests on a local cloud mostly wait: so many clouds share them, file by file.
CLOUDS ?= 2
# What only computes lets those go first that run beside it on a cloud and have times to keep.
ASIDE := nice -n 10
# npm mostly waits. A make that runs several targets already says how many.
TOGETHER = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j 3)
COMPILE := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links

AUDIT := $(UV) run -q --isolated --no-project --with-requirements requirements/audit.txt

.PHONY: help setup run demo demo-page up down status test test-changed test-all test-rest test-unit test-slow test-browser test-pages test-stories test-deployed exercised lint lint-infra english \
	check bench mutants proofs crash chaos kill storm singles-proof restore-proof recovery campaign-proof link-proof digest-proof mail-proof hooks-proof hooks-delay hook-rate ingest-proof pace quota-days model soak browser screenshots docs openapi tour release wheel sdks lock sbom audit licences clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

setup: $(VENV)/.installed ## install everything into .venv and node_modules (idempotent)
	@$(MAKE) -s $(TOGETHER) $(VENV)/.compiled $(VENV)/.node $(VENV)/.sdks

# A virtual environment knows its own absolute path; one that was moved or lost its Python is made anew.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "error: Posthaste needs Python 3.11 or later; found: $$($(PYTHON) --version 2>&1). Name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV) || { \
		echo "error: this Python cannot make a virtual environment (on Debian: apt install python3-venv)" >&2; exit 1; }
	@touch $@

# The installer's own version and hashes stand in the lock as well.
$(VENV)/.installed: $(VENV)/.created requirements/dev.txt pyproject.toml packages/quick_moto/pyproject.toml
	@echo "installing the locked packages"
	@awk '/^[a-z0-9]/ {on = ($$1 ~ /^uv==/)} on' requirements/dev.txt > $(VENV)/uv.txt
	@$(PY) -m pip --disable-pip-version-check install -q --require-hashes -r $(VENV)/uv.txt
	@$(UV) pip install -q --system-certs --python $(PY) --require-hashes -r requirements/dev.txt
	@$(UV) pip install -q --system-certs --python $(PY) --no-deps --no-build-isolation -e . -e packages/quick_moto
	@touch $@

# Processes that start at once would each compile what they import. Of large packages only that is compiled here.
$(VENV)/.compiled: $(VENV)/.installed
	@$(PY) -m compileall -q -j 0 -x '/(aws_cdk|datamodel_code_generator|ministack|mpmath|mypyc?|networkx|pip|sympy|twilio)/' \
		$(VENV)/lib shared functions cli infra simulator benchmarks tools tests
	@$(PY) -c 'import infra.lint, infra.stack, ministack.app'
	@touch $@

$(VENV)/.node: $(VENV)/.installed package.json package-lock.json
	@echo "installing the CDK command line and what pages load"
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/npm ci --loglevel=error --no-audit --no-fund --no-update-notifier --no-progress >/dev/null
	@$(PY) -m tools.page_files
	@touch $@

$(VENV)/.sdks: $(VENV)/.installed sdks/typescript/package.json sdks/typescript/package-lock.json
	@echo "installing the generator of the TypeScript SDK"
	@cd sdks/typescript && PATH="$(CURDIR)/$(VENV)/bin:$$PATH" npm ci --loglevel=error --no-audit --no-fund --no-update-notifier --no-progress >/dev/null
	@touch $@

run: setup ## start the local cloud, send the example newsletter, and stay up until Ctrl-C
	@$(PY) -m examples.demo run

demo: setup ## the same, check that every message arrived exactly once, do so with notices by text and call and with digests, and exit
	@$(PY) -m examples.demo check

demo-page: setup ## the same, and put what it prints into README.md
	@$(PY) -m examples.demo check | $(PY) -m tools.demo

up: setup ## start the local cloud (or bring it up to date) and leave it running
	@$(PY) -m infra.local up

down: setup ## stop the local cloud
	@$(PY) -m infra.local down

status: setup ## show what of the local cloud is running
	@$(PY) -m infra.local status || test $$? -eq 1

test: setup ## quick tests of everything, and the main job on a local cloud with a failover and kills
	@$(PY) -m tests.quick

test-changed: setup ## quick tests whose imports reach what changed since main, or since the commit SINCE
	@$(PY) -m tests.changed $(if $(SINCE),--since $(SINCE))

test-all: test-unit test-deployed ## all tests but those in a browser: unit, function and synth tests, then those on local clouds

test-rest: test-slow test-deployed ## what `make test` leaves of test-all

test-unit: setup ## all tests that need no local cloud
	$(PYTEST) -m "$(HERE)" $(SHARED)

test-slow: setup ## of these, what `make test` leaves out or runs with fewer examples
	$(ASIDE) $(PYTEST) -m "$(HERE) and (slow or hypothesis)" $(SHARED)

test-deployed: setup ## tests against a local cloud that is started for them and stopped afterwards
	POSTHASTE_LOCAL=.local/test $(PY) -m infra.local with --clouds $(CLOUDS) $(LANES) -- \
		$(PYTEST) -m deployed -p xdist.plugin -n $(CLOUDS) --dist loadfile --no-loadscope-reorder tests/deployed

test-browser: test-pages test-stories ## all tests in a real browser, which is installed if it is missing

test-pages: setup browser ## pages in a browser
	$(ASIDE) $(PYTEST) -m browser -p xdist.plugin -n $(CLOUDS) --dist loadfile $(PAGES)

test-stories: setup browser ## the story of the README and other ways through pages on a local cloud, in a browser
	POSTHASTE_LOCAL=.local/browser $(PY) -m infra.local with -- $(PYTEST) -m browser tests/deployed

exercised: ## what no test on a local cloud has asked for, by what the clouds of the tests have answered
	@$(PY) -m tests.deployed.exercised $(wildcard .local/*/requests.txt)

lint: setup ## style, types, import rules and plain English
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(ASIDE) $(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) -m tools.english

english: setup ## lower the counts of language findings that pages may have to what they reach; never raises one
	$(PY) -m tools.english --lower

lint-infra: setup ## synthesise the stack for AWS and for the local cloud, and the examples; cdk-nag and cfn-lint
	$(ASIDE) $(PY) -m infra.lint

check: lint lint-infra test-all ## style, types, import rules, templates and all tests

bench: setup ## measure; prints a table
	$(PY) -m benchmarks

scale: setup ## minutes of a day of 100 million messages in fake time; renews docs/scale.md
	$(PY) -m benchmarks.scale --docs

mutants: setup ## sabotage the code, rule by rule; each sabotage must turn the test it names red
	$(ASIDE) $(PY) -m tests.mutants

proofs: setup ## the long form of every proof, or of those in ONLY, and a table at the end; takes hours
	@$(PY) -m tests.proofs $(ONLY)

crash: setup ## kill a process at every AWS and provider call it makes, in every scenario; prints points by outcomes
	$(PY) -m tests.crash

chaos: setup ## a storm of MESSAGES (default 20000) on a local cloud; SEED=N replays its weather
	POSTHASTE_LOCAL=.local/chaos $(PY) -m infra.local with $(LANES) -- $(PY) -m tests.deployed.drills chaos \
		--messages $(or $(MESSAGES),20000) $(if $(SEED),--seed $(SEED))

kill: setup ## kill senders in the middle of their windows on a local cloud, KILLS times (default 20); prints a table
	POSTHASTE_LOCAL=.local/kill $(PY) -m infra.local with $(LANES) -- $(PY) -m tests.deployed.drills kills --kills $(or $(KILLS),20)

storm: setup ## two campaigns of SIZE (default 8000) through a provider of its own that fails one call in five, a sender killed every four seconds; both must be LOGGED within WITHIN (default 240) s; SEED=N replays its weather; prints figures
	POSTHASTE_LOCAL=.local/storm $(PY) -m infra.local with $(LANES) -- $(PY) -m tests.deployed.drills storm \
		--size $(or $(SIZE),8000) --within $(or $(WITHIN),240) $(if $(SEED),--seed $(SEED))

singles-proof: setup ## MESSAGES (default 5000) single messages of two accounts through two providers, one of which fails a tenth of its calls; senders, planners and trackers killed KILLS times each (default 12); prints figures
	POSTHASTE_LOCAL=.local/singles $(PY) -m infra.local with $(LANES) -- $(PY) -m tests.deployed.drills singles \
		--messages $(or $(MESSAGES),5000) --kills $(or $(KILLS),12) $(if $(SEED),--seed $(SEED))

restore-proof: setup ## lose LOSSES tables (default 4) one after the other while MESSAGES (default 4000) are on their way, and restore each from a copy; prints figures
	POSTHASTE_LOCAL=.local/restore $(PY) -m infra.local with $(LANES) -- $(PY) -m tests.deployed.drills losses \
		--messages $(or $(MESSAGES),4000) --losses $(or $(LOSSES),4) $(if $(SEED),--seed $(SEED))

recovery: setup ## kill senders at 20, 200 and 2,000/s, KILLS times each (default 20), in fake time and on a local cloud; prints what they leave
	$(PY) -m tests.engine.kills --kills $(or $(KILLS),20)
	POSTHASTE_LOCAL=.local/recovery $(PY) -m infra.local with --lanes tests/deployed/recovery.json -- \
		$(PY) -m tests.deployed.drills recovery --kills $(or $(KILLS),20)

campaign-proof: setup ## a campaign of ROWS (default 100000) on a local cloud: ingest and senders killed, stopped and resumed; prints figures
	POSTHASTE_LOCAL=.local/campaign $(PY) -m infra.local with $(LANES) -- $(PY) -m tests.deployed.drills campaign --rows $(or $(ROWS),100000)

link-proof: setup ## a notifier's spool of NOTICES (default 2000) over a bad link, sync and the hub's functions killed; prints figures
	POSTHASTE_LOCAL=.local/link $(PY) -m infra.local with $(LANES) -- $(PY) -m tests.deployed.drills clinic --notices $(or $(NOTICES),2000)

digest-proof: setup ## a flood of EVENTS (default 5000) on a local cloud with failing providers, its API, digest function and senders killed; prints figures
	POSTHASTE_LOCAL=.local/digest $(PY) -m infra.local with -- $(PY) -m tests.deployed.drills digests --events $(or $(EVENTS),5000)

mail-proof: setup ## MAILS (default 300) by SMTP through the relay to a local cloud; relay, API and sender killed KILLS times each (default 6); prints figures
	POSTHASTE_LOCAL=.local/mail $(PY) -m infra.local with -- $(PY) -m tests.deployed.drills mails \
		--mails $(or $(MAILS),300) --kills $(or $(KILLS),6)

hooks-proof: setup ## MESSAGES (default 400) whose changes are posted to a receiver on this machine; functions of webhooks killed KILLS times (default 10; with 0 each acceptance is timed, and the p95 must be within 2 s); prints figures
	POSTHASTE_LOCAL=.local/hooks $(PY) -m infra.local with -- $(PY) -m tests.deployed.drills hooks \
		--messages $(or $(MESSAGES),400) --kills $(or $(KILLS),10)

hooks-delay: setup ## WORDS (default 120) of a provider, on a quiet local cloud, each timed until it arrives at two endpoints while five others are bad; the p95 must be within 2 s
	POSTHASTE_LOCAL=.local/hooks $(PY) -m infra.local with -- $(PY) -m tests.deployed.drills arrival --words $(or $(WORDS),120)

hook-rate: setup ## post 10,000 deliveries to 100 endpoints of a receiver on this machine, by plain HTTP and by TLS, without a cloud; prints how many a second
	$(PY) -m tests.deployed.hook_rate

ingest-proof: setup ## a list of ROWS (default 1000000) whose reader is stopped every two seconds, by kill -9 or its time; prints figures
	$(PY) -m tests.lists --rows $(or $(ROWS),1000000)

quota-days: setup ## let lanes with quotas send for forty days while workers die, alone and in routes; prints the worst periods
	$(PY) -m tests.engine.quota_days

pace: setup ## send in fake time at every rate, with calls of all sizes, while workers stall and die; prints worst second and average
	$(PY) -m tests.engine.pace

model: setup ## search every state of small worlds by the protocol's rules, then leave out each rule; prints what breaks
	$(PY) -m tests.model

soak: setup ## let a random adversary drive the engine for HOURS (default 1), over STORES=fakes or moto
	$(PY) -m tests.statemachine --hours $(or $(HOURS),1) --stores $(or $(STORES),fakes)

browser: ## install the browser that the page tests use (Debian, Ubuntu)
	@command -v chromedriver >/dev/null || { apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; }

screenshots: setup browser ## take the pictures of the README, of the digests and of each page of the console anew
	$(PY) -m tests.console.screenshots
	POSTHASTE_LOCAL=.local/shots $(PY) -m infra.local with -- $(PY) -m tests.deployed.screenshots

docs: setup ## build the site of the pages into .local/docs; a broken link or a page in no menu fails
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(PY) -m mkdocs build --clean
	@echo "open .local/docs/index.html, or run: $(PY) -m http.server -d .local/docs"

wheel: setup ## build the command without the repository, posthaste-cli, into dist/
	@$(PY) -m tools.wheel

sdks: setup ## make the SDKs for Python and TypeScript from the OpenAPI document, and build their packages into dist/
	@$(PY) -m tools.sdks

openapi: setup ## regenerate functions/api/openapi.json and docs/errors.md
	$(PY) -m functions.api.openapi
	$(PY) -m functions.api.error_page

tour: setup ## write the table of places in CONTRIBUTING.md anew, from the marks in the code
	@$(PY) -m tools.tour

release: setup ## make VERSION the version of the package, the API and the changelog; prints how to commit and tag it
	@$(PY) -m tools.release $(VERSION)

lock: setup ## resolve requirements/*.in anew
	$(COMPILE) requirements/runtime.in -o requirements/runtime.txt
	$(COMPILE) requirements/dev.in -o requirements/dev.txt
	$(COMPILE) requirements/audit.in -o requirements/audit.txt

sbom: setup ## write what ships into dist/posthaste.cdx.json (CycloneDX)
	@mkdir -p dist
	@$(AUDIT) cyclonedx-py requirements requirements/runtime.txt --pyproject pyproject.toml --of JSON \
		--output-reproducible -o dist/posthaste.cdx.json

audit: setup ## look up known vulnerabilities of what is locked; needs the internet
	$(AUDIT) pip-audit --strict --disable-pip --require-hashes -r requirements/runtime.txt
	$(AUDIT) pip-audit --strict --disable-pip --require-hashes -r requirements/dev.txt
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/npm audit

licences: setup ## list the licence of each package that ships; fails if one is not allowed
	@$(PY) -m tools.licences

clean: ## stop the local cloud and remove everything that can be made again
	@if [ -x $(PY) ] && [ -d .local ]; then $(PY) -m infra.local down || true; fi
	rm -rf $(VENV) .local node_modules functions/api/docs/static functions/console/packages cdk.out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
