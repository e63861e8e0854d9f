"""Makes the pictures of docs/howto/report.md again, with the page's own kernels. Needs Chromium and the extra `test`.

python scripts/report_pictures.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "report"))
import browser

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "report.md"


def main() -> None:
    if browser.PATH is None:
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
        with browser.opened(Path(folder) / "products.html", width=1000, height=820) as (page, _):
            page.screenshot(PAGE.with_name("report.png"))
            page.evaluate(
                "[...document.querySelectorAll('.panel')].find(e => e.innerText.includes('tiles')).id = 'one'"
            )
            page.screenshot(PAGE.with_name("report-evidence.png"), "#one")


if __name__ == "__main__":
    main()
