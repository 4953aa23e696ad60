"""The page itself: hostile names, nothing from outside, headings, captions, drawings, and how it is in a browser."""

import csv
import itertools
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from reports.page.html import SCRIPT
from reports.page.words import SCOPE_SENTENCE
from reports.quarterly import QuarterlyReport
from tests.browser import open_page
from tests.reports.kit import rendered
from tests.reports.published_fixture import write_published

VOID = {"meta", "rect", "line", "br", "col", "link", "input"}


class Page(HTMLParser):
    """Elements with their attributes and the text inside each, as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[tuple[str, str]] = []
        self.feed(html)
        assert self.open == [], "unclosed elements"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.text.append((self.open[-1] if self.open else "", data))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> QuarterlyReport:
    folder = tmp_path_factory.mktemp("report")
    return rendered(
        write_published(folder / "p.duckdb"),
        "2026Q3",
        folder,
        organisation='Ex<script>alert(1)</script> & "Söhne"',
        note="As of <i>yesterday</i>.",
    )


@pytest.fixture(scope="module")
def page(report: QuarterlyReport) -> Page:
    return Page(report.html.read_text(encoding="utf-8"))


def rows_of(report: QuarterlyReport, table: str) -> list[dict[str, str]]:
    [path] = [path for path in report.tables if path.stem == table]
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_accounts_and_services_have_their_names_beside_their_ids(report: QuarterlyReport, page: Page) -> None:
    cells = rows_of(report, "modelled_vs_provider")
    assert {(row["sub_account_id"], row["account_name"], row["service_code"], row["service_name"]) for row in cells} == {
        ("000011112222", "research <AWS>", "AmazonEC2", "Amazon Elastic Compute Cloud"),
        ("112233445566", "research <Google Cloud>", "6F81-5844-456A", "Compute Engine"),
    }
    assert {row["payer_account_name"] for row in rows_of(report, "presence")} == {"Example payer", ""}
    shown = {text.strip() for _, text in page.text}
    assert {"research <AWS>", "research <Google Cloud>", "Compute Engine", "Example payer"} <= shown


def test_no_region_is_empty_in_the_data_and_a_dash_with_a_footnote_on_the_page(report: QuarterlyReport, page: Page) -> None:
    assert {row["region_id"] for row in rows_of(report, "emissions_by_region")} >= {"", "us-east-2"}
    assert any("usage that the provider gives no region" in text for _, text in page.text)


def test_hostile_names_are_shown_and_do_nothing(report: QuarterlyReport, page: Page) -> None:
    assert {tag for tag, _ in page.elements} & {"i", "b", "iframe", "object", "img", "link", "base", "form"} == set()
    assert page.named("script") == [{}] and "".join(data for tag, data in page.text if tag == "script") == SCRIPT
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    text = "".join(data for _, data in page.text)
    for shown in ('<script>alert("team")</script>', "Ex<script>alert(1)</script>", "As of <i>yesterday</i>."):
        assert shown in text


def test_nothing_is_loaded_from_outside(report: QuarterlyReport, page: Page) -> None:
    html = report.html.read_text(encoding="utf-8")
    names = ("href", "src", "srcset", "action", "data")
    links = [value for _, attributes in page.elements for name, value in attributes.items() if name in names]
    assert links and all(
        link.startswith("#") or link == "report.json" or re.fullmatch(r"tables/\w+\.csv", link) for link in links
    )
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style and "@import" not in style
    policy = next(meta["content"] for meta in page.named("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    ours = b64encode(sha256(SCRIPT.encode()).digest()).decode()  # no other script runs, whatever a name may hold
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{ours}'"
    # addresses appear only where a record's own name holds one; sources are named without a scheme
    assert set(re.findall(r"https?://[\w.]+", html)) == {"http://evil.example"}


def test_every_link_of_the_page_leads_somewhere(report: QuarterlyReport, page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.named("a"):
        target = attributes["href"]
        assert target[1:] in ids if target.startswith("#") else (report.html.parent / target).is_file(), target


def test_formulas_in_csv_cells_are_text_and_negative_numbers_stay_numbers(report: QuarterlyReport) -> None:
    seen = []
    for path in report.tables:
        with path.open(newline="", encoding="utf-8") as handle:
            seen += [cell for row in csv.reader(handle) for cell in row]
    dangerous = [cell for cell in seen if cell.startswith(("=", "+", "-", "@")) and not re.fullmatch(r"-\d+(\.\d+)?", cell)]
    assert dangerous == []
    assert '\'=HYPERLINK("http://evil.example","x")' in seen and "'-1+1" in seen


def test_the_scope_sentence_is_on_the_page_once_and_in_the_margin_of_printed_ones(page: Page) -> None:
    assert sum(data.count(SCOPE_SENTENCE) for tag, data in page.text if tag != "style") == 1
    assert next(data for tag, data in page.text if tag == "style").count(SCOPE_SENTENCE) == 1


def test_a_name_comes_before_its_id(report: QuarterlyReport) -> None:
    html = report.html.read_text(encoding="utf-8")
    assert '">Compute Engine <span class="second">6F81-5844-456A</span></td>' in html


def test_headings_go_down_one_level_at_a_time_and_the_language_is_named(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert page.named("html") == [{"lang": "en"}]


def test_every_table_has_a_caption_and_every_header_a_scope(report: QuarterlyReport, page: Page) -> None:
    html = report.html.read_text(encoding="utf-8")
    assert len(page.named("table")) == html.count("<caption") > 15
    assert {attributes.get("scope") for attributes in page.named("th")} == {"col", "row", "colgroup"}


def test_every_drawing_has_a_title_a_description_and_its_numbers_in_a_table(report: QuarterlyReport, page: Page) -> None:
    drawings = page.named("svg")
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert len(drawings) >= 8
    for drawing in drawings:
        assert drawing["role"] == "img" and set(drawing["aria-labelledby"].split()) <= ids
    html = report.html.read_text(encoding="utf-8")
    for chart in html.split('<div class="chart ')[1:]:
        assert '<section class="table' in chart, "a chart without a table behind it"


def test_no_word_a_controller_may_not_file_is_used(report: QuarterlyReport) -> None:
    text = re.sub(r"<[^>]+>", " ", report.html.read_text(encoding="utf-8").partition("</style>")[2]).lower()
    for word in ("our scope 2", "carbon neutral", "saved", "avoided", "green ", "assured", "offset"):
        assert word not in text


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1240, "light"), (1240, "dark"), (390, "light")])
def test_a_browser_shows_the_page_alone_and_without_sideways_scrolling(report: QuarterlyReport, width: int, scheme: str) -> None:
    requests, problems = [], []
    with open_page(viewport={"width": width, "height": 1200}, color_scheme=scheme) as tab:
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.goto(report.html.as_uri())
        page_width = tab.evaluate("document.documentElement.scrollWidth")
        drawn = tab.evaluate("[...document.querySelectorAll('svg')].every(svg => svg.getBoundingClientRect().height > 20)")
        clipped = tab.evaluate(
            "[...document.querySelectorAll('svg text')].filter(t => { const b = t.getBBox(), v = "
            "t.ownerSVGElement.viewBox.baseVal;"
            " return b.x < -1 || b.x + b.width > v.width + 1; }).map(t => t.textContent)"
        )
    assert requests == [report.html.as_uri()] and problems == []
    assert page_width <= width and drawn and clipped == []
