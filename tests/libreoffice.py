"""LibreOffice without a window: opens a workbook, calculates every formula anew, and writes the values out."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

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


_ASK = """
import json, subprocess, sys, time
sys.path.insert(0, "/usr/lib/python3/dist-packages")
import uno
from com.sun.star.beans import PropertyValue

asked = json.load(sys.stdin)
listening = "--accept=pipe,name=%s;urp;" % asked["pipe"]
flags = ["-env:UserInstallation=" + asked["profile"], "--headless", "--norestore", listening]
office = subprocess.Popen([asked["soffice"], *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
here = uno.getComponentContext()
resolver = here.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", here)
for _ in range(240):
    try:
        there = resolver.resolve("uno:pipe,name=%s;urp;StarOffice.ComponentContext" % asked["pipe"])
        break
    except Exception:
        time.sleep(0.25)
desktop = there.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", there)
hidden = PropertyValue(Name="Hidden", Value=True)
book = desktop.loadComponentFromURL("private:factory/scalc", "_blank", 0, (hidden,))
sheets = book.Sheets
first = sheets.getByIndex(0)
for column, value in enumerate(asked["row"]):
    first.getCellByPosition(column, 1).setPropertyValue("FormulaLocal", value)
typed = first.getCellByPosition(len(asked["row"]), 1)
typed.setPropertyValue("FormulaLocal", asked["formula"])
for _ in range(40):
    book.calculateAll()
    if typed.getError() == 0 and typed.Value > 0:
        break
    time.sleep(0.25)
sheets.insertNewByName("Linked", 1)
linked = sheets.getByName("Linked")
linked.link(asked["csv"], "", "Text - txt - csv (StarCalc)", "44,34,76,1,,1033,false,true", 1)
table = [[linked.getCellByPosition(column, row).String for column in range(3)] for row in range(2)]
print(json.dumps({"value": typed.Value, "error": typed.getError(), "table": table}))
book.close(True)
try:
    desktop.terminate()
except Exception:
    pass
office.wait(30)
"""


def asked(row: list[str], formula: str, csv_address: str) -> dict[str, Any]:
    """What Calc shows after this row and the formula beside it were typed into a new book, and a CSV address linked.

    A book that is opened again shows Err:540 until its reader allows its links: that needs a person, so it is typed.
    """
    soffice, python = calculator(), "/usr/bin/python3"
    known = (
        Path(python).exists()
        and not subprocess.run(
            [python, "-c", "import sys; sys.path.insert(0, '/usr/lib/python3/dist-packages'); import uno"],
            capture_output=True,
        ).returncode
    )
    if not known:
        missing("LibreOffice cannot be driven (package python3-uno)")
    with tempfile.TemporaryDirectory() as profile:
        document = {"row": row, "formula": formula, "csv": csv_address, "soffice": soffice}
        document |= {"profile": f"file://{profile}", "pipe": Path(profile).name}
        done = subprocess.run(
            [python, "-c", _ASK], input=json.dumps(document), capture_output=True, text=True, timeout=180
        )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
