"""Pages opened in headless Chromium, without a network."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def opened(file: Path, dark: bool = False) -> Iterator[tuple[Any, list[str]]]:
    """A page, and the addresses of all requests it makes; an error in its script fails the test.

    Skips where Chromium or playwright is absent.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if binary is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    # Chromium refuses its sandbox to root
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=arguments)
        page = browser.new_context(
            color_scheme="dark" if dark else "light", viewport={"width": 1240, "height": 1200}, offline=True
        ).new_page()
        requests: list[str] = []
        faults: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.goto(file.as_uri())
        yield page, requests
        browser.close()
        assert not faults
