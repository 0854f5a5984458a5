"""The default model, run in this process by llama.cpp, as litellm provider `embedded/…`.

One model a process, loaded at the first call. Calls take turns, oldest prompt prefix kept: what a
prompt shares with the one before it is not computed again. A call that its caller gave up stops at
the next batch of prompt tokens or the next token written. llama.cpp opens a port on loopback
beside the in-process calls; it is closed to others by a random key and serves here only to count
tokens and to keep computed prompts. It is not for pictures, and it streams to nobody but this
module.
"""

from __future__ import annotations

from dataclasses import dataclass
import http.client
import json
import logging
import os
from pathlib import Path
import secrets
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from emv_ros.agent.models.calls import Call, current_call
from emv_ros.agent.models.prefixes import FOLDER, Prefixes, writable
from emv_ros.errors import (
    ModelCanceledError,
    ModelError,
    ModelPromptTooLongError,
    ModelReplyError,
    ModelUnavailableError,
)

PROVIDER = 'embedded'
NAME = 'embedded/qwen2.5-coder-1.5b'
# Prompt tokens computed at once: a call can only be stopped between two such batches (64: under 2
# s on one core).
BATCH_TOKENS = 32
# Memory that may hold the computed prompts of other purposes, so that two prefixes in turn stay
# cheap.
PROMPT_CACHE_MB = 512
SEED = 7
HTTP_TIMEOUT_S = 20.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Completion:
    """What the model wrote; speeds in tokens/s, `cached_tokens` of the prompt were known."""

    text: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    finish_reason: str
    prompt_speed: float = 0.0
    completion_speed: float = 0.0


