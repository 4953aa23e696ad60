"""Which project a row of Google's is of, when it gives the project's id without its number."""

from collections.abc import Iterable
from datetime import date


class Projects:
    """The numbers that bills and carbon of a month give beside ids."""

    def __init__(self, named: Iterable[tuple[date, str, str]]) -> None:
        self._numbers: dict[tuple[date, str], str] = {}
        for month, project_id, number in named:
            if project_id and number:
                self._numbers[month, project_id] = min(number, self._numbers.get((month, project_id), number))

    def number_of(self, month: date, number: str, project_id: str) -> str:
        return number or self._numbers.get((month, project_id), "")

    def account_of(self, month: date, number: str, project_id: str) -> str:
        return self.number_of(month, number, project_id) or project_id
