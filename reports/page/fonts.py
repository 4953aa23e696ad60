"""The fonts of the PDF: files from installed packages, never those of the machine, so that bytes are the same everywhere.

What no font has is printed as its code point, ‹U+1F680›, never as an empty box. Of the packages only the files are read, and a
file with other bytes is refused before it is: each package is one person's, and a report's bytes are a promise.
"""

from collections.abc import Iterator
from functools import cache
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from unicodedata import category

from fontTools.ttLib import TTFont

from reports.errors import FontError
from reports.page.names import JOINERS, code_point

# the family, its package, its file there and the file's sha256; in the order in which they are asked for a character. The files
# are those of github.com/google/fonts, ofl/notosans*, and of github.com/notofonts/noto-cjk, Sans2.004 (compared on 2026-11-23)
FONTS = (
    (
        "Noto Sans",
        "fontpkg_noto_sans",
        "files/NotoSans[wdth,wght].ttf",
        "bfb7bb691513f12e734dc346c03a03f784912432d7e3fa8e56efcf906fe86b3d",
    ),
    (
        "Noto Sans Hebrew",
        "justmytype_intl_rtl",
        "fonts/ofl/notosanshebrew/NotoSansHebrew[wdth,wght].ttf",
        "7ef36a2c3593758cdb622e1bdef4f84523e92fbc3ccc667438dd80ff54c2de88",
    ),
    (
        "Noto Sans Arabic",
        "justmytype_intl_rtl",
        "fonts/ofl/notosansarabic/NotoSansArabic[wdth,wght].ttf",
        "63111b5b2e074dd48cc67692e0a2726d86ee94c1c37fe8598257b7b4e87e869e",
    ),
    (
        "Noto Sans CJK SC",
        "noto_cjk_sans_otc",
        "NotoSansCJK-Regular.ttc",
        "b76b0433203017ca80401b2ee0dd69350349871c4b19d504c34dbdd80541690a",
    ),
)
FAMILIES = [family for family, *_ in FONTS]


@cache
def _file(package: str, name: str, sha256: str) -> Path:
    """A font's file, whose bytes are those that reports are set in."""
    remedy = "Install the versions of requirements/run.lock, which have hashes."
    spec = find_spec(package)  # finds the folder; nothing of the package runs
    if spec is None or spec.origin is None:
        raise FontError(f"The font package {package} is not installed. {remedy}")
    path = Path(spec.origin).parent / name
    with path.open("rb") as file:
        if file_digest(file, "sha256").hexdigest() != sha256:
            raise FontError(f"{path} is not the font that reports are set in: its sha256 differs. {remedy}")
    return path


def folders() -> list[Path]:
    return sorted({_file(*font).parent for _, *font in FONTS})


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
