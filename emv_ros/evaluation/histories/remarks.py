"""What residents tell the robot by the way: each remark is made once in a history at most."""

from __future__ import annotations

from dataclasses import dataclass

from emv_ros.evaluation.histories.truth import Words


@dataclass(frozen=True, slots=True)
class Remark:
    """Words with something in them that can be asked for: `topic`, and what to answer."""

    topic: str
    text: str
    items: tuple[Words, ...]


REMARKS = (
    Remark('the dentist', 'The dentist says that I need a brace.', (('brace',),)),
    Remark('the choir', 'The choir meets in the town hall from now on.', (('town hall',),)),
    Remark('the neighbours', 'The neighbours are away in Portugal.', (('portugal',),)),
    Remark('the spare key', 'The spare key lies under the flower pot.', (('flower pot',),)),
    Remark('the train', 'My train leaves from platform seven.',
           (('platform seven', 'platform 7', 'seven'),)),
    Remark('the birthday', 'For my birthday I wish for a kayak.', (('kayak',),)),
    Remark('the marathon', 'I ran the marathon in four hours.',
           (('four hours', '4 hours'),)),
    Remark('the garden', 'In the garden we will plant raspberries.', (('raspberries',),)),
    Remark('the cinema', 'At the cinema they show a film about whales.', (('whales',),)),
    Remark('the plumber', 'The plumber has found a leak in the cellar.',
           (('leak',), ('cellar',))),
    Remark('the allergy', 'Mind that I have an allergy to walnuts.', (('walnuts',),)),
    Remark('the holidays', 'We spend the holidays in a hut in Norway.', (('norway',),)),
    Remark('the bus', 'The bus was forty minutes late.', (('forty', '40'),)),
    Remark('the new colleague', 'My new colleague comes from Chile.', (('chile',),)),
    Remark('the concert', 'The concert is sold out.', (('sold out',),)),
    Remark('the boiler', 'The boiler has to be replaced in spring.', (('spring',),)))
