"""A workbook read back: every cell with its kind, its value and the format that shows it, and what is hidden.

Workbooks of ours have no formula, macro, picture or comment, and lie in their archive without compression: what else there is, is
named. Nothing of a workbook is run.
"""

import io
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
PARTS = frozenset(
    {
        "[Content_Types].xml",
        "_rels/.rels",
        "docProps/app.xml",
        "docProps/core.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/sharedStrings.xml",
        "xl/styles.xml",
        "xl/theme/theme1.xml",
        "xl/workbook.xml",
    }
)
LARGEST = 256 << 20  # bytes of all parts
ERRORS = (zipfile.BadZipFile, ElementTree.ParseError, KeyError, ValueError, IndexError, TypeError, AttributeError, OSError)


def texts(content: bytes) -> list[str]:
    """A line per cell, sheet by sheet, and one for all that is hidden or none of ours. ValueError: it is no workbook."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if any(one.compress_type != zipfile.ZIP_STORED for one in entries) or sum(one.file_size for one in entries) > LARGEST:
                raise ValueError("its parts are compressed")
            return [*_lines(archive)]
    except ERRORS as error:
        raise ValueError(f"it cannot be read as a workbook ({type(error).__name__})") from None


def _lines(archive: zipfile.ZipFile) -> Iterator[str]:
    for name in sorted(archive.namelist()):
        if name not in PARTS and not name.startswith("xl/worksheets/sheet"):
            yield f"part {name}"
    shared = [_words(item) for item in ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))]
    formats = _formats(archive)
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {one.attrib["Id"]: one.attrib["Target"] for one in relations}
    sheets = ElementTree.fromstring(archive.read("xl/workbook.xml")).find(f"{MAIN}sheets")
    for sheet in sheets if sheets is not None else ():
        name = sheet.attrib["name"]
        yield f"sheet {name} {sheet.attrib.get('state', '')}".rstrip()
        target = targets[sheet.attrib[f"{RELATIONS}id"]]
        for line in _sheet(archive.read(f"xl/{target}"), shared, formats):
            yield f"{name}!{line}"
    for part in ElementTree.fromstring(archive.read("docProps/core.xml")):
        yield f"{part.tag.rpartition('}')[2]} {part.text}"


def _sheet(content: bytes, shared: list[str], formats: list[str]) -> Iterator[str]:
    """Its cells, links and hidden parts. Files of ours have no prefix, so that names of parts are those of the schema."""
    for _, part in ElementTree.iterparse(io.BytesIO(content)):
        kind, attributes = part.tag.removeprefix(MAIN), part.attrib
        if kind == "c":
            place, cell = attributes["r"], attributes.get("t", "n")
            value = part.findtext(f"{MAIN}v")
            words = shared[int(value)] if cell == "s" and value else _words(part) if cell == "inlineStr" else value or ""
            if part.find(f"{MAIN}f") is not None:
                yield f"{place} formula"
            if words:
                yield f"{place} {'s' if cell == 'inlineStr' else cell} {formats[int(attributes.get('s', '0'))]} {words}"
        elif kind in ("row", "col") and attributes.get("hidden", "0") not in ("0", "false"):
            yield f"hidden {kind} {attributes.get('r') or attributes['min'] + ':' + attributes['max']}"
        elif kind == "hyperlink":
            yield f"{attributes['ref']} leads to {attributes.get('location') or 'elsewhere'}"
        elif kind in ("drawing", "legacyDrawing", "oleObject", "control", "conditionalFormatting", "mergeCell", "dataValidation"):
            yield f"{kind}"
        if kind == "row":
            part.clear()


def _formats(archive: zipfile.ZipFile) -> list[str]:
    """By which format each style shows a value: one could print other digits than the cell has."""
    styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
    own = {one.attrib["numFmtId"]: one.attrib["formatCode"] for one in styles.iter(f"{MAIN}numFmt")}
    used = styles.find(f"{MAIN}cellXfs")
    ids = [one.attrib.get("numFmtId", "0") for one in used] if used is not None else []
    return [own.get(id, f"#{id}") for id in ids]


def _words(item: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in item.iter(f"{MAIN}t"))
