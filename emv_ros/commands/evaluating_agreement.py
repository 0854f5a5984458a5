"""`emv eval agreement`: how far the scorers of answers agree with people who graded some."""

from __future__ import annotations

import argparse
import random
from typing import Any

from emv_ros.commands.context import Context, UsageError
from emv_ros.commands.output import Progress, write, write_json, write_table

HEADINGS = ('scorer', 'answers', 'seven classes', '95 %', 'kappa', 'three classes', '95 %', 'kappa',
            'S_c people', 'S_c', '95 %', 'S_p people', 'S_p', '95 %')


def run(args: argparse.Namespace, context: Context) -> int:
    """Measure and show one table; with --judge also the language model, on --limit answers."""
    if len(args.data) != 1:
        raise UsageError('emv eval agreement needs one file of graded answers: --data FILE')
    from emv_ros.evaluation.scoring.agreement import (
        agreement,
        by_judge,
        by_lists,
        by_rule,
        by_words,
    )
    from emv_ros.evaluation.scoring.graded import read_graded
    from emv_ros.evaluation.scoring.judge import Judge
    from emv_ros.evaluation.scoring.lexical import Lexical
    from emv_ros.retrieval.embedders import make_embedder

    answers = read_graded(args.data[0])
    if args.limit and args.limit < len(answers):
        # By chance, the same each time: kinds of question may come in turns.
        chosen = random.Random(1).sample(range(len(answers)), args.limit)
        answers = [answers[at] for at in sorted(chosen)]
    words = by_words(Lexical(make_embedder(context.settings.retrieval)))
    found = [agreement('rules, exact golds', answers, by_rule),
             agreement('rules, lists too', answers, by_lists),
             agreement('rules, else words', answers, words)]
    if args.judge:
        from emv_ros.agent.models import ModelClient

        with Progress('judge') as progress:
            found.append(by_judge(Judge(ModelClient(context.settings.model)), answers,
                                  progress.update))
    tables = [item.to_dict() for item in found]
    if context.as_json:
        write_json(tables)
    else:
        _write(tables)
    return int(not answers)


def _write(tables: list[dict[str, Any]]) -> None:
    write_table(HEADINGS, [_cells(table) for table in tables])
    write()
    write('Agreement with the classes that people gave; three classes: correct, partly correct, '
          "wrong or no answer. S_c and S_p by people are over the same answers as the scorer's.")
    for table in tables:
        if table['prompt_tokens']:
            write(f'{table["scorer"]}: {table["prompt_tokens"]} prompt tokens and '
                  f'{table["completion_tokens"]} in reply')


def _cells(table: dict[str, Any]) -> tuple[str, ...]:
    def share(name: str) -> str:
        return f'{100 * table[name]["share"]:.1f} %'

    def interval(name: str) -> str:
        low, high = table[name]['95']
        return f'{100 * low:.0f}–{100 * high:.0f} %'

    return (table['scorer'], f'{table["scored"]} of {table["answers"]}',
            share('seven'), interval('seven'), f'{table["kappa_seven"]:.2f}',
            share('three'), interval('three'), f'{table["kappa_three"]:.2f}',
            share('s_c_people'), share('s_c'), interval('s_c'),
            share('s_p_people'), share('s_p'), interval('s_p'))
