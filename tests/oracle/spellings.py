"""What the name of an accelerator in a run record means: its type, and the chips of a node where the name counts them."""

import re

TYPES = {
    "ct3": "v3",
    "ct3p": "v3",
    "ct4p": "v4",
    "ct5l": "v5e",
    "ct5lp": "v5e",
    "ct5p": "v5p",
    "ct6e": "v6e",
    "tpu7x": "v7x",
    "v5litepod": "v5e",
    "v5lite": "v5e",
    "v2": "v2",
    "v3": "v3",
    "v4": "v4",
    "v5e": "v5e",
    "v5p": "v5p",
    "v6e": "v6e",
    "v7x": "v7x",
}
CORES = {"v2": 2, "v3": 2, "v4": 2, "v5p": 2, "v7x": 2, "v5e": 1, "v6e": 1}  # what the number of a slice counts, on each chip
HOST = 4

# chips as schedulers and drivers name them; Google's own names of GPUs stay
CHIPS = {"trainium": "trn1", "trainium1": "trn1", "trainium2": "trn2", "inferentia2": "inf2"}
CHIPS |= {chip: chip for chip in ("a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "l40s", "l4", "a10g")}
GOOGLES = {"nvidia-a100-80gb", "nvidia-h100-80gb", "nvidia-h200-141gb", "nvidia-b200", "nvidia-gb200", "nvidia-gb300"}


def _chip(written: str) -> str | None:
    words = re.split(r"[-_ /:]+", written.lower())
    if written.strip().lower().replace("_", "-") in GOOGLES:
        return None
    while words and words[0] in ("gres", "gpu", "neuron", "nvidia"):
        words = words[1:]
    is_one = words and all(re.fullmatch(r"sxm\d?|ac|\d{2,3}gb|hbm\d?e?", word) for word in words[1:])
    return CHIPS.get(words[0]) if is_one else None


def read(name: str | None, nodes: int) -> tuple[str | None, int | None]:
    """Type and chips of each of `nodes` nodes under this name; a name that is not known means itself."""
    written = (name or "").strip().removeprefix("ml.")
    if not written:
        return None, None
    if chip := _chip(written):
        return chip, None
    words = written.lower().replace("_", "-").replace(" ", "-").replace("v5-lite", "v5lite").split("-")
    if words[0] == "tpu":
        words = words[1:]
    kind = TYPES.get(words[0]) if words else None
    if kind is None:
        return written, None
    last = words[-1]
    if last.endswith("t") and last[:-1].isdigit():
        return kind, int(last[:-1])
    if len(words) == 1 or not last.isdigit():
        return kind, None
    chips = int(last) // CORES[kind]
    is_one_host = chips <= (8 if CORES[kind] == 1 else HOST)
    return kind, HOST if not is_one_host and chips == HOST * nodes else chips or None
