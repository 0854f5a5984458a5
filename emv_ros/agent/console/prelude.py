"""The sandbox's own Python: thin classes and functions over the host's functions.

Values that cross the border are plain dictionaries; here they become objects that print well.
Nothing in here guards anything: all checks are the host's.
"""

PRELUDE = """
from datetime import datetime, date, time, timedelta
import re
from collections import Counter

class Record:
    def __init__(self, d):
        self.id = d['id']
        self.kind = d['kind']
        self.robot = d['robot']
        self.name = d['name']
        self.skill = d['name']
        self.object = d['name']
        self.text = d['text']
        self.status = d['status']
        self.goal = d['goal']
        self.speaker = d['speaker']
        self.instance = d['instance']
        self.event = d['event']
        self.place = d['place']
        self.state = d['state']
        self.parameters = d['parameters']
        self.thing = d['thing']
        self.start = d['start']
        self.end = d['end']
        self.day = d['day']
        self.time = d['time']
        self.when = d['when']
        self.duration = d['duration']
        self.seconds = d['seconds']
        self.count = d['count']
        self.told = d['told']
        self.reason = d['reason']
        self.line = d['line']
    def __str__(self):
        return self.line
    def __repr__(self):
        return self.line

class Node:
    def __init__(self, d):
        self.id = d['id']
        self.kind = d['kind']
        self.robot = d['robot']
        self.level = d['level']
        self.name = d['name']
        self.status = d['status']
        self.summary = d['summary']
        self.text = d['summary']
        self.start = d['start']
        self.end = d['end']
        self.day = d['day']
        self.time = d['time']
        self.when = d['when']
        self.duration = d['duration']
        self.seconds = d['seconds']
        self.line = d['line']
    def __str__(self):
        return self.line
    def __repr__(self):
        return self.line
    def expand(self, *which):
        return [Node(d) for d in _expand(self.id, which)]
    def collapse(self):
        _collapse(self.id)
    def collapse_all_but(self, *keep):
        _collapse_all_but(self.id, [_id_of(k) for k in keep])
    def search(self, text, k=5):
        return [Node(d) for d in _search_node(self.id, text, k)]
    def records(self):
        return [Record(d) for d in _records(self.id)]

def _id_of(x):
    if isinstance(x, str):
        return x
    if isinstance(x, (list, tuple)) and x:
        return _id_of(x[0])
    if hasattr(x, 'id'):
        return x.id
    raise TypeError(f'a row or a node is needed, not {type(x).__name__}')

def _is_node(x):
    return getattr(x, 'kind', None) == 'node'

def _children(x):
    return [Node(d) for d in _children_of(x.id)] if _is_node(x) else x.children

def _seq(x):
    return [Node(d) for d in _children_of(x.id)] if _is_node(x) else x

def _parameter(x, name):
    if name not in x.parameters and name in ('thing', 'object', 'item', 'name') and x.thing:
        return x.thing
    return x.parameters[name]

def _echo(x):
    if isinstance(x, (list, tuple)):
        for item in x:
            print(item)
        if not x:
            print('no rows')
    elif x is not None:
        print(x)

def _when(x):
    if isinstance(x, (list, tuple)) and not len(x):
        raise ValueError('when=rows got no rows: look with other words first')
    if isinstance(x, (list, tuple)) and len(x) and hasattr(x[0], 'id'):
        x = x[0]
    return [x.start, x.end + timedelta(seconds=1)] if hasattr(x, 'id') else x

_TIME_ALONE = re.compile('(?i)today|yesterday|(this|last) (week|month|morning|evening|night)')

def _taken(text, when, others):
    for name in [name for name in others if others[name] is not None]:
        if not isinstance(others[name], str):
            raise TypeError(f'unexpected keyword argument {name!r}')
        if when is None and name in ('date', 'day', 'time', 'on', 'at'):
            when = others[name]
            print(f'({name}= was taken as when=)')
        else:
            text = f'{text} {others[name]}' if text else others[name]
            print(f'({name}= was taken as text=)')
    if isinstance(text, str) and _TIME_ALONE.fullmatch(text.strip()):
        print('(text= was taken as when=)')
        text, when = None, text if when is None else when
    return text, when

def events(skill=None, status=None, goal=None, text=None, start=None, end=None, when=None,
limit=None, **others):
    text, when = _taken(text, when, others)
    found = _events(skill, status, goal, text, start, end, _when(when), limit)
    return [Record(d) for d in found]

def goals(text=None, status=None, start=None, end=None, when=None, limit=None, **others):
    text, when = _taken(text, when, others)
    return [Record(d) for d in _goals(text, status, start, end, _when(when), limit)]

def speech(text=None, speaker=None, start=None, end=None, when=None, limit=None):
    return [Record(d) for d in _speech(text, speaker, start, end, _when(when), limit)]

def seen(name=None, start=None, end=None, when=None, instance=None, limit=None):
    return [Record(d) for d in _seen(name, start, end, _when(when), instance, limit)]

def search(text, start=None, end=None, when=None, k=8):
    found = [Record(d) for d in _search(text, start, end, _when(when), k)]
    for r in found:
        print(r)
    if not found:
        print('search found nothing')
    return found

def days(when=None, start=None, end=None):
    return [Node(d) for d in _days(_when(when), start, end)]

def goals_with(text, status=None, when=None, **others):
    text, when = _taken(text, when, others)
    return [Record(d) for d in _goals_with(text, status, _when(when))]

def request(row):
    return [Record(d) for d in _request(_id_of(row))]

def where(name, at=None, when=None):
    return [Record(d) for d in _where(name, when if at is None else at)]

def around(when, minutes=10):
    return [Record(d) for d in _around(when, minutes)]

def before(record, k=1):
    return [Record(d) for d in _beside(_id_of(record), -k)]

def after(record, k=1):
    return [Record(d) for d in _beside(_id_of(record), k)]

def moves(name, at=None, when=None):
    return [Record(d) for d in _moves(name, at, _when(when))]

def still(rows, seconds=0):
    return _still(_rows_of(rows), seconds)

def during(rows):
    return [Record(d) for d in _during(_rows_of(rows))]

def same(name, one, two):
    return _same(name, _rows_of(one), _rows_of(two))

def _rows_of(x):
    return [_id_of(r) for r in (x if isinstance(x, (list, tuple)) else [x])]

def pick(rows, choices=None, missing=False):
    return _pick([{'id': x.id} if hasattr(x, 'id') else x for x in (
        rows if isinstance(rows, (list, tuple)) else [rows])], choices, missing)

def biography(entity):
    return _biography(_id_of(entity))

def look(what, question):
    return _look(_id_of(what), question)

def times(rows):
    rows = list(rows)
    shown = ', '.join([r.when for r in rows[:20]])
    return shown + (f' and {len(rows) - 20} more' if len(rows) > 20 else '')

def names(rows):
    return ', '.join(list(dict.fromkeys([r.name for r in rows])))

def told(rows):
    rows = [rows] if hasattr(rows, 'id') else rows
    said = [r.summary if _is_node(r) else r.told for r in rows]
    return ', '.join(list(dict.fromkeys(said)))

def total(rows):
    return timedelta(seconds=round(sum([r.seconds for r in rows])))

def took(rows):
    left, parts = round(sum([r.seconds for r in rows])), []
    for unit, size in (('hour', 3600), ('minute', 60), ('second', 1)):
        count, left = left // size, left % size
        if count:
            parts.append(f'{count} {unit}' + ('' if count == 1 else 's'))
    return ' '.join(parts) or '0 seconds'

def _ids_of(x):
    if x is None:
        return []
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple, set)):
        return [i for y in x for i in _ids_of(y)]
    return [x.id if hasattr(x, 'id') else str(x)]

def answer(text, evidence=()):
    _answer(str(text), _ids_of(evidence))

def not_recorded(reason=''):
    _not_recorded(str(reason))

def now():
    return _now

memory = Node(_root)
"""
