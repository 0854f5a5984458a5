"""The report in Markdown: ways beside one another, kinds, growth, refusals, what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Of each way and kind, so many wrong answers are listed to be opened.
SHOWN_FAILURES = 12
Rows = Iterable[Sequence[str]]


def markdown(report: Mapping[str, Any]) -> str:
    """Return the whole report."""
    several = len({row['model'] for row in report['totals']}) > 1
    parts = ['# Answers to questions', _totals(report, several), _evidence(report, several),
             _beside(report, several), _kinds(report, several),
             _refusals(report, several), _growth(report, several), _failures(report, several)]
    return '\n\n'.join(part for part in parts if part) + '\n'


def totals_rows(report: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows of the first table, which the terminal shows, too."""
    headings = ('model', 'way', 'history', 'questions', 'S_c', '95 %', 'S_p', '95 %',
                'tokens in', 'out', 'T', 'rounds', 's')
    return headings, [
        (row['model'], row['way'], row['history'], _questions(row), share(row['s_c']),
         interval(row['s_c_95']), share(row['s_p']), interval(row['s_p_95']),
         whole(row['prompt_tokens']), whole(row['completion_tokens']), whole(row['tokens']),
         number(row['rounds']), number(row['seconds'])) for row in report['totals']]


def _totals(report: Mapping[str, Any], several: bool) -> str:
    headings, rows = totals_rows(report)
    return ('## Ways\n\nS_c: right; S_p: right or partly right; T: tokens of a question both '
            'ways; all are means.\n\n' + _table(headings, rows, several))


def _evidence(report: Mapping[str, Any], several: bool) -> str:
    rows = [(row['model'], row['way'], row['history'], str(row['with_evidence']),
             share(row['precision']), share(row['recall']), share(row['f1']),
             share(row['evidence_hit']), share(row['evidence_covered']),
             interval(row['evidence_covered_95']), share(row['shown_hit']),
             share(row['shown_covered']), interval(row['shown_covered_95']))
            for row in report['totals'] if row['with_evidence']]
    if not rows:
        return ''
    return ('## Evidence\n\nOf questions that name the stretches of their evidence: what the '
            'answer cites, and what its way was shown.\n\n' + _table(
                ('model', 'way', 'history', 'questions', 'precision', 'recall', 'F1', 'cited hit',
                 'cited covered', '95 %', 'shown hit', 'shown covered', '95 %'), rows, several))


def _kinds(report: Mapping[str, Any], several: bool) -> str:
    histories = list(dict.fromkeys(row['history'] for row in report['totals']))
    listed = histories if len(histories) > 1 else []
    rows = [(row['model'], row['way'], row['kind'] or '–', _questions(row), share(row['s_c']),
             interval(row['s_c_95']), share(row['s_p']), interval(row['s_p_95']),
             whole(row['tokens']), number(row['seconds']),
             *(share(row['histories'].get(history, {}).get('s_c')) for history in listed))
            for row in report['kinds']]
    return '## Kinds of question\n\n' + _table(
        ('model', 'way', 'kind', 'questions', 'S_c', '95 %', 'S_p', '95 %', 'T', 's',
         *(f'S_c, {history}' for history in listed)), rows, several)


def _beside(report: Mapping[str, Any], several: bool) -> str:
    """Return S_c of each kind with a column for each way of each model, where there are several."""
    columns = list(dict.fromkeys((row['model'], row['way']) for row in report['kinds']))
    if len(columns) < 2:
        return ''
    found = {(row['model'], row['way'], row['kind']): row for row in report['kinds']}
    rows = [(kind or '–', *(_with_number(found.get((*column, kind))) for column in columns))
            for kind in dict.fromkeys(row['kind'] for row in report['kinds'])]
    headings = ('kind', *(', '.join(column) if several else column[1] for column in columns))
    return ('## Ways beside one another\n\nS_c of each kind, and of how many answers.\n\n'
            + _table(headings, rows, True))


def _with_number(row: Mapping[str, Any] | None) -> str:
    return '–' if row is None else f'{share(row["s_c"])} of {row["judged"]}'


def _refusals(report: Mapping[str, Any], several: bool) -> str:
    rows = [(row['model'], row['way'], str(row['unanswerable']), share(row['refused_rightly']),
             interval(row['refused_rightly_95']), str(row['answerable']),
             share(row['refused_wrongly']), interval(row['refused_wrongly_95']))
            for row in report['refusals']]
    return ('## What memory does not tell\n\nHow often the answer is that nothing of it is '
            'recorded.\n\n' + _table(
                ('model', 'way', 'unanswerable', 'refused', '95 %', 'answerable', 'refused',
                 '95 %'), rows, several))


def _growth(report: Mapping[str, Any], several: bool) -> str:
    rows = [(row['model'], row['way'], f'T({row["to"]})/T({row["from"]})', f'{row["ratio"]:.2f}')
            for row in report['growth']]
    return '' if not rows else '## Tokens as the history grows\n\n' + _table(
        ('model', 'way', 'tokens', 'ratio'), rows, several)


def _failures(report: Mapping[str, Any], several: bool) -> str:
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in report['failures']:
        groups.setdefault((row['model'], row['way'], row['kind'] or '–'), []).append(row)
    if not groups:
        return ''
    rows = [(model, way, kind, str(len(found)), ', '.join(_opened(row) for row in
             found[:SHOWN_FAILURES]) + (', …' if len(found) > SHOWN_FAILURES else ''))
            for (model, way, kind), found in sorted(
                groups.items(), key=lambda item: (item[0][:2], -len(item[1])))]
    return ('## What went wrong\n\n`emv --memory FOLDER show q12` opens an answer: its commands, '
            'their output, the tree it saw, its evidence. The folders stand in `report.json`.\n\n'
            + _table(('model', 'way', 'kind', 'wrong or partly right', 'answers'), rows, several))


def _opened(row: Mapping[str, Any]) -> str:
    return f'{row["set"]} {row["query_id"] or row["id"]}'


def _table(headings: Sequence[str], rows: Rows, several: bool) -> str:
    """Return a table; its first column, the model, only where there are several."""
    first = 0 if several else 1
    lines = [headings[first:], ['---'] * (len(headings) - first),
             *(row[first:] for row in rows)]
    return '\n'.join(f'| {" | ".join(map(_cell, line))} |' for line in lines)


def _cell(text: str) -> str:
    return ' '.join(text.split()).replace('|', '\\|')


def _questions(row: Mapping[str, Any]) -> str:
    missing = row['questions'] - row['judged']
    return f'{row["questions"]}' + (f' ({missing} not judged)' if missing else '')


def share(value: float | None) -> str:
    """Return a share in per cent; '–' of nothing."""
    return '–' if value is None else f'{100 * value:.1f} %'


def interval(ends: Sequence[float] | None) -> str:
    """Return an interval in per cent."""
    return '–' if ends is None else f'{100 * ends[0]:.0f}–{100 * ends[1]:.0f} %'


def whole(value: float | None) -> str:
    """Return a mean as a whole number."""
    return '–' if value is None else f'{value:,.0f}'


def number(value: float | None) -> str:
    """Return a mean with one decimal."""
    return '–' if value is None else f'{value:.1f}'
