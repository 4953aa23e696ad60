"""Lines of a YAML text: where a key is, keys that are there twice, and values that somebody hoped would be filled in."""

import re
from collections.abc import Iterable, Iterator

import yaml

Parts = tuple[int | str, ...]  # where in the document: sources, 0, location
# ${BUCKET}, or $BUCKET where a part of a path begins: YAML fills in neither
_VARIABLE = re.compile(r"\$\{[^}]*\}|(?:^|(?<=[/:]))\$[A-Z_][A-Z0-9_]*\b")


def line_of(text: str, parts: Iterable[int | str]) -> int:
    """The line of a key, or of the nearest one around it."""
    node, line = yaml.compose(text, Loader=yaml.SafeLoader), 1
    for part in parts:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            found = (node.value[part], node.value[part])
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def key_twice(text: str) -> tuple[str, int, int] | None:
    """The first key that a mapping has twice, with both lines: YAML takes the last and drops the others without a word."""
    for node in _nodes(yaml.compose(text, Loader=yaml.SafeLoader)):
        seen: dict[str, int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen and key.tag != "tag:yaml.org,2002:merge":
                return name, seen[name], line
            seen[name] = line
    return None


def variable(text: str) -> tuple[str, int] | None:
    """The first variable that a value has, as it is written, with its line."""
    for node in _nodes(yaml.compose(text, Loader=yaml.SafeLoader)):
        if isinstance(node, yaml.ScalarNode) and (name := variable_in([node.value])):
            return name, node.start_mark.line + 1
    return None


def variable_in(texts: Iterable[str]) -> str | None:
    """The first variable that one of some texts has, as it is written."""
    return next((match[0] for text in texts if (match := _VARIABLE.search(text))), None)


def _nodes(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """Every node once, in the order of the text: an alias is the node that it names."""
    waiting, seen = [root] if root else [], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting += [one for pair in reversed(node.value) for one in reversed(pair)]
        elif isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
