"""The door of a memory: what the privacy settings keep out is taken out here, and nowhere later.

`PrivateSink` stands before a sink of records, for imports. `PictureWorker` is the same for the
pictures of nodes, whose callbacks must not wait: a thread with a bounded queue. What cannot be
redacted is not stored, is counted, and says why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import logging
from pathlib import Path
import threading
import time

from emv_ros.errors import EmvError
from emv_ros.ingest.blurring import Finder, LabelDetector, LabelFinder, PictureRedactor
from emv_ros.ingest.faces import CascadeFaces, YuNetFaces
from emv_ros.ingest.privacy import WordFilter, check_picture, labels_of
from emv_ros.ingest.sink import RecordSink
from emv_ros.records import ImageRecord, Record
from emv_ros.settings import PrivacySettings

Refused = Callable[[str], None]

log = logging.getLogger(__name__)


def make_redactor(
        settings: PrivacySettings, jpeg_quality: int,
        make_detector: Callable[[tuple[str, ...], float], LabelDetector],
) -> PictureRedactor | None:
    """Return what covers pictures as the settings ask; None where none is to be covered.

    `make_detector(labels, min_confidence)` is called where there are `blur_labels`. Raises
    SettingsError where what it takes is not there, and what `make_detector` raises.
    """
    finders: list[Finder] = []
    if settings.blur_faces:
        model = settings.face_model.strip()
        finders.append(
            YuNetFaces(Path(model).expanduser(), settings.min_confidence) if model
            else CascadeFaces())
    labels = labels_of(settings)
    if labels:
        finders.append(LabelFinder(make_detector(labels, settings.min_confidence), labels))
    return PictureRedactor(finders, settings.margin, jpeg_quality) if finders else None


class PrivateSink:
    """A sink before another one, which gets only what may be kept.

    `add` and `add_image` raise WithheldError for what may not, `add_image` RedactionError where a
    picture cannot be redacted.
    """

    def __init__(self, sink: RecordSink, settings: PrivacySettings, words: WordFilter,
                 redactor: PictureRedactor | None) -> None:
        self._sink = sink
        self._settings = settings
        self._words = words
        self._redactor = redactor

    def begin_session(
            self, robot: str, start_ns: int, clock_source: str, zone: str, source: str) -> int:
        """Begin a session; the name of its source goes through the door as well."""
        return self._sink.begin_session(
            robot, start_ns, clock_source, zone, self._words.text(source))

    def add(self, record: Record) -> None:
        """Take a record."""
        self._sink.add(self._words.admit(record))

    def add_image(self, data: bytes, record: ImageRecord) -> None:
        """Take a picture."""
        check_picture(record, self._settings)
        record = self._words.admit(record)
        if self._redactor is not None:
            data, record = self._redactor.redacted(data, record)
        self._sink.add_image(data, record)


class PictureWorker:
    """Redacts pictures in a thread of its own and hands them on; safe from any thread.

    `covered`, `refused` and `dropped` count pictures; `slowest_s` is the longest that one took.
    """

    def __init__(self, redactor: PictureRedactor, queue_size: int,
                 put: Callable[[bytes, ImageRecord], None]) -> None:
        """Start the thread. `put` gets what may be stored; it may wait, and raise EmvError."""
        self.covered = self.refused = self.dropped = 0
        self.slowest_s = 0.0
        self.last_error = ''
        self._redactor = redactor
        self._queue_size = queue_size
        self._put = put
        self._waiting: deque[tuple[bytes, ImageRecord, Refused]] = deque()
        self._is_busy = self._ends = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name='emv_privacy', daemon=True)
        self._thread.start()

    @property
    def queued(self) -> int:
        """The pictures that wait or are being looked at."""
        return len(self._waiting) + self._is_busy

    @property
    def words(self) -> str:
        """What the status tells; empty where nothing is wrong."""
        told = []
        if self.refused:
            told.append(f'{self.refused} pictures were not stored, since they could not be '
                        f'redacted: {self.last_error}')
        if self.dropped:
            told.append(f'{self.dropped} pictures were dropped, since redacting takes up to '
                        f'{self.slowest_s:.1f} s a picture: raise ingest.keyframe_period_s')
        return '; '.join(told)

    def take(self, data: bytes, record: ImageRecord, refused: Refused = lambda _: None) -> None:
        """Take a picture; where the queue is full the oldest is dropped.

        `refused(reason)` is called where this one is not stored after all, with '' where it was
        dropped.
        """
        with self._changed:
            if len(self._waiting) >= self._queue_size:
                _, _, oldest_refused = self._waiting.popleft()
                self.dropped += 1
                oldest_refused('')
            self._waiting.append((data, record, refused))
            self._changed.notify_all()

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing is queued; False where the time was not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.queued, timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Finish what is queued and end; False where the time was not enough: the rest is lost."""
        is_done = self.flush(timeout_s)
        with self._changed:
            lost = len(self._waiting)
            self._waiting.clear()
            self._ends = True
            self._changed.notify_all()
        self._thread.join(timeout_s)
        lost += self._thread.is_alive()
        self.dropped += lost
        if lost:
            log.error('%d pictures are not stored: they were not redacted in time', lost)
        return is_done

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ends)
                if not self._waiting:
                    return
                data, record, refused = self._waiting.popleft()
                self._is_busy = True
            self._redact(data, record, refused)
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()

    def _redact(self, data: bytes, record: ImageRecord, refused: Refused) -> None:
        began_s = time.monotonic()
        try:
            kept, redacted = self._redactor.redacted(data, record)
            self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
            self._put(kept, redacted)
        except EmvError as error:
            self._refuse(str(error), refused)
        except Exception as error:  # the border of this thread: it must live on, and store nothing
            log.exception('a picture could not be redacted')
            self._refuse(f'{type(error).__name__}: {error}', refused)
        else:
            self.covered += 'covered' in redacted.extra

    def _refuse(self, reason: str, refused: Refused) -> None:
        self.refused += 1
        refused(reason)
        if reason != self.last_error:
            log.error('%s', reason)
        self.last_error = reason
