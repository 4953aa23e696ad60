"""Where a machine is: what its bill states that month, its own name, its telemetry, or where the run's chips cost most."""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from .holdings import Hold
from .hyperpod import is_together
from .ladder import Part
from .lines import Line
from .months import bounds, month_of
from .observed import Telemetry
from .records import CUSTOM_JOB, Runs
from .splitting import RESIDUAL
from .tagged import name_of

_NAMED = (
    re.compile(r"^arn:aws:[a-z0-9-]+:([a-z0-9-]+):"),
    re.compile(r"/locations/([a-z]+-[a-z]+[0-9]+)/"),
    re.compile(r"^(?:.*/)?([a-z]+-[a-z]+[0-9]+)-(?:[a-z]|ai[0-9][a-z])/"),
)


class Places:
    def __init__(
        self, lines: Iterable[Line], google_lines: Iterable, parts: Iterable[Part], runs: Runs, telemetry: Telemetry
    ) -> None:
        self._runs = runs
        self._telemetry = telemetry
        self._seen: dict[tuple[str, date], set[str]] = {}
        self._billed: dict[str, dict[date, dict[str, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
        for line in lines:
            # a row of a cluster of HyperPod is of all its machines, not of one of them
            for name in (line.resource_id, *filter(is_together, line.of_cluster)):
                if name:
                    self._bill(name, line)
        for line in google_lines:
            jobs = (CUSTOM_JOB.search(name) for name in (line.resource_name, line.global_name))
            # a pool, a reservation or a cluster is where its chips are billed
            wider = line.wider.keys() if line.component == "accelerator" else set()
            for name in line.machines | wider | {job[0] for job in jobs if job}:
                self._bill(name, line)
        self._billed_months = {(line.provider_name, line.usage_month) for line in (*lines, *google_lines)}
        self._costs: dict[tuple[str, date, bool], dict[str, int]] = defaultdict(
            lambda: defaultdict(int)
        )  # of accelerators or not
        self._providers: dict[str, str] = {}
        for part in parts:
            if part.run != RESIDUAL:
                self._providers.setdefault(part.run, part.line.provider_name)
                if part.line.region_id:
                    is_accelerator = part.component == "accelerator"
                    self._costs[part.run, part.line.usage_month, is_accelerator][part.line.region_id] += part.effective

    def bill_tagged(self, lines: Iterable[tuple[str, Line]]) -> None:
        """A machine that a tag alone shows is where its lines were billed."""
        for _, line in lines:
            if not isinstance(line, Line) or not line.resource_id:
                self._bill(name_of(line), line)

    def _bill(self, name: str, line: Line) -> None:
        if line.region_id and line.is_usage:
            self._billed[name][line.usage_month][line.region_id] += line.effective

    def provider_of(self, run: str) -> str:
        return self._runs.provider_of.get(run) or self._providers.get(run, "AWS")

    def region_of(self, hold: Hold) -> str:
        if billed := self._billed.get(hold.resource_id, {}).get(hold.month):
            return _most(billed)
        for pattern in _NAMED:
            if found := pattern.search(hold.resource_id):
                return found[1]
        if len(seen := self._seen_in(hold.resource_id, hold.month)) == 1:
            return next(iter(seen))
        return self._dearest(hold.run, hold.month) or self._region_before(hold)

    def _dearest(self, run: str, month: date) -> str:
        return _most(self._costs.get((run, month, True)) or self._costs.get((run, month, False), {}))

    def _region_before(self, hold: Hold) -> str:
        """While the provider has billed nothing of the month, the region of the bill before it."""
        if (self.provider_of(hold.run), hold.month) in self._billed_months:
            return ""
        before = month_of(bounds(hold.month)[0] - 1)
        return _most(self._billed.get(hold.resource_id, {}).get(before, {})) or self._dearest(hold.run, before)

    def _seen_in(self, resource_id: str, month: date) -> set[str]:
        """Regions that samples of the month name while somebody holds the machine."""
        if (resource_id, month) not in self._seen:
            windows = self._runs.windows.get(resource_id, [])
            self._seen[resource_id, month] = {
                sample.region for sample, run in self._telemetry.by_machine.get(resource_id, ())
                if sample.region and month_of(sample.end - 1) == month and any(
                    sample.start < window.end and sample.end > window.start and run in (None, window.run) for window in windows
                )
            }  # fmt: skip
        return self._seen[resource_id, month]


def _most(costs: dict[str, int]) -> str:
    return min(costs, key=lambda region: (-costs[region], region), default="")
