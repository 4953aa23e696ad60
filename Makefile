# Bytecode is compiled while installing and kept: imports are half of what a refresh costs.
unexport PYTHONDONTWRITEBYTECODE
# Two commands: `make run` shows the product, `make test` proves it. Everything lives in .venv; nothing needs root.
IS_SUPPORTED := -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
# tried, not only looked up: a version manager puts names on PATH that start nothing
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3; do $$name $(IS_SUPPORTED) && command -v $$name && break; done)
BIN := .venv/bin
DEMO ?= trainledger-demo
CONFIG ?= $(DEMO)/trainledger.yaml
# the demo's clock stands still; everybody else's runs
UI_NOW := $(if $(filter $(DEMO)/%,$(CONFIG)),TRAINLEDGER_NOW=2026-10-10T00:00:00Z)

.PHONY: run ui test wheels deployable release pytest nightly mutants parity parity-demo bench bench-compare lint lint-sql lock docs clean system-packages xprof-peer focus-validator engines

run: .venv/installed-run
	$(BIN)/trainledger demo --dir $(DEMO)

ui: .venv/installed-run
	@test -f $(CONFIG) || $(BIN)/trainledger demo --dir $(DEMO)
	$(UI_NOW) $(BIN)/trainledger ui --config $(CONFIG)

