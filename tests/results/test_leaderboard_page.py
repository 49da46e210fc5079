"""The leaderboard's page in a browser: sort, filter, theme, and what it holds against the CSV beside it."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from omni_bench.results.leaderboard import build_leaderboard, write_leaderboard
from tests.browser import opened
from tests.records import finished, published_records, write_records

EVIL = "</script><b>x</b><img src=x onerror=alert(1)>\"'"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    records = published_records(6)
    records += [
        finished("Awakening", EVIL, 0.95, protocol="multi_subject", family="Type-III", seed=s) for s in range(3)
    ]
    records += [finished("Awakening", f"once {i}", 0.5 + i / 10, protocol="multi_subject") for i in range(2)]
    records += [finished("other", model, 0.7, seed=s) for model in ("CBraMod", "REVE") for s in range(3)]
    return write_leaderboard(build_leaderboard(write_records(folder / "runs", records), 3), folder / "board", 3)


def shown(page: Any, table: str) -> list[list[str]]:
    """Texts of the rows that are visible."""
    return page.eval_on_selector_all(
        f"#{table} tbody tr",
        "rows => rows.filter(r => !r.hidden).map(r => [...r.cells].map(c => c.textContent.trim()))",
    )


def test_page_shows_the_csv_sorts_and_filters(page_file: Path) -> None:
    ranks = pd.read_csv(page_file.parent / "ranks.csv")
    cells = pd.read_csv(page_file.parent / "cells.csv")
    with opened(page_file) as (page, requests):
        page.select_option("#filter-protocol", "multi_subject")
        page.select_option("#filter-family", "all")
        own = ranks[(ranks["protocol"] == "multi_subject") & ranks["ranked"]]
        of_all = own[own["family"] == "all"]
        rows = shown(page, "ranks")
        assert [row[0] for row in rows] == of_all["model"].tolist()
        assert [float(row[1]) for row in rows] == pytest.approx(of_all["published"].tolist(), abs=0.0051)

        page.click("#ranks th button[data-key=plain]")
        assert [float(row[3]) for row in shown(page, "ranks")] == pytest.approx(sorted(of_all["plain"]), abs=0.0051)
        page.click("#ranks th button[data-key=plain]")
        assert shown(page, "ranks")[0][0] == of_all.loc[of_all["plain"].idxmax(), "model"]
        assert page.get_attribute("#ranks th:has(button[data-key=plain])", "aria-sort") == "descending"

        page.select_option("#filter-family", "Type-III")
        of_family = own[own["family"] == "Type-III"].set_index("model")["published"]
        found = {row[0]: float(row[1]) for row in shown(page, "ranks")}
        assert found == pytest.approx(of_family.to_dict(), abs=0.0051)
        assert found[EVIL] == of_family[EVIL]

        values = cells[(cells["protocol"] == "multi_subject") & (cells["family"] == "Type-III")]
        values = values[values["status"] != "apart"]
        assert len(shown(page, "cells")) == len(values)
        page.click("#cells th button[data-key=value]")
        page.click("#cells th button[data-key=value]")
        numbers = [row[4] for row in shown(page, "cells")]
        assert [float(text) for text in numbers if text != "–"] == pytest.approx(
            sorted(values["value"].dropna(), reverse=True), abs=0.00051
        )
        assert numbers[-1] == "–"

        page.fill("#filter-model", "cbra")
        assert {row[0] for row in shown(page, "ranks")} == {"CBraMod"}
        page.fill("#filter-model", "")
        page.select_option("#filter-family", "all")
        page.select_option("#filter-ranked", "no")
        assert [row[0] for row in shown(page, "ranks")] == ["once 0", "once 1"]  # still by plain, descending
        assert {row[9] for row in shown(page, "cells")} == {"1 of 3 seeds"}
        assert requests == [page_file.as_uri()]


def test_names_stay_text_and_pictures_speak(page_file: Path) -> None:
    with opened(page_file) as (page, requests):
        assert page.locator("img, b:text-is('x'), main script").count() == 0
        assert page.locator("td", has_text=EVIL).count() > 0
        pictures = page.locator("figure [role=img]")
        assert pictures.count() > 3
        assert all(pictures.nth(i).get_attribute("aria-label") for i in range(pictures.count()))
        with page.expect_download() as download:
            page.locator("section:not([hidden]) a[download]").first.click()
        saved = Path(download.value.path()).read_text()
        assert saved == (page_file.parent / "figures" / download.value.suggested_filename).read_text()
        assert [url for url in requests if not url.startswith("data:")] == [page_file.as_uri()]


def test_themes_differ_and_text_is_legible_in_both(page_file: Path) -> None:
    colours = []
    for dark in (False, True):
        with opened(page_file, dark) as (page, _):
            script = "e => [getComputedStyle(document.body).backgroundColor, getComputedStyle(e).color]"
            back, ink = page.eval_on_selector("#ranks td", script)
            colours.append((back, ink))
            assert contrast(back, ink) > 7
    assert colours[0] != colours[1]


def contrast(a: str, b: str) -> float:
    """WCAG contrast of two CSS ``rgb()`` colours."""
    luminances = []
    for text in (a, b):
        channels = [int(part) / 255 for part in text.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminances.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    high, low = max(luminances), min(luminances)
    return (high + 0.05) / (low + 0.05)
