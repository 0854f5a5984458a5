"""The door of a memory for what is read from files: words and pictures as privacy allows."""

from __future__ import annotations

from functools import partial

from emv_ros.errors import ImportFileError
from emv_ros.ingest.door import PrivateSink, make_redactor
from emv_ros.ingest.privacy import WordFilter
from emv_ros.ingest.sink import RecordSink
from emv_ros.settings import PrivacySettings, Settings


def private_sink(settings: Settings, sink: RecordSink, words: WordFilter) -> PrivateSink:
    """Return a sink that hands on what may be kept. Raises SettingsError, PerceptionError."""
    from emv_ros.perception.detectors import make_label_detector

    privacy = settings.privacy
    redactor = make_redactor(
        privacy, settings.ingest.jpeg_quality, partial(make_label_detector, settings.perception))
    return PrivateSink(sink, privacy, words, redactor)


def check_export_allowed(settings: Settings) -> None:
    """Raise ImportFileError where an export, which is taken as it is, would pass by the door."""
    off = PrivacySettings()
    asked = [f'privacy.{name}' for name in ('blur_faces', 'blur_labels', 'drop_depth',
                                            'drop_speakers', 'drop_phrases')
             if getattr(settings.privacy, name) != getattr(off, name)]
    if asked:
        raise ImportFileError(
            f'an export is taken as it is, which {", ".join(asked)} does not allow: import it '
            'without, or into another memory')
