"""The fonts of the PDF: files from installed packages, never those of the machine, so that bytes are the same everywhere.

What no font has is printed as its code point, ‹U+1F680›, never as an empty box. Of the packages only the files are read.
"""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from unicodedata import category

from fontTools.ttLib import TTFont

from reports.page.names import JOINERS, code_point

# the family, its package, and its file there; in the order in which they are asked for a character
FONTS = (
    ("Noto Sans", "fontpkg_noto_sans", "files/NotoSans[wdth,wght].ttf"),
    ("Noto Sans Hebrew", "justmytype_intl_rtl", "fonts/ofl/notosanshebrew/NotoSansHebrew[wdth,wght].ttf"),
    ("Noto Sans Arabic", "justmytype_intl_rtl", "fonts/ofl/notosansarabic/NotoSansArabic[wdth,wght].ttf"),
    ("Noto Sans CJK SC", "noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc"),
)
FAMILIES = [family for family, _, _ in FONTS]


def _file(package: str, name: str) -> Path:
    spec = find_spec(package)  # finds the folder; nothing of the package runs
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"The fonts of {package} are not installed; requirements/run.lock has them.")
    return Path(spec.origin).parent / name


def folders() -> list[Path]:
    return sorted({_file(package, name).parent for _, package, name in FONTS})


@cache
def _letters(n: int) -> frozenset[int]:
    """The code points of the n-th font."""
    with TTFont(_file(*FONTS[n][1:]), fontNumber=0, lazy=True) as font:
        return frozenset(font.getBestCmap())


def _clusters(text: str) -> Iterator[str]:
    """A letter with the marks and joiners that belong to it: one font has to have all of them."""
    cluster = ""
    for letter in text:
        if cluster and (letter in JOINERS or category(letter).startswith("M")):
            cluster += letter
        else:
            yield cluster
            cluster = letter
    yield cluster


def _has(n: int, cluster: str) -> bool:
    return all(ord(letter) in _letters(n) for letter in cluster)


def printable(text: str) -> str:
    """The text as these fonts can print it."""
    if text.isascii() or _has(0, text):
        return text
    fonts = range(len(FONTS))
    return "".join(
        cluster if any(_has(n, cluster) for n in fonts) else "".join(map(code_point, cluster)) for cluster in _clusters(text)
    )


def plain(text: str) -> str:
    """The text in letters of the first font that stand alone: what is left where shaping fails."""
    return "".join(letter if _has(0, letter) and not category(letter).startswith("M") else code_point(letter) for letter in text)
