"""The typed services: exact and ranked look-ups, from request to response, without a model.

Each function of `Lookups` fills in the response of one service and returns it. What a request gets
wrong comes back as STATUS_INVALID_REQUEST with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any

from emv_ros.agent.answers import EvidenceItem
from emv_ros.agent.console.pictures import PictureReader
from emv_ros.agent.console.rows import parse_id, shown_id
from emv_ros.errors import EmvError, NotFoundError, PictureGoneError, RecordError, StoreError
from emv_ros.memory import queries
from emv_ros.memory.cutting import Shown, shown_in
from emv_ros.memory.details import details
from emv_ros.memory.lives import Life, lives
from emv_ros.memory.queries import Page, Window
from emv_ros.memory.scaling import scaled
from emv_ros.memory.store import MemoryStore
from emv_ros.nodes import conversions
from emv_ros.records import ImageRecord, Node
from emv_ros.retrieval.finding import Finder
from emv_ros.retrieval.search import Searcher
from emv_ros.retrieval.units import Unit
from emv_ros.timeline import Interval, parse_zone

DEFAULT_LIMIT = 100
DEFAULT_PICTURES = 3
DEFAULT_OBSERVATIONS = 20
# Observations of an entity whose pictures are asked for at a time.
MANY = 50
# Pictures of which a response says why they are gone.
TOLD_GONE = 5
NOT_YET = ('what is not associated with an entity yet is told apart by what its source calls it: '
           'an instance, or a name')


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a look-up that tells its errors in the response."""
    @wraps(method)
    def call(self: Any, request: Any, response: Any) -> Any:
        try:
            method(self, request, response)
            return response
        except (RecordError, StoreError, NotFoundError, EmvError) as error:
            refused = type(response)()
            refused.message = str(error)
            refused.status = (
                refused.STATUS_INVALID_REQUEST if isinstance(error, RecordError)
                else refused.STATUS_NOT_FOUND if isinstance(error, NotFoundError)
                else refused.STATUS_ERROR)
            return refused
    return call


