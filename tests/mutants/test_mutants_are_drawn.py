"""The mutants themselves: drawn alike from one seed, half of SQL, Python that still parses, nothing of comments or Jinja."""

import ast

from tests.mutants.changes import NOT_SQL, ROOT, drawn


def test_one_seed_draws_the_same_mutants_and_half_of_them_are_sql() -> None:
    changes = drawn(40, "a seed")
    assert changes == drawn(40, "a seed")
    assert changes != drawn(40, "another seed")
    assert sum(change.path.suffix == ".sql" for change in changes) == 20


def test_a_mutant_is_another_program_that_parses() -> None:
    for change in drawn(200, "parsed"):
        before = (ROOT / change.path).read_text(encoding="utf-8")
        after = change.applied(before)
        assert after != before
        if change.path.suffix == ".py":
            assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before)), change.diff()
        else:
            assert NOT_SQL.findall(after) == NOT_SQL.findall(before), change.diff()
