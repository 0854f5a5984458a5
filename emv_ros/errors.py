"""The errors of emv_ros, one class an area.

Each carries a message that names what went wrong and where. They are raised in the core and
translated once at each border: to a status code in a node, to stderr and an exit status on the
command line.
"""


class EmvError(Exception):
    """The root of every error that emv_ros raises on purpose."""


class RecordError(EmvError):
    """A record that cannot be stored: malformed, impossible or without a time."""


class ImageError(RecordError):
    """A picture whose header and data do not fit together, or of an unknown encoding."""


class RedactionError(ImageError):
    """A picture that could not be redacted as the privacy settings ask, and so is not stored."""


class WithheldError(RecordError):
    """A record that the privacy settings keep out of the memory; it says which, not its words."""


class ImportFileError(EmvError):
    """A file that cannot be imported as a whole: absent, of an unknown kind, unreadable."""


class ExportError(EmvError):
    """A place that no export can be written to."""


class StoreError(EmvError):
    """The memory's database or folder cannot do what was asked."""


class SchemaError(StoreError):
    """The database has a schema that this version cannot use; the message says which and why."""


class StoreBusyError(StoreError):
    """Another process holds the database for longer than the limit."""


class StoreDamagedError(StoreError, ValueError):
    """A value that stands in the database is none of its kind."""


class StoreFullError(StoreError):
    """The disk that holds the memory is full."""


class StoreReadOnlyError(StoreError):
    """The memory was opened for reading alone, since its files cannot be written."""


class StoreValueError(StoreError, RecordError):
    """A value that the database cannot hold: the record is at fault, not the store."""


class ShareError(EmvError):
    """More of a kind of record would be dropped at once than the settings allow without force."""


class ForgettingCanceledError(EmvError):
    """A forgetting was given up before its commit: nothing is forgotten."""


class NotFoundError(EmvError):
    """An id that names nothing in this memory."""


class PictureGoneError(NotFoundError):
    """A picture whose row is there and says why its file is not."""


class CorrectionError(EmvError):
    """A correction by a person that makes no sense, or contradicts what was seen or told."""


class TimeExpressionError(EmvError, ValueError):
    """A time, date, zone or window that cannot be understood."""


class SettingsError(EmvError):
    """A setting that does not exist or has a value out of its range."""


class ModelError(EmvError):
    """A call to a model failed; the message names the model and the reason."""


class ModelTimeoutError(ModelError):
    """A model did not answer within the deadline."""


class ModelCanceledError(ModelError):
    """The caller gave up while a model call was under way."""


class ModelUnavailableError(ModelError):
    """No model can be reached: none configured, no weights, no key, no server."""


class ModelReplyError(ModelError):
    """A model replied with something that cannot be used; the message says what was wrong.

    The tokens are what the call cost all the same.
    """

    def __init__(self, message: str, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
        super().__init__(message)
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens


class ModelPromptTooLongError(ModelError):
    """A prompt is longer than the model takes: a shorter one may pass, the same never will."""


class CarriedFileError(EmvError):
    """A file that an installed package should carry is missing, or is another."""


class PerceptionError(EmvError):
    """A detector or a model of looks cannot be loaded, or failed; the message names it."""


class ConsoleError(EmvError):
    """The sandboxed console could not run at all (not: the code in it failed)."""
