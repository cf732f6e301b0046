"""The report in a real browser: light, dark, and on a telephone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import simsched

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DESKTOP, PHONE = (1280, 1600), (390, 1600)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


def browse(page: Path, *options: str) -> str:
    """Let the browser open a page; return what it prints."""
    assert CHROMIUM is not None
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [*words, profile, *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def picture(page: Path, size: tuple[int, int], *options: str) -> np.ndarray:
    """Return what the browser shows: height x width x 3, from 0 to 1."""
    file = page.parent / "shown.png"
    width, height = size
    browse(page, f"--window-size={width},{height}", f"--screenshot={file}", *options)
    return imread(file)[..., :3]


def asked(page: Path, expression: str, *options: str) -> str:
    """Return the value of an expression of JavaScript in a page that allows it."""
    probe = page.parent / "probe.html"
    script = f"<script>document.title = {expression};</script></body>"
    text = re.sub("script-src '[^']*'", "script-src 'unsafe-inline'", page.read_text("utf-8"))
    probe.write_text(text.replace("</body>", script), "utf-8")
    return browse(probe, "--dump-dom", *options).split("<title>")[1].split("</title>")[0]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = simsched.run(
        "amd_4x_opteron8380", "fork_join[depth=4]", ["cilk_a", "work_sharing"], jobs=1, seeds=2
    )
    return found.report(tmp_path_factory.mktemp("report") / "report.html")


def test_light_and_dark_surroundings(page: Path) -> None:
    light = picture(page, DESKTOP)
    dark = picture(page, DESKTOP, "--blink-settings=preferredColorScheme=0")
    # Paper and ink change places, in the pictures too: nothing of the plots is lost on dark paper.
    assert light[:, :8].mean() > 0.95
    assert dark[:, :8].mean() < 0.2
    for shown, paper in ((light, light[2, 2]), (dark, dark[2, 2])):
        assert (np.abs(shown - paper).max(axis=2) > 0.3).mean() > 0.02


def test_a_telephone_scrolls_down_only(page: Path) -> None:
    # The page asks itself: it is no wider than the window, wide tables scroll on their own.
    measure = "document.documentElement.scrollWidth + ' ' + innerWidth"
    wide, window = asked(page, measure, f"--window-size={PHONE[0]},{PHONE[1]}").split()
    assert int(wide) <= int(window)
    assert picture(page, PHONE).shape[1] == PHONE[0]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report whose comparison has every column that it can have by default, and long names."""
    machines = ["opteron48", "amd_4x_opteron8380"]
    program = "heat[rows=1024,columns=1024,iterations=4]"
    found = simsched.run(machines, program, ["cilk_a", "work_sharing"], jobs=1, seeds=2)
    return found.report(tmp_path_factory.mktemp("wide") / "report.html")


def test_a_window_of_1400_pixels_shows_the_whole_comparison(wide: Path) -> None:
    measure = "(box => box.scrollWidth - box.clientWidth)(document.querySelector('.wide'))"
    assert asked(wide, measure, "--window-size=1400,900") == "0"


def test_a_telephone_shows_makespans_without_scrolling(wide: Path) -> None:
    # No window is narrower than 500 pixels without a screen; the page is.
    narrow = f"document.body.style = 'margin: 0; width: {PHONE[0]}px'"
    head = "[...document.querySelectorAll('th')].find(th => th.textContent.includes('makespan'))"
    right = f"({narrow}, Math.ceil({head}.getBoundingClientRect().right))"
    assert 0 < int(asked(wide, right, f"--window-size={PHONE[0]},{PHONE[1]}")) <= PHONE[0]


def test_tables_sort_and_filter(page: Path) -> None:
    press = "document.querySelectorAll('table.sortable th button')[{}].click()"
    column = (
        "[...document.querySelectorAll('table.sortable tbody tr')]"
        ".filter(row => !row.hidden).map(row => row.cells[{}].textContent).join('|')"
    )
    texts = [
        asked(page, f"({';'.join([press.format(2)] * n)}, {column.format(2)})".replace(";", ","))
        for n in (1, 2)
    ]
    up, down = ([float(text.split(" ±")[0]) for text in cells.split("|")] for cells in texts)
    assert up == sorted(up) != down == up[::-1]
    words = "(box => (box.value = 'SHARING fork', box.dispatchEvent(new Event('input'))))"
    typed = f"({words}(document.querySelector('input')), {column.format(1)})"
    assert asked(page, typed) == "work_sharing"


def test_the_page_allows_its_own_script_only(page: Path) -> None:
    # As it is written: the script has run if there is something to type words into.
    assert 'type="search"' in browse(page, "--dump-dom")
    probe = page.parent / "other.html"
    script = "<script>document.title = 'other'</script></body>"
    probe.write_text(page.read_text("utf-8").replace("</body>", script), "utf-8")
    assert "<title>other" not in browse(probe, "--dump-dom")


def test_nothing_is_reported_as_wrong(page: Path) -> None:
    log = page.parent / "profile" / "chrome_debug.log"
    browse(page, "--enable-logging", "--v=0", "--dump-dom")
    text = log.read_text("utf-8", "replace") if log.exists() else ""
    assert "CONSOLE" not in text
