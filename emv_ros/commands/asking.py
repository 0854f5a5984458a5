"""`emv ask`: a question in words, an answer with evidence."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from emv_ros.commands.context import Context, add_window, interruptible, positive
from emv_ros.commands.output import (
    Progress,
    amount,
    plain,
    tell,
    write,
    write_fields,
    write_json,
)

if TYPE_CHECKING:
    from emv_ros.agent.answers import Answer, EvidenceItem, Progress as Stand
    from emv_ros.memory.store import MemoryStore

PHASES = {'searching': 'looking through the memory', 'thinking': 'the model is thinking',
          'running': 'running', 'answering': 'checking the answer'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument('question', nargs='+', help='the question; quotes are not needed')
    parser.add_argument('--at', metavar='TIME',
                        help='ask as if it were that time: nothing later is used, and "yesterday" '
                             'is seen from there (default: now). For a recording of the past, '
                             'name the time of its end')
    parser.add_argument('--choice', action='append', default=[], metavar='TEXT',
                        help='an answer to choose from; give one --choice for each')
    parser.add_argument('--rounds', type=positive, default=0, metavar='N',
                        help='at most this many commands of the model')
    parser.add_argument('--trace', action='store_true',
                        help='show what the model wrote and what it was shown')
    add_window(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Ask and show; status 0 where there is an answer or, without a model, evidence."""
    from emv_ros.agent.agent import Agent
    from emv_ros.agent.answers import QueryStatus, Question
    from emv_ros.agent.models import ModelClient
    from emv_ros.retrieval.search import Searcher

    with context.open() as store:
        zone = context.zone(store)
        window = context.window(store, args)
        model = ModelClient(context.settings.model, on_call=store.log_call)
        agent = Agent(store, context.settings, model, Searcher(store, context.settings.retrieval))
        question = Question(
            text=' '.join(args.question), query_time_ns=_query_time(args.at, context, zone),
            robots=context.robots, start_ns=window.start_ns, end_ns=window.end_ns,
            max_rounds=args.rounds, choices=tuple(args.choice))
        with interruptible() as cancel, Progress('emv ask') as progress:
            answer = agent.ask(question, cancel=cancel,
                               on_progress=lambda stand: progress.update(_told(stand)))
        trace = _trace(store, answer) if args.trace else None
    if context.as_json:
        write_json(_fields(answer, zone, trace))
    else:
        _write(answer, zone, trace)
    return int(answer.status not in (QueryStatus.ANSWERED, QueryStatus.RETRIEVED_ONLY))


def _query_time(text: str | None, context: Context, zone: tzinfo) -> int:
    from emv_ros.whens import parse_until

    return context.now_ns() if text is None else parse_until(text, context.now_ns(), zone)


def _told(stand: Stand) -> str:
    tokens = stand.prompt_tokens + stand.completion_tokens
    words = [PHASES.get(stand.phase, stand.phase), plain(stand.command)[:60]]
    if stand.round:
        words.append(f'(round {stand.round}, {amount(tokens)} tokens)')
    return ' '.join(filter(None, words))


def _trace(store: MemoryStore, answer: Answer) -> list[Mapping[str, Any]]:
    return list(store.get('query', answer.query_id).trace) if answer.query_id else []


def _fields(answer: Answer, zone: tzinfo,
            trace: list[Mapping[str, Any]] | None) -> dict[str, Any]:
    return {
        'status': str(answer.status), 'answer': answer.answer, 'message': answer.message,
        'choice': answer.choice,
        'evidence': [_evidence_fields(item, zone) for item in answer.evidence],
        'query_id': f'q{answer.query_id}' if answer.query_id else None, 'rounds': answer.rounds,
        'prompt_tokens': answer.prompt_tokens, 'completion_tokens': answer.completion_tokens,
        'seconds': round(answer.duration_s, 3), 'model': answer.model,
        **({} if trace is None else {'trace': trace})}


def _evidence_fields(item: EvidenceItem, zone: tzinfo) -> dict[str, Any]:
    from emv_ros.timeline import format_rfc3339

    return {
        'id': item.id, 'kind': item.kind, 'robot': item.robot,
        'start': format_rfc3339(item.start_ns, zone), 'end': format_rfc3339(item.end_ns, zone),
        'text': item.text, 'image_path': item.image_path}


def _write(answer: Answer, zone: tzinfo, trace: list[Mapping[str, Any]] | None) -> None:
    from emv_ros.timeline import Interval, format_span

    for place, step in enumerate(trace or (), 1):
        write(f'step {place}')
        write_fields(step, '  ')
    for line in answer.answer.splitlines():
        write(plain(line))
    if answer.message:
        (write if not answer.answer else tell)(plain(answer.message))
    if answer.evidence:
        write()
        write('evidence:')
    for item in answer.evidence:
        span = format_span(Interval(item.start_ns, max(item.start_ns, item.end_ns)), zone)
        text = plain(item.text)
        # Lines of the console begin with id and time already.
        write(f'  {text}' if text.startswith(f'{item.id} ') else f'  {item.id} {span} {text}')
        if item.image_path:
            write(f'    {item.image_path}')
    write()
    number = f'q{answer.query_id}' if answer.query_id else 'not logged'
    write(f'{answer.status} ({number}): {answer.rounds} rounds, {amount(answer.prompt_tokens)} + '
          f'{amount(answer.completion_tokens)} tokens, {answer.duration_s:.1f} s')
