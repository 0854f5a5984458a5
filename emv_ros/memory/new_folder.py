"""A folder that is there whole or not at all, for exports."""

from __future__ import annotations

from pathlib import Path
import shutil

from emv_ros.errors import ExportError


class NewFolder:
    """A folder made elsewhere, which takes its place at the end of the block, if all went well.

    `mark` is the file by which an older export is known: nothing else is ever replaced. The block
    makes the folder itself. Raises ExportError.
    """

    def __init__(self, folder: Path, mark: str, overwrite: bool) -> None:
        self._folder = folder.absolute()
        # In one of its own, since a bag's files bear the name of their folder.
        self._aside = self._folder.with_name(f'.{folder.name}.part')
        if not self._folder.name:
            raise ExportError(f'{folder} is no name for an export')
        if not self._folder.exists() or self._folder.is_dir() and not any(self._folder.iterdir()):
            return
        if not overwrite:
            raise ExportError(f'{folder} is there already; --force writes an export anew')
        if not (self._folder / mark).is_file():
            raise ExportError(f'{folder} is no export (it holds no {mark}), and is not replaced')

    def __enter__(self) -> Path:
        try:
            shutil.rmtree(self._aside, ignore_errors=True)
            self._aside.mkdir(parents=True)
        except OSError as error:
            raise self._cannot(error) from error
        return self._aside / self._folder.name

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 _: object) -> None:
        if kind is None:
            try:
                self._take_name()
            except OSError as failed:
                raise self._cannot(failed) from failed
            return
        shutil.rmtree(self._aside, ignore_errors=True)
        if isinstance(error, OSError):
            raise self._cannot(error) from error

    def _take_name(self) -> None:
        if self._folder.exists():
            self._folder.rename(self._aside / f'{self._folder.name}.old')
        (self._aside / self._folder.name).rename(self._folder)
        shutil.rmtree(self._aside, ignore_errors=True)

    def _cannot(self, error: OSError) -> ExportError:
        return ExportError(f'cannot write the export {self._folder}: {error.strerror or error}')
