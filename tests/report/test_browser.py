"""Pages opened from disk in a real browser: silent, without a request, for the keyboard, for paper, in the dark."""

from __future__ import annotations

from pathlib import Path

import browser
import made_report
import pytest
from test_page import written

pytestmark = browser.needed


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    return written(made_report.write(place / "run", 6, 3, 12), place / "report.html")


@pytest.fixture(scope="module")
def sheet_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from test_sheet import sheet

    place = tmp_path_factory.mktemp("sheet") / "cert.html"
    place.write_text(sheet(), encoding="utf-8")
    return place


def test_the_report_asks_for_nothing_and_complains_of_nothing(page_file: Path) -> None:
    with browser.opened(page_file) as (page, seen):
        assert "breaks" in page.text("h1")
        page.click("summary")
        assert page.evaluate("document.fonts.size") == 0
    assert seen.requests == [page_file.as_uri()]
    assert seen.complaints == []


def test_a_page_that_asks_and_complains_is_noticed(tmp_path: Path) -> None:
    place = tmp_path / "loud.html"
    place.write_text(
        "<script>console.log('aloud')</script><script>throw new Error('thrown')</script>"
        f"<meta http-equiv='Content-Security-Policy' content=\"img-src 'none'\"><img src='{tmp_path.as_uri()}/a.png'>"
        f"<link rel='stylesheet' href='{tmp_path.as_uri()}/absent.css'>"
    )
    with browser.opened(place) as (page, seen):
        assert page.text("body") == ""
    assert seen.requests[0] == place.as_uri()
    assert f"{tmp_path.as_uri()}/absent.css" in seen.requests
    for words in ("aloud", "Uncaught", "Content Security Policy", "ERR_FILE_NOT_FOUND"):
        assert any(words in said for said in seen.complaints), (words, seen.complaints)


def test_the_keyboard_reaches_and_opens_the_evidence(page_file: Path) -> None:
    with browser.opened(page_file) as (page, _):
        page.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.box(".skip")["x"] >= 0
        for _step in range(200):
            page.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        focused = "summary:focus"
        assert page.count(focused) == 1
        assert page.of(focused, "getComputedStyle(e).outlineStyle") == "solid"
        before = page.of(focused, "e.parentElement.open")
        page.press("Enter")
        assert page.of(focused, "e.parentElement.open") is not before


def test_a_link_of_the_matrix_opens_what_it_leads_to(page_file: Path) -> None:
    with browser.opened(page_file) as (page, _):
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = false })")
        assert not page.visible("#c1 svg")
        page.click(".matrix tbody a")
        page.until("document.querySelector('#c1').closest('details').open")
        assert page.visible("#c1 svg")


def test_headers_have_scopes_and_pictures_have_words(page_file: Path) -> None:
    with browser.opened(page_file) as (page, _):
        assert page.count("th:not([scope])") == 0
        assert page.count("figure > svg") > 10
        assert page.count("figure > svg:not([aria-label])") == 0
        assert page.count("html[lang]") == 1
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(page_file: Path, scheme: str) -> None:
    with browser.opened(page_file, scheme) as (page, _):
        paper = ("body", "backgroundColor")
        assert (browser.luminance(page, *paper) < 0.2) == (scheme == "dark")
        for selector in ("body", "caption", ".kind", ".defect", "dt"):
            assert browser.contrast(page, (selector, "color"), paper) >= 4.5, selector
        assert browser.contrast(page, (".bad", "color"), (".bad", "backgroundColor")) >= 4.5
        assert browser.contrast(page, ("svg text", "fill"), paper) >= 4.5


def test_paper_shows_what_is_folded_on_the_screen(page_file: Path) -> None:
    with browser.opened(page_file, "dark") as (page, _):
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = false })")
        assert not page.visible("#c2 figure")
        short = page.evaluate("document.body.scrollHeight")
        page.media("dark", "print")
        assert page.evaluate("document.body.scrollHeight") > 1.5 * short
        assert browser.luminance(page, "body", "backgroundColor") == 1.0
        assert page.pdf().startswith(b"%PDF")


def test_a_narrow_screen_does_not_scroll_sideways(page_file: Path) -> None:
    with browser.opened(page_file, width=390) as (page, _):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_text_of_a_kernel_stays_text(tmp_path: Path) -> None:
    evil = "<script>document.title='mine'</script><img src=x onerror=alert(1)>\"'&"
    place = written(made_report.write(tmp_path / "run", 2, 2, 4, evil), tmp_path / "report.html")
    with browser.opened(place) as (page, seen):
        assert page.evaluate("document.title") != "mine"
        assert page.count("script, img") == 0
        assert evil in page.text(".defect")
    assert seen.requests == [place.as_uri()]
    assert seen.complaints == []


def test_the_certificate_is_one_sheet_of_paper_and_silent(sheet_file: Path) -> None:
    with browser.opened(sheet_file) as (page, seen):
        assert "kc verify" in page.text("pre")
        assert page.count("th:not([scope])") == 0
        paper = page.pdf()
        assert paper.count(b"/Type /Page\n") == 1
        assert b"/MediaBox [0 0 595" in paper or b"/MediaBox [0 0 594" in paper
    assert seen.requests == [sheet_file.as_uri()]
    assert seen.complaints == []
