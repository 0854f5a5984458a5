"""The one way to a language model: each call within our deadline, cancellable, retried, counted.

The provider's call runs in a thread of its own that is abandoned at the deadline or on cancel,
because some providers ignore the limits they are given. Passing failures are tried again, never
longer than the settings allow. The key is read from the environment at the call and scrubbed from
every message. Only the model that the settings name is asked; keys and servers that happen to lie
about on the machine are not used. Not here: prompts, and what a reply means.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from importlib.util import find_spec
import logging
import os
import threading
import time
from typing import Any

from emv_ros.agent.models import calls, embedded, failures, library, responses, weights
from emv_ros.agent.models.calls import Call, Limits
from emv_ros.agent.models.responses import Reply, Usage
from emv_ros.errors import (
    EmvError,
    ModelError,
    ModelUnavailableError,
    StoreReadOnlyError,
)
from emv_ros.records import ModelCall
from emv_ros.settings import ModelSettings
from emv_ros.token_estimate import estimate

# The wait after the first passing failure; it doubles.
FIRST_WAIT_S = 0.5
# Purposes that nobody waits for.
BACKGROUND = frozenset(('summary', 'description'))
OPENAI_ADDRESS = 'https://api.openai.com/v1'

logger = logging.getLogger(__name__)


class ModelClient:
    """Calls the models that the settings name.

    Purposes are 'agent', 'summary', 'vision' (a look for a question), and 'description' (looks in
    the background), by the vision model, too.
    """

    _litellm_lock = threading.Lock()

    def __init__(self, settings: ModelSettings,
                 on_call: Callable[[ModelCall], None] | None = None) -> None:
        self._settings = settings
        self._on_call = on_call
        self._litellm: Any = None
        # Until when (monotonic s) and why summaries do without a provider that refused them.
        self._paused = (0.0, '')

    @property
    def available(self) -> bool:
        """Whether the agent's model can be asked: configured, with its weights or its key."""
        return self.is_available('agent')

    def is_available(self, purpose: str) -> bool:
        """Whether the model for a purpose can be asked."""
        return not self.why_unavailable(purpose)

    def name(self, purpose: str) -> str:
        """Return the litellm name of the model for a purpose, '' where there is none."""
        chosen = self._settings.model
        if purpose == 'summary':
            chosen = self._settings.summary_model or chosen
        elif purpose in ('vision', 'description'):
            chosen = self._settings.vision_model
        elif purpose != 'agent':
            raise ValueError(f'there is no model purpose {purpose!r}')
        if chosen in ('', 'none'):
            return ''
        if chosen == embedded.PROVIDER or chosen.startswith(f'{embedded.PROVIDER}/'):
            return embedded.NAME
        return chosen

    def why_unavailable(self, purpose: str = 'agent') -> str:
        """Return why the model for a purpose cannot be asked, '' where it can. Asks no server.

        A provider that refused a key or said to wait is left alone for that time by what runs in
        the background ('summary', 'description'); for a question it is asked all the same.
        """
        model = self.name(purpose)
        if not model:
            return f'no model is set for the purpose {purpose!r}'
        if find_spec('litellm') is None:
            return 'the package litellm is not installed'
        if model == embedded.NAME:
            if find_spec('xllamacpp') is None:
                return 'the embedded model needs the package xllamacpp'
            return '' if weights.find(self._folder) else weights.why_absent(self._folder)
        variable = self._settings.api_key_env
        if variable and not os.environ.get(variable):
            return f'the environment variable {variable}, which is to hold the key, is not set'
        until, reason = self._paused
        left_s = until - time.monotonic()
        if purpose in BACKGROUND and left_s > 0:
            return f'{reason}; asked again in {left_s:.0f} s'
        return ''

    def complete(self, messages: list[dict[str, Any]], *, purpose: str, max_tokens: int,
                 stop: tuple[str, ...] = (), schema: dict[str, Any] | None = None,
                 grammar: str | None = None, deadline_s: float | None = None,
                 cancel: threading.Event | None = None, images: Sequence[bytes] = (),
                 temperature: float = 0.0, fixed_messages: int = 0) -> Reply:
        """Ask the model and return its reply.

        `schema` is a JSON schema for the reply, where the provider keeps to one; `grammar` (GBNF)
        counts for the embedded model only. `deadline_s` covers everything, retries and loading
        included (default: the settings'). `images` (PNG, JPEG, WebP files) go with the last
        message. The first `fixed_messages` are the program's own text, the same in every call and
        never anything recorded: the embedded model keeps them, computed, on disk.

        Raises ModelUnavailableError (none set, no weights, no key, no server, or failing again and
        again), ModelTimeoutError, ModelCanceledError, ModelReplyError (nothing in it), ModelError
        (refused).
        """
        model = self.name(purpose)
        reason = self.why_unavailable(purpose)
        if reason:
            raise ModelUnavailableError(reason)
        if images and model == embedded.NAME:
            raise ModelError(f'{model} cannot look at pictures; set model.vision_model')
        seconds = self._settings.deadline_s if deadline_s is None else deadline_s
        limits = Limits(time.monotonic() + seconds, seconds, cancel)
        limits.check(model)
        arguments = {
            'model': model, 'messages': _with_images(messages, images), 'max_tokens': max_tokens,
            **_options(model, stop, schema, grammar), 'temperature': temperature}
        return self._with_retries(purpose, arguments, limits, fixed_messages)

    def count_tokens(self, text: str) -> int:
        """Return the tokens of `text`: exact with the embedded model, else an estimate."""
        if self.name('agent') == embedded.NAME and self.available:
            return self._embedded().count_tokens(text)
        return estimate(text)

    def warm(self) -> None:
        """Load now (seconds) what the first call would wait for: litellm and the weights.

        Loading the weights holds up every Python thread for a second or more, so a node does it
        before it subscribes. Does nothing where the model is unavailable; raises ModelError where
        loading fails.
        """
        if self.available:
            self._library()
            if self.name('agent') == embedded.NAME:
                self._embedded()

    def _start_loading(self) -> None:
        """Load the weights beside the import of litellm; an error shows in the call itself."""
        def load() -> None:
            try:
                self._embedded()
            except ModelError as error:
                logger.debug('loading ahead failed: %s', error)
        if not embedded.is_loaded():
            threading.Thread(target=load, name='model-load', daemon=True).start()

    @property
    def _folder(self) -> Any:
        return weights.folder(self._settings.cache_folder)

    def _embedded(self) -> embedded.EmbeddedModel:
        path = weights.find(self._folder)
        if path is None:
            raise ModelUnavailableError(self.why_unavailable())
        return embedded.shared(path, self._settings.context_tokens, self._settings.threads)

    def _library(self) -> Any:
        """Import litellm (seconds) and register the embedded model."""
        with self._litellm_lock:
            if self._litellm is None:
                litellm = library.loaded()
                litellm.custom_provider_map = [
                    item for item in litellm.custom_provider_map
                    if item['provider'] != embedded.PROVIDER]
                litellm.custom_provider_map.append({
                    'provider': embedded.PROVIDER,
                    'custom_handler': embedded.provider(
                        self._folder / weights.FILE_NAME, self._settings.context_tokens,
                        self._settings.threads)})
                self._litellm = litellm
        return self._litellm

    def _key(self) -> str:
        variable = self._settings.api_key_env
        # Never empty: litellm would go and look for a key of its own in the environment.
        return (os.environ.get(variable) if variable else '') or 'none'

    def _address(self, model: str) -> str | None:
        # Never empty for OpenAI: litellm would take a server that the environment names.
        return self._settings.api_base or (OPENAI_ADDRESS if model.startswith('openai/') else None)

    def _with_retries(self, purpose: str, arguments: dict[str, Any], limits: Limits,
                      fixed_messages: int) -> Reply:
        for attempt in range(self._settings.retries + 1):
            try:
                reply = self._attempt(purpose, arguments, limits, fixed_messages)
                self._paused = (0.0, '')
                return reply
            except failures.RefusedError as error:
                self._pause(error.pause_s, str(error))
                raise
            except failures.PassingError as error:
                wait_s = FIRST_WAIT_S * 2 ** attempt if error.wait_s is None else error.wait_s
                wait_s = min(wait_s, self._settings.retry_wait_s)
                last = attempt == self._settings.retries
                if last or wait_s >= limits.left_s:
                    tries = f'{attempt + 1} tries' if attempt else 'one try'
                    self._pause(error.wait_s or 0.0, str(error))
                    raise ModelUnavailableError(f'{error} (given up after {tries})') from error
                logger.info('%s; trying again in %.1f s', error, wait_s)
            limits.wait(arguments['model'], threading.Event(), wait_s)
        raise AssertionError('unreachable')

    def _pause(self, seconds: float, reason: str) -> None:
        self._paused = time.monotonic() + min(seconds, failures.LONGEST_PAUSE_S), reason

    def _attempt(self, purpose: str, arguments: dict[str, Any], limits: Limits,
                 fixed_messages: int) -> Reply:
        """Make one call and record it."""
        model, began, stamp_ns = arguments['model'], time.monotonic(), time.time_ns()
        usage, failure = Usage(), None
        prompt = responses.words_of(arguments['messages'])
        try:
            response = calls.run(
                lambda call: self._raw(arguments, prompt, limits, call), model, limits,
                Call(listens=model == embedded.NAME, fixed_messages=fixed_messages))
            usage = responses.usage_of(
                response, prompt, lambda asked, said: self._price(model, asked, said))
            text, is_cut = responses.text_of(response, model, usage)
            return Reply(text, usage.prompt_tokens, usage.completion_tokens, usage.cost, model,
                         time.monotonic() - began, is_cut, usage.is_estimated)
        except ModelError as error:
            failure = error
            if failures.may_cost(error) and model != embedded.NAME:
                asked = estimate(prompt)
                usage = Usage(asked, 0, self._price(model, asked, 0), is_estimated=True)
            raise
        finally:
            notes = ([str(failure)] if failure else []) + (
                [responses.ESTIMATED] if usage.is_estimated else [])
            self._tell(ModelCall(
                purpose=purpose, model=model, stamp_ns=stamp_ns,
                duration_s=time.monotonic() - began, prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens, cost=usage.cost,
                outcome='ok' if failure is None else type(failure).__name__,
                detail='; '.join(notes)))

    def _price(self, model: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the dollars of so many tokens, 0 where litellm knows no price of the model."""
        if self._litellm is None or model == embedded.NAME:
            return 0.0
        try:
            return float(sum(self._litellm.cost_per_token(
                model=model, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)))
        except Exception as error:  # it raises a plain one for a model that it does not know
            logger.debug('no price of %s: %s', model, error)
            return 0.0

    def _tell(self, call: ModelCall) -> None:
        if self._on_call is None:
            return
        try:
            self._on_call(call)
        except StoreReadOnlyError as error:
            logger.info('a call to %s is not recorded: %s', call.model, error)
        except EmvError as error:  # the log of calls must not cost the reply
            logger.error('cannot record a call to %s: %s', call.model, error)

    def _raw(self, arguments: dict[str, Any], prompt: str, limits: Limits, call: Call) -> Any:
        """Make the provider's call, in the call's own thread; raises nothing but ModelError."""
        key = self._key()
        if arguments['model'] == embedded.NAME:
            self._start_loading()
        try:
            litellm = self._library()
            if call.given_up.is_set():
                return None
            response = litellm.completion(
                **arguments, api_base=self._address(arguments['model']), api_key=key,
                timeout=max(limits.left_s, 0.1), num_retries=0, max_retries=0, drop_params=True)
        except Exception as error:  # whatever a provider's library throws becomes ours here
            raise call.error or failures.translated(
                error, arguments['model'], key, prompt) from error
        if call.error is not None:
            raise call.error
        return response


def _options(model: str, stop: tuple[str, ...], schema: dict[str, Any] | None,
             grammar: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if stop:
        options['stop'] = list(stop)
    if schema is not None:
        options['response_format'] = {
            'type': 'json_schema',
            'json_schema': {'name': 'reply', 'schema': schema, 'strict': True}}
    if grammar is not None and model == embedded.NAME:
        options['extra_body'] = {'grammar': grammar}
    return options


def _with_images(messages: list[dict[str, Any]], images: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the messages with pictures added to the last one as data URLs."""
    if not images:
        return messages
    last = messages[-1]
    content = last['content']
    parts = [{'type': 'text', 'text': content}] if isinstance(content, str) else list(content)
    for image in images:
        url = f'data:{_media_type(image)};base64,{base64.b64encode(image).decode()}'
        parts.append({'type': 'image_url', 'image_url': {'url': url}})
    return [*messages[:-1], {**last, 'content': parts}]


def _media_type(image: bytes) -> str:
    if image.startswith(b'\x89PNG'):
        return 'image/png'
    if image.startswith(b'\xff\xd8'):
        return 'image/jpeg'
    if image[:4] == b'RIFF' and image[8:12] == b'WEBP':
        return 'image/webp'
    raise ModelError('a picture for the model is neither PNG, JPEG nor WebP')