class Lookups:
    """Answers typed requests from a memory; safe from several threads."""

    def __init__(self, store: MemoryStore, searcher: Searcher,
                 now_ns: Callable[[], int] | None = None) -> None:
        """Answer from a memory; words for a time are seen from `now_ns`, else from its end."""
        self._store = store
        self._finder = Finder(store, searcher)
        self._ranks = searcher.settings.graph
        self._now_ns = now_ns

    @_answering
    def search(self, request: Any, response: Any) -> None:
        """Find by words and vectors: nodes, records, and things with the observations that fit."""
        if not request.text.strip():
            raise RecordError('there is no text to search for')
        window = conversions.window_from_ros(request)
        now_ns = window.before_ns or (self._now_ns() if self._now_ns else None)
        found = self._finder.find(
            request.text, window, now_ns=now_ns, limit=request.k or None, offset=request.offset,
            zone=parse_zone(self._store.zone_of(window.robots)))
        things: dict[str, list[Unit]] = {}
        for unit in found.units:
            if unit.kind == 'node':
                with suppress(NotFoundError):  # a consolidation has replaced it since
                    response.nodes.append(
                        self._node(self._store.get('node', unit.spans[0].ref_id), unit.score))
                continue
            first = unit.spans[0]
            response.evidence.append(conversions.evidence_to_ros(EvidenceItem(
                id=shown_id(unit.kind, first.ref_id), kind=unit.kind, robot=unit.robot,
                start_ns=first.start_ns, end_ns=first.end_ns, text=unit.text,
                image_path=self._path_of(unit.kind, first.ref_id)), unit.score))
            if unit.thing:
                things.setdefault(unit.thing, []).append(unit)
        response.entities = [self._life(units) for units in things.values()]
        if found.units:
            response.method = self._method(response, found.units)
        response.total, response.is_limited = found.total, found.is_limited
        response.message = found.note
        _done(response, found.total, found.note or 'nothing fits')

    def _method(self, response: Any, units: list[Unit]) -> int:
        if not any(unit.similarity is not None for unit in units):
            return int(response.METHOD_LEXICAL)
        return int(response.METHOD_PAGERANK if self._ranks else response.METHOD_SIMILARITY)

    def _path_of(self, kind: str, ref_id: int) -> str:
        if kind != 'image':
            return ''
        return PictureReader(self._store, None, 0).path_of(kind, self._store.get(kind, ref_id))

    def _life(self, units: list[Unit]) -> Any:
        """Return a thing with the observations of its units."""
        keys = sorted({(span.start_ns, span.ref_id) for unit in units for span in unit.spans})
        first = units[0]
        life = Life(
            id=f'e{first.entity_id}' if first.entity_id is not None
            else first.thing.partition(' ')[2],
            entity_id=first.entity_id, name=first.name, is_person=False,
            observations=tuple(self._store.get('observation', key) for _, key in keys))
        told = conversions.life_to_ros(life, len(keys))
        told.is_person = any(item.is_person for item in life.observations)
        told.also_seen = [conversions.time_to_ros(stamp) for stamp in first.also_ns]
        told.score = float(first.score)
        return told

    @_answering
    def events(self, request: Any, response: Any) -> None:
        """List skill events."""
        page = Page(limit=request.limit or DEFAULT_LIMIT, offset=request.offset,
                    newest_first=request.newest_first)
        found, response.total = queries.skill_events_page(
            self._store, conversions.window_from_ros(request), skill=request.skill,
            status=conversions.statuses_from_ros(request.statuses), goal=request.goal,
            text=request.text, page=page)
        response.events = [conversions.event_to_ros(event) for event in found]
        _done(response, response.total, 'no skill event fits')

    @_answering
    def episodes(self, request: Any, response: Any) -> None:
        """List nodes of the tree, each before its children."""
        found = [inner for node in self._episodes(request)
                 for inner in self._with_children(node, request.depth)]
        unique = list({node.id: node for node in found}.values())
        response.total = len(unique)
        response.nodes = [self._node(node) for node in _page(unique, request)]
        _done(response, len(unique), 'no node of the tree fits')

    @_answering
    def biography(self, request: Any, response: Any) -> None:
        """Tell the lives of things: entities, or what their source calls one thing."""
        found, response.total = lives(
            self._store, conversions.window_from_ros(request),
            ids=[text for text in request.entity_ids if text], name=request.name,
            limit=request.limit or DEFAULT_LIMIT, offset=request.offset)
        shown = request.max_observations or DEFAULT_OBSERVATIONS
        pictures = shown_in(self._store, [item.id for life in found
                                          for item in life.observations[:shown] if item.id])
        image_ids = {key: list(dict.fromkeys(item.image.id for item in items if item.image.id))
                     for key, items in pictures.items()}
        zone = parse_zone(self._store.zone_of(tuple(request.robots)))
        response.entities = [
            conversions.life_to_ros(life, shown, zone, image_ids) for life in found]
        _done(response, response.total, 'no observation fits')
        if any(life.entity_id is None for life in found):
            response.message = NOT_YET

    @_answering
    def images(self, request: Any, response: Any) -> None:
        """Give the pictures of records."""
        if not any(request.evidence_ids):
            raise RecordError('no id is given')
        reader = PictureReader(self._store, None, 0)
        most = request.limit or DEFAULT_PICTURES
        gone: list[str] = []
        for text in filter(None, request.evidence_ids):
            for shown in self._pictures(reader, text, most, gone)[:most]:
                try:
                    data, image = shown.read(self._store, request.max_edge), shown.image
                except PictureGoneError as error:
                    gone.append(str(error))
                    continue
                if request.max_edge and shown.bbox is None:
                    data = scaled(data, image.media_type, request.max_edge)
                response.images.append(conversions.picture_to_ros(
                    image if shown.bbox is None else replace(image, media_type='image/jpeg'),
                    data))
                response.image_ids.append(shown_id('image', image.id))
                response.evidence_ids.append(text)
        told = '; '.join(list(dict.fromkeys(gone))[:TOLD_GONE])
        response.message = told
        _done(response, len(response.images),
              told or 'no picture was stored with or near these records')

    def _episodes(self, request: Any) -> list[Node]:
        window = conversions.window_from_ros(request)
        if any(request.node_ids):
            named = [self._store.get(*_id(text, 'node')) for text in request.node_ids if text]
            for node in named:
                if window.robots and node.robot not in window.robots:
                    raise NotFoundError(f'n{node.id} is of another robot: {node.robot}')
            return [node for node in named
                    if window.before_ns is None or node.end_ns < window.before_ns]
        is_open = window.start_ns is None and window.end_ns is None
        if request.level or not is_open or window.before_ns is None:
            return queries.nodes(self._store, window, level=request.level or None,
                                 roots=not request.level and is_open)
        # What goes on at the time of the question has no node yet: its parts have none above them.
        known = queries.nodes(self._store, window)
        ids = {node.id for node in known}
        return [node for node in known if node.parent_id not in ids]

    def _with_children(self, node: Node, depth: int) -> list[Node]:
        if not depth:
            return [node]
        return [node, *(inner for child in self._children(node)
                        for inner in self._with_children(child, depth - 1))]

    def _children(self, node: Node) -> list[Node]:
        return sorted(queries.nodes(self._store, parent_id=node.id), key=lambda item: item.ordinal)

    def _node(self, node: Node, score: float | None = None) -> Any:
        return conversions.node_to_ros(
            node, [child.id or 0 for child in self._children(node)], score)

    def _pictures(self, reader: PictureReader, text: str, most: int,
                  gone: list[str]) -> list[Shown]:
        """Return the pictures of an id, which may be gone; `gone` gets why there are none."""
        kind, ref_id = _id(text)
        if kind == 'entity':
            return self._of_entity(ref_id, most)
        record = self._store.get(kind, ref_id)
        if isinstance(record, ImageRecord):
            return [Shown(record)]
        if kind == 'scene' and record.image_id is not None:
            return [Shown(self._store.get('image', record.image_id))]
        if kind == 'observation' and (known := shown_in(self._store, [ref_id])):
            return _kept_first(known[ref_id])
        start_ns = record.start_ns if isinstance(record, Node) else record.stamp_ns
        end_ns = getattr(record, 'end_ns', None) or start_ns
        span = Interval(start_ns, max(start_ns, end_ns))
        near = reader.pictures_of(span, record.robot, Window())
        if not near and (why := reader.why_none(span, record.robot, Window())):
            gone.append(why)
        return [Shown(image) for image in near]

    def _of_entity(self, entity_id: int, most: int) -> list[Shown]:
        """Return the best picture of each of the latest observations of an entity."""
        seen = [key for _, key in details(self._store, 'entity', entity_id).members][::-1]
        found: list[Shown] = []
        for start in range(0, len(seen), MANY):
            known = shown_in(self._store, seen[start:start + MANY])
            found += [_kept_first(known[key])[0] for key in seen[start:start + MANY]
                      if key in known]
            if len(found) >= most:
                break
        return found


def _kept_first(shown: list[Shown]) -> list[Shown]:
    return sorted(shown, key=lambda item: bool(item.image.gone))


def _id(text: str, kind: str = '') -> tuple[str, int]:
    found = parse_id(text)
    if found is None or kind and found[0] != kind:
        raise RecordError(f'{text!r} is no id{f" of a {kind}" if kind else ""}')
    return found


def _page(found: list[Any], request: Any) -> list[Any]:
    return found[request.offset:][:request.limit or DEFAULT_LIMIT]


def _done(response: Any, count: int, otherwise: str) -> None:
    response.status = response.STATUS_OK if count else response.STATUS_NOT_FOUND
    if not count:
        response.message = otherwise