class EmbeddedModel:
    """A model file loaded into this process.

    Raises ModelUnavailableError where xllamacpp is not installed or the file cannot be loaded.
    """

    def __init__(self, weights: Path, context_tokens: int, threads: int) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            raise ModelUnavailableError(
                f'the embedded model needs the package xllamacpp: {error}') from error
        self._key = secrets.token_urlsafe(24)
        self._turn = threading.Lock()
        began = time.monotonic()
        try:
            _read_through(weights)
            params = _parameters(xllamacpp, weights, context_tokens, threads, self._key)
            self._prefixes = self._kept_prefixes(params, xllamacpp.__version__)
            self._server = xllamacpp.Server(params)
        except (OSError, RuntimeError, ValueError) as error:
            raise ModelUnavailableError(f'cannot load {weights}: {error}') from error
        self.context_tokens = context_tokens
        self.weights = weights
        self.load_s = time.monotonic() - began
        logger.info('loaded %s in %.1f s', weights.name, self.load_s)

    def complete(self, request: dict[str, Any], call: Call) -> Completion:
        """Run a chat request (OpenAI's fields, `grammar` in GBNF) until `call` is given up.

        Raises ModelCanceledError when it was given up, ModelError for a request that llama.cpp
        refuses.
        """
        while not self._turn.acquire(timeout=0.05):
            if call.given_up.is_set():
                raise ModelCanceledError(f'{NAME}: given up while another call was running')
        try:
            if call.fixed_messages and self._prefixes is not None:
                prefix = request['messages'][:call.fixed_messages]
                self._prefixes.prepare(prefix, lambda: self._stream(
                    {'messages': prefix, 'max_tokens': 1}, call))
            return self._stream(request, call)
        finally:
            self._turn.release()

    def _stream(self, request: dict[str, Any], call: Call) -> Completion:
        chunks = _Chunks(call)
        self._server.handle_chat_completions({
            'temperature': 0.0, 'seed': SEED, 'cache_prompt': True, **request, 'stream': True,
            'return_progress': True, 'stream_options': {'include_usage': True}}, chunks.take)
        return chunks.completion()

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`, without the frame that a chat message adds."""
        return len(self._post('/tokenize', {'content': text, 'add_special': False})['tokens'])

    def _kept_prefixes(self, params: Any, version: str) -> Prefixes | None:
        folder = Path(params.model.path).parent / FOLDER
        if not writable(folder):
            return None
        params.slot_save_path = f'{folder}/'
        stat = Path(params.model.path).stat()
        fingerprint = f'{stat.st_size} {stat.st_mtime_ns} {params.n_ctx} {version}'
        return Prefixes(folder, fingerprint, self._slot)

    def _slot(self, order: str, file_name: str) -> None:
        self._post(f'/slots/0?action={order}', {'filename': file_name})

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the port on loopback for what has no in-process call. Raises ModelError."""
        address = urlsplit(self._server.listening_address)
        connection = http.client.HTTPConnection(
            address.hostname or '127.0.0.1', address.port, timeout=HTTP_TIMEOUT_S)
        try:
            connection.request('POST', path, json.dumps(body), {
                'Content-Type': 'application/json', 'Authorization': f'Bearer {self._key}'})
            response = connection.getresponse()
            reply = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ModelError(f'{NAME}: {path} failed: {error}') from error
        finally:
            connection.close()
        if response.status != 200 or not isinstance(reply, dict):
            raise ModelError(f'{NAME}: {path} failed: {reply}')
        return reply


class _Chunks:
    """Collects one streamed reply; runs in llama.cpp's callback, so it never raises."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._text: list[str] = []
        self._finish = ''
        self._usage: dict[str, Any] = {}
        self._timings: dict[str, Any] = {}
        self._error: dict[str, Any] | None = None
        self._canceled = False

    def take(self, chunk: dict[str, Any]) -> bool:
        """Take a chunk; True tells llama.cpp to stop."""
        if self._call.given_up.is_set():
            self._canceled = True
            return True
        if 'error' in chunk or 'choices' not in chunk:
            error = chunk.get('error', chunk)
            self._error = error if isinstance(error, dict) else {'message': str(error)}
            return True
        for choice in chunk['choices']:
            self._text.append(choice.get('delta', {}).get('content') or '')
            self._finish = choice.get('finish_reason') or self._finish
        self._usage = chunk.get('usage') or self._usage
        self._timings = chunk.get('timings') or self._timings
        return False

    def completion(self) -> Completion:
        """Return the whole reply, or raise what went wrong."""
        if self._canceled:
            raise ModelCanceledError(f'{NAME}: given up')
        if self._error is not None:
            kind = ModelPromptTooLongError if self._error.get(
                'type') == 'exceed_context_size_error' else ModelError
            raise kind(f'{NAME}: {self._error.get("message", self._error)}')
        if not self._finish:
            raise ModelReplyError(f'{NAME}: the reply broke off without an end')
        details = self._usage.get('prompt_tokens_details') or {}
        return Completion(
            text=''.join(self._text), finish_reason=self._finish,
            prompt_tokens=int(self._usage.get('prompt_tokens', 0)),
            cached_tokens=int(details.get('cached_tokens', 0)),
            completion_tokens=int(self._usage.get('completion_tokens', 0)),
            prompt_speed=float(self._timings.get('prompt_per_second') or 0.0),
            completion_speed=float(self._timings.get('predicted_per_second') or 0.0))


def _read_through(path: Path) -> None:
    """Bring a file into the system's cache: llama.cpp holds up Python while it reads."""
    buffer = bytearray(8 * 2**20)
    with path.open('rb', buffering=0) as file:
        while file.readinto(buffer):
            pass


def _parameters(xllamacpp: Any, weights: Path, context_tokens: int, threads: int, key: str) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = PROMPT_CACHE_MB
    params.fit_params = False  # it would shrink the context without a word
    params.warmup = False
    # A second layout of the weights: no faster where it was measured, twice the load and memory.
    params.no_extra_bufts = True
    params.ui = False
    params.offline = True
    params.verbosity = 0
    params.hostnames = ['127.0.0.1']
    params.api_keys = [key]
    return params


def thread_count(wanted: int) -> int:
    """Return the threads to use: `wanted`, or half this process's cores (at least 1) for 0.

    Not all cores: as soon as another process needs one of them, every thread waits for the slowest.
    """
    return wanted or max(1, len(os.sched_getaffinity(0)) // 2)


_loading = threading.Lock()
_loaded: EmbeddedModel | None = None


def is_loaded() -> bool:
    """Whether this process holds the model already."""
    return _loaded is not None


def shared(weights: Path, context_tokens: int, threads: int) -> EmbeddedModel:
    """Return this process's model, loading it (some seconds) at the first call.

    Later calls get the same one, whatever context they ask for; a difference is logged.
    """
    global _loaded
    with _loading:
        if _loaded is None:
            _loaded = EmbeddedModel(weights, context_tokens, thread_count(threads))
        elif (_loaded.weights, _loaded.context_tokens) != (weights, context_tokens):
            logger.warning(
                'the embedded model is loaded already, with %d tokens of context from %s',
                _loaded.context_tokens, _loaded.weights)
        return _loaded


def provider(weights: Path, context_tokens: int, threads: int) -> Any:
    """Return a litellm provider (a CustomLLM) that answers from the shared model."""
    from litellm import CustomLLM
    from litellm.types.utils import Choices, Message, ModelResponse, Usage

    class Provider(CustomLLM):  # type: ignore[misc]
        def completion(self, model: str, messages: list[Any], *args: Any,
                       **kwargs: Any) -> ModelResponse:
            call = current_call.get()
            options = kwargs.get('optional_params') or {}
            try:
                done = shared(weights, context_tokens, threads).complete(
                    {'messages': messages, **_request_fields(options)}, call or Call())
            except ModelError as error:
                if call is None:
                    raise
                call.error = error  # litellm would wrap it beyond recognition
                return ModelResponse(model=model)
            return ModelResponse(
                model=model,
                choices=[Choices(finish_reason=done.finish_reason, index=0,
                                 message=Message(role='assistant', content=done.text))],
                usage=Usage(prompt_tokens=done.prompt_tokens,
                            completion_tokens=done.completion_tokens,
                            total_tokens=done.prompt_tokens + done.completion_tokens))

    return Provider()


def _request_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of litellm's `optional_params` that llama.cpp takes."""
    options = {**options, **(options.get('extra_body') or {})}
    known = ('max_tokens', 'stop', 'temperature', 'seed', 'response_format', 'grammar', 'top_p')
    return {name: options[name] for name in known if options.get(name) is not None}
