"""The report as files: `report.json`, `report.md` and, where matplotlib is there, plots."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
from typing import Any

from emv_ros.errors import EmvError
from emv_ros.evaluation.answering.plots import drawn
from emv_ros.evaluation.answering.report import report_of
from emv_ros.evaluation.answering.results import Result
from emv_ros.evaluation.answering.tables import markdown

JSON_FILE, MARKDOWN_FILE = 'report.json', 'report.md'


def write_report(results: Sequence[Result], folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """Write the report of results into a folder; return it and the files that were written.

    Raises EmvError where a file cannot be written.
    """
    report = report_of(results)
    pictures = drawn(report)
    text = markdown(report) + ''.join(
        f'\n![{name.removesuffix(".png").replace("-", " ")}]({name})\n' for name in pictures)
    files = {JSON_FILE: (json.dumps(report, ensure_ascii=False, indent=1) + '\n').encode(),
             MARKDOWN_FILE: text.encode('utf-8', 'replace'), **pictures}
    for name, content in files.items():
        try:
            (folder / name).write_bytes(content)
        except OSError as error:
            raise EmvError(f'cannot write {folder / name}: {error.strerror or error}') from error
    return report, [folder / name for name in files]
