"""Files made ready to serve: named by content, compressed, made anew only when they changed."""

import gzip
import json
from pathlib import Path
from typing import Any

from planner.core.static_files import static_files_collect


def test_files_are_named_by_content_and_compressed_once(tmp_path: Path, settings: Any) -> None:
    source, folder = tmp_path / "source", tmp_path / "collected"
    source.mkdir()
    style = source / "page.css"
    (source / "mark.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    style.write_text(".mark { background: url(mark.svg) }\n" * 50)
    settings.STATICFILES_DIRS = [source]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]

    assert static_files_collect(folder)
    paths = json.loads((folder / "staticfiles.json").read_text())["paths"]
    served = (folder / paths["page.css"]).read_text()
    assert paths["mark.svg"] in served
    assert gzip.decompress((folder / f"{paths['page.css']}.gz").read_bytes()).decode() == served
    assert not static_files_collect(folder)

    style.write_text(".mark { color: red }\n" * 50)
    assert static_files_collect(folder)
    assert json.loads((folder / "staticfiles.json").read_text())["paths"]["page.css"] != paths["page.css"]
    assert not (folder / paths["page.css"]).exists()
