"""`trainledger dbt`: one dbt command on the build file of a home, with the writer lock, environment and profile of a refresh.

dbt prints to the terminal itself. It works in a folder of its own below the cache, so that its results never pass for those
of a build. What changes tables leaves the mark of a partial build, which is never published.
"""

import os
import shlex
import subprocess
from collections.abc import Callable

from dagster_project.base.dbt_project import project_folder
from dagster_project.base.failures import UsageError
from dagster_project.base.locking import writer_lock
from dagster_project.publishing.catalogue import publish_dbt_page
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.builds import mark_partial
from dagster_project.warehouse.site import Site

HELP = {"--version", "-v", "-V", "--help", "-h"}
NEED_NO_TABLES = {"clean", "deps", "init", "list", "ls", "parse"}
ONLY_READ = NEED_NO_TABLES | {"compile", "debug", "docs", "show", "source", "test"}


def run(settings: Settings, arguments: list[str], wait: float, say: Callable[[str], None]) -> int:
    """Run it. Returns 0; 1 when a model or test failed; 2 when dbt did not work.

    What dbt is to do is known by the first argument. Where that is an option (`--quiet ls`) the command counts as one that
    changes tables: a refresh too many costs minutes, a changed table that is published costs trust.
    """
    home, first = settings.home, arguments[0]
    site, target = Site.of_home(home, settings.memory_limit), home / "cache" / "dbt-by-hand"
    if not (first in NEED_NO_TABLES or HELP & set(arguments)) and not site.build_file.exists():
        raise UsageError("nothing has been built yet", where=str(site.build_file), remedy="Run `trainledger refresh` first.")
    with writer_lock(home, shlex.join(["trainledger", "dbt", "--", *arguments]), wait, say):
        if not HELP & set(arguments):
            modelling.lend_parse_state(home, target)
            if first not in ONLY_READ:
                say("What this leaves is not published. The next `trainledger refresh` builds everything again.")
                mark_partial(site)
        # the project by environment, not by option: options must follow the command, wherever that is among the arguments
        project = {"DBT_PROJECT_DIR": str(project_folder()), "DBT_PROFILES_DIR": str(project_folder())}
        surroundings = os.environ | modelling.environment(site.build_file, target, site.memory_limit) | project
        done = subprocess.run([str(modelling.dbt_executable(target)), *arguments], env=surroundings, cwd=target, check=False)
        if first == "docs" and "--static" in arguments and done.returncode == 0:
            say(f"dbt's pages in one file: {publish_dbt_page(target / 'static_index.html', site.published)}")
            return 0
    if first == "docs" and (page := target / "index.html").exists():
        say(f"dbt's pages: {page}. `trainledger dbt -- docs serve` shows them; `docs generate --static` publishes one file.")
    return done.returncode if done.returncode in (0, 1) else 2