# the packages, each by way of its source distribution; that of trainledger carries its SQL as dbt lays it out
WHEELS ?= dist/wheels
wheels: .venv/bin/uv
	rm -rf $(WHEELS)
	@$(BIN)/python -c 'import dbt.cli, duckdb' 2>/dev/null || $(MAKE) --no-print-directory .venv/installed-run
	$(BIN)/python -m dagster_project.warehouse.lay_out dbt/target/shipped
	for folder in . recorder verify; do $(BIN)/uv build -q --no-build-isolation --python $(BIN)/python --out-dir $(WHEELS) $$folder || exit 1; done
	rm -f $(WHEELS)/*.tar.gz $(WHEELS)/.gitignore

# the pages of docs/ as a site with search, which opens from its files: dist/site/index.html
SITE ?= dist/site
docs: .venv-docs/installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build -q --strict --site-dir $(abspath $(SITE))

# what is handed out: wheels, SBOMs, notes, checksums; refused, with each reason, while version, changelog, locks, benchmarks, the
# nightly's result and the checkout do not agree (CONTRIBUTING.md, "A release")
RELEASE ?= dist/release
release: .venv/installed-test .venv-release/installed
	@$(BIN)/python -m tests.release $(RELEASE)

# all that another machine needs, in one folder: deploy/README.md
deployable:
	@$(MAKE) --no-print-directory wheels WHEELS=dist/deploy
	cp -R deploy/. requirements/bootstrap.lock requirements/deploy.lock dist/deploy

# what only tests need from the system is a browser, Java, Caddy, PostgreSQL and Prometheus; installed where this user may, else listed as skipped (a failure under CI)
TEST_PACKAGES := .venv/installed-test .venv-bigquery/installed .venv-docs/installed xprof-peer focus-validator system-packages
test: $(TEST_PACKAGES)
	@$(BIN)/python -m tests.nightly test $(MAKE) --no-print-directory -j 2 pytest lint

# a worker a core: a third one loads the engines a third time; lint beside them fills the time in which tests wait
WORKERS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); [ $$cores -lt 4 ] && echo $$cores || echo 4)
pytest: .venv/installed-test
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# everything, in parts that tests/nightly.py names; PART=kills runs one. What passed is written into tests/nightly.json, to be committed
nightly: $(TEST_PACKAGES) .venv-release/installed engines
	@$(BIN)/python -m tests.nightly $(PART)

# 120 small changes of SQL and Python, put before the tests that belong to them: who lives is printed. TRANCHE=1 to 6 tries twenty of them
mutants: .venv/installed-test
	$(BIN)/python -m tests.mutants $(if $(TRANCHE),--tranche $(TRANCHE)) $(if $(SEED),--seed $(SEED))

# every measure beside its floor: benchmarks/results/latest.json and index.html. All sizes take hours; QUICK=1 some ten minutes on a quiet
# machine. ONLY="bills refreshes" runs some families or measures, BENCH="--with-50m" passes further options
BENCH_OPTIONS = $(if $(QUICK),--quick) $(foreach name,$(ONLY),--only $(name)) $(BENCH)
bench: .venv/installed-test
	$(BIN)/python -m benchmarks $(BENCH_OPTIONS)

# the last release and this checkout on the same inputs, in turns; BASE=<git ref> names another
bench-compare: .venv/installed-test
	$(BIN)/python -m benchmarks.compare $(if $(BASE),--base $(BASE)) $(foreach name,$(ONLY),--only $(name)) $(BENCH)

# each rule of calculation on Spark, then every published table of the demo on both engines; the test suite compares a small organisation
SCALES ?= 1 20
parity: .venv/installed-test
	NIGHTLY=1 UNIT_TESTS_ON_SPARK=1 $(BIN)/pytest -q -p no:xdist tests/spark
	@$(MAKE) --no-print-directory parity-demo
parity-demo: .venv/installed-test
	$(BIN)/python -m tests.spark.parity $(or $(TMPDIR),/tmp)/trainledger-parity $(SCALES)

# the style of the models is asked when they changed since the part `lint` of nightly passed
lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@$(BIN)/python -m tests.nightly proved lint || $(MAKE) --no-print-directory lint-sql
	$(BIN)/mypy

lint-sql: .venv/installed-test
	cd dbt && ../$(BIN)/sqlfluff lint --processes 2 --disable-progress-bar -q models tests

# engines that no wheel carries, for tests of bills that are asked where they lie. Trino 368 runs on Java 11 and 17, and of its sixty
# plugins one is asked; the others are 2 GB
engines: .engines/trino-server-368/lib .venv-spark/installed .engines/spark/installed
.engines/trino-server-368/lib:
	@command -v mvn >/dev/null || { $(APT_INSTALL) --no-install-recommends maven >/dev/null; } \
	  || { echo "no Maven here and no right to install it: tests of bills that are asked where they lie will be skipped"; exit 0; }; \
	mkdir -p .engines && cd .engines && mvn -q dependency:copy -Dartifact=io.trino:trino-server:368:tar.gz -DoutputDirectory=. \
	  && tar -xzf trino-server-368.tar.gz && rm trino-server-368.tar.gz \
	  && find trino-server-368/plugin -mindepth 1 -maxdepth 1 ! -name hive -exec rm -rf {} +

APT_INSTALL := [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq
system-packages:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { $(APT_INSTALL) chromium >/dev/null; } \
	  || echo "no browser here and no right to install one: browser tests will be skipped"
	@command -v java >/dev/null || [ -n "$$JAVA_HOME" ] || { $(APT_INSTALL) default-jre-headless >/dev/null; } \
	  || echo "no Java here and no right to install it: the test on Apache Spark will be skipped"
	@command -v caddy >/dev/null || { $(APT_INSTALL) --no-install-recommends caddy >/dev/null; } \
	  || echo "no Caddy here and no right to install it: the test of the proxy will be skipped"
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { $(APT_INSTALL) --no-install-recommends postgresql >/dev/null; } \
	  || echo "no PostgreSQL here and no right to install it: tests of a deployment will be skipped"
	@command -v prometheus >/dev/null || { $(APT_INSTALL) --no-install-recommends prometheus >/dev/null; } \
	  || echo "no Prometheus here and no right to install it: tests of its answers will be skipped"

.venv/bin/uv: requirements/bootstrap.lock
	@$(or $(PYTHON),false) $(IS_SUPPORTED) || { echo "trainledger needs Python 3.11, 3.12 or 3.13;" \
	  "$(if $(PYTHON),$(PYTHON) is none of them,none of them is on PATH). Name one: make $(or $(MAKECMDGOALS),run) PYTHON=/path/to/python3.12" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock
	touch $@

.venv/installed-run: .venv/bin/uv requirements/run.lock pyproject.toml
	@test -f .venv/installed-test || $(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/run.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m dagster_project.warehouse.lay_out
	touch $@

.venv/installed-test: .venv/bin/uv requirements/test.lock pyproject.toml
	$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/test.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m dagster_project.warehouse.lay_out
	touch $@

# servers that only tests ask, with pins that must not bind ours
.venv-bigquery/installed: .venv/bin/uv requirements/bigquery-server.lock
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-bigquery
	$(BIN)/uv pip install -q --python .venv-bigquery/bin/python --require-hashes -r requirements/bigquery-server.lock
	touch $@

# the public reader of profiles, which a test asks whether it sees what ours sees
xprof-peer: .venv-xprof-peer/installed
.venv-xprof-peer/installed: .venv/bin/uv requirements/xprof-peer.lock
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-xprof-peer
	$(BIN)/uv pip install -q --python .venv-xprof-peer/bin/python --no-deps --require-hashes -r requirements/xprof-peer.lock
	touch $@

# the validator of the FinOps Foundation, whose numpy has no wheels beyond Python 3.12
focus-validator: .venv/bin/uv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] > (3, 12))' && $(MAKE) --no-print-directory .venv-focus/installed \
	  || echo "no validator of FOCUS for this Python: its test will be skipped"
.venv-focus/installed: .venv/bin/uv requirements/focus-validator.lock
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-focus
	$(BIN)/uv pip install -q --python .venv-focus/bin/python --require-hashes -r requirements/focus-validator.lock
	touch $@

# a Spark with the release that Iceberg has a runtime for, and Hadoop's own for S3; beside that of the extra `scale`, which is newer
.venv-spark/installed: .venv/bin/uv requirements/engine-spark.lock
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-spark
	$(BIN)/uv pip install -q --python .venv-spark/bin/python --require-hashes -r requirements/engine-spark.lock
	touch $@
.engines/spark/installed: requirements/engine-spark-jars.lock   # its lines: sha256, file, artifact of Maven
	@command -v mvn >/dev/null || { $(APT_INSTALL) --no-install-recommends maven >/dev/null; } \
	  || { echo "no Maven here and no right to install it: tests of bills that Spark groups will be skipped"; exit 0; }; \
	rm -rf $(@D) && mkdir -p $(@D) && while read -r sum file artifact; do \
	  mvn -q -B dependency:copy -Dartifact=$$artifact -DoutputDirectory=$(abspath $(@D)) </dev/null || exit 1; \
	  echo "$$sum  $(@D)/$$file" | sha256sum --quiet -c - || exit 1; \
	done < $< && touch $@

# what builds the site, and the command line that the tutorial's readers have, with pins that must not bind ours
.venv-docs/installed: .venv/bin/uv requirements/docs.lock
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-docs
	$(BIN)/uv pip install -q --python .venv-docs/bin/python --require-hashes -r requirements/docs.lock
	touch $@

# what writes the SBOMs, with pins that must not bind ours
.venv-release/installed: .venv/bin/uv requirements/release.lock
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-release
	$(BIN)/uv pip install -q --python .venv-release/bin/python --require-hashes -r requirements/release.lock
	touch $@

# hashed locks without addresses, for Python 3.11 to 3.13; those of tests and of a deployment are the run lock and more, that of verify a part of it
LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -q
LOCKS ?= requirements
lock: .venv/bin/uv
	$(LOCK) pyproject.toml -o $(LOCKS)/run.lock
	$(LOCK) pyproject.toml --extra deploy -c $(LOCKS)/run.lock -o $(LOCKS)/deploy.lock
	$(LOCK) pyproject.toml --extra test --extra scale --extra trino --extra mcp --extra deploy -c $(LOCKS)/run.lock -o $(LOCKS)/test.lock
	$(LOCK) verify/pyproject.toml -c $(LOCKS)/run.lock -o $(LOCKS)/verify.lock
	printf 'uv>=0.9\nhatchling>=1.27\n' | $(LOCK) - -c $(LOCKS)/run.lock -o $(LOCKS)/bootstrap.lock
	$(LOCK) requirements/bigquery-server.in -o $(LOCKS)/bigquery-server.lock
	$(LOCK) --no-deps requirements/xprof-peer.in -o $(LOCKS)/xprof-peer.lock
	$(LOCK) requirements/focus-validator.in -o $(LOCKS)/focus-validator.lock
	$(LOCK) requirements/release.in -o $(LOCKS)/release.lock
	$(LOCK) requirements/docs.in -o $(LOCKS)/docs.lock
	$(LOCK) requirements/engine-spark.in -o $(LOCKS)/engine-spark.lock

clean:
	rm -rf .engines .venv .venv-spark .venv-bigquery .venv-xprof-peer .venv-focus .venv-release .venv-docs build dist *.egg-info $(DEMO)
