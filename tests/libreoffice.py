"""LibreOffice without a window: opens a workbook, calculates every formula anew, and writes the values out."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.services import missing

ALWAYS_CALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item></oor:items>
"""


def calculator() -> str:
    """Its command."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        missing("LibreOffice Calc is not installed (package libreoffice-calc-nogui)")
    return found


def recalculated(workbooks: list[Path], folder: Path) -> list[Path]:
    """The same workbooks with every formula calculated anew, in `folder`; one start of LibreOffice for all."""
    command = calculator()
    with tempfile.TemporaryDirectory() as profile:
        user = Path(profile) / "user"
        user.mkdir()
        (user / "registrymodifications.xcu").write_text(ALWAYS_CALCULATE)
        flags = [
            f"-env:UserInstallation=file://{profile}",
            "--headless",
            "--convert-to",
            "xlsx",
            "--outdir",
            str(folder),
        ]
        done = subprocess.run([command, *flags, *map(str, workbooks)], capture_output=True, text=True, timeout=180)
    out = [folder / workbook.name for workbook in workbooks]
    assert all(path.exists() for path in out), done.stderr + done.stdout
    return out
