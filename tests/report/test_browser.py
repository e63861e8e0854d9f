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
        assert "breaks" in page.locator("h1").inner_text()
        page.locator("summary").first.click()
        assert page.evaluate("document.fonts.size") == 0
    assert seen.requests == [page_file.as_uri()]
    assert seen.complaints == []


def test_the_keyboard_reaches_and_opens_the_evidence(page_file: Path) -> None:
    with browser.opened(page_file) as (page, _):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        box = page.locator(".skip").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        for _step in range(200):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        focused = page.locator("summary:focus")
        assert focused.count() == 1
        assert focused.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
        before = focused.evaluate("e => e.parentElement.open")
        page.keyboard.press("Enter")
        assert focused.evaluate("e => e.parentElement.open") is not before


def test_a_link_of_the_matrix_opens_what_it_leads_to(page_file: Path) -> None:
    with browser.opened(page_file) as (page, _):
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = false })")
        page.locator(".matrix tbody a").first.click()
        page.wait_for_function("document.querySelector('#c1').closest('details').open")
        assert page.locator("#c1 svg").first.is_visible()


def test_headers_have_scopes_and_pictures_have_words(page_file: Path) -> None:
    with browser.opened(page_file) as (page, _):
        assert page.locator("th:not([scope])").count() == 0
        assert page.locator("figure > svg").count() > 10
        assert page.locator("figure > svg:not([aria-label])").count() == 0
        assert page.locator("html[lang]").count() == 1
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
        assert not page.locator("#c2 figure").first.is_visible()
        short = page.evaluate("document.body.scrollHeight")
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("document.body.scrollHeight") > 1.5 * short
        assert browser.luminance(page, "body", "backgroundColor") == 1.0
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_a_narrow_screen_does_not_scroll_sideways(page_file: Path) -> None:
    with browser.opened(page_file, width=390) as (page, _):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_text_of_a_kernel_stays_text(tmp_path: Path) -> None:
    evil = "<script>document.title='mine'</script><img src=x onerror=alert(1)>\"'&"
    place = written(made_report.write(tmp_path / "run", 2, 2, 4, evil), tmp_path / "report.html")
    with browser.opened(place) as (page, seen):
        assert page.title() != "mine"
        assert page.locator("script, img").count() == 0
        assert evil in page.locator(".defect").first.inner_text()
    assert seen.requests == [place.as_uri()]
    assert seen.complaints == []


def test_the_certificate_is_one_sheet_of_paper_and_silent(sheet_file: Path) -> None:
    with browser.opened(sheet_file) as (page, seen):
        assert "kc verify" in page.locator("pre").inner_text()
        assert page.locator("th:not([scope])").count() == 0
        paper = page.pdf(prefer_css_page_size=True)
        assert paper.count(b"/Type /Page\n") == 1
        assert b"/MediaBox [0 0 595" in paper or b"/MediaBox [0 0 594" in paper
    assert seen.requests == [sheet_file.as_uri()]
    assert seen.complaints == []
