"""The door of a memory for what is read from files: words and pictures as privacy allows."""

from __future__ import annotations

from functools import partial

from emv_ros.errors import ImportFileError
from emv_ros.ingest.blurring import PictureRedactor
from emv_ros.ingest.door import PrivateSink, make_redactor
from emv_ros.ingest.privacy import WordFilter
from emv_ros.ingest.sink import RecordSink
from emv_ros.settings import PrivacySettings, Settings

ASKING = ('blur_faces', 'blur_labels', 'drop_depth', 'drop_speakers', 'drop_phrases')


def private_sink(settings: Settings, sink: RecordSink, words: WordFilter) -> PrivateSink:
    """Return a sink that hands on what may be kept. Raises as `picture_redactor`."""
    return PrivateSink(sink, settings.privacy, words, picture_redactor(settings))


def picture_redactor(settings: Settings) -> PictureRedactor | None:
    """Return what covers pictures, None where nothing is to be covered.

    Raises SettingsError or PerceptionError where what it takes is not there.
    """
    from emv_ros.perception.detectors import make_label_detector

    return make_redactor(settings.privacy, settings.ingest.jpeg_quality,
                         partial(make_label_detector, settings.perception))


def asked_of_privacy(settings: Settings) -> list[str]:
    """Return the settings by which something is kept out of the memory."""
    off = PrivacySettings()
    return [f'privacy.{name}' for name in ASKING
            if getattr(settings.privacy, name) != getattr(off, name)]


def check_export_allowed(settings: Settings) -> None:
    """Raise ImportFileError where an export, which is taken as it is, would pass by the door."""
    asked = asked_of_privacy(settings)
    if asked:
        raise ImportFileError(
            f'an export is taken as it is, which {", ".join(asked)} does not allow: import it '
            'without, or into another memory')
