"""Makes the pictures of docs/howto/report.md again, with the page's own kernels. Needs Chromium and the extra `test`.

python scripts/report_pictures.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "report.md"


def main() -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no Chromium on this machine: install the system package chromium")
    text = PAGE.read_text("utf-8")
    (kernels,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    commands = re.search(r"^\$ (kc run.*?-o products)$.*?^\$ (kc report.*?html)$", text, re.DOTALL | re.MULTILINE)
    assert commands is not None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "products.py").write_text(kernels, encoding="utf-8")
        for line in commands.groups():
            words = line.replace("\\\n", " ").split()[1:]
            subprocess.run([sys.executable, "-m", "kernel_contracts", *words], cwd=folder, check=line == commands[2])
        with sync_playwright() as driver:
            page = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page(
                viewport={"width": 1000, "height": 820}
            )
            page.goto((Path(folder) / "products.html").as_uri())
            page.screenshot(path=PAGE.with_name("report.png"))
            page.locator(".panel", has_text="tiles").first.screenshot(path=PAGE.with_name("report-evidence.png"))


if __name__ == "__main__":
    main()
