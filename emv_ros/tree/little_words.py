"""English words that the checks of summaries know by themselves.

General words stand in any summary, whatever was recorded; little words are no names of things.
"""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Nouns that any summary may use: what tells of an account itself, not of the world.
GENERAL = _set("""
    ability able action activity addition afternoon aim amount anybody anyone anything area arm
    array aspect assistance attempt attention back beginning being bit body bottom case cause
    chance collection combination command completion condition content conversation correctness
    couple course day deal deed detail difficulty direction doing effect effort end environment
    error evening event everybody everyone everything example exchange execution fact failure few
    first focus following front function goal gripper group half hand help hour human instance
    instruction interaction issue item kind lack last left list location lot mention message
    middle midnight mind minute mode moment morning motion move name need next night none noon
    note nothing number object occasion one operation order other others outcome pair part past
    pattern people period person phrase place plan point pose position possibility preparation
    presence problem procedure process progress purpose quarter question reach reason record
    remainder repeat reply report request response rest result return right robot round routine
    scene second sequence series session set side sight somebody someone something sort spot start
    state statement status step subject success summary surface surrounding task test thanks thing
    time today top total trial try turn type use user utterance variety view visit voice way while
    word work""")
# Words without a meaning of their own, numbers among them.
FUNCTION = _set("""
    a about above across after again against ahead all along already also although always am among
    an and another any apart are around as aside at away be because been before behind being below
    beside besides between beyond both but by can cannot could did do does down during each eight
    either eleven else even ever every except few fifth finally five for four fourth from further
    had has have having he her here hers herself him himself his how however i if in inside
    instead into is it its itself just later least less like many may me might mine more most much
    must my near neither never nine no nor not now of off on once one only onto or other our out
    outside over own per plus quite rather same seven she should since six so some soon still
    successfully such ten than that the their theirs them themselves then there these they third
    this those though three thrice through throughout thus till to together too toward towards
    twelve twice two under until up upon us very via was we well were what when where whether
    which while who whom whose why will with within without would yet you your""")
# What a noun follows on.
ARTICLES = _set("""
    a an another any both each eight every few five four her his its many my nine no our seven
    several six some ten that the their these this those three two your""")
PREPOSITIONS = _set("""
    about across against around at behind beside between containing during for from in including
    inside into near of on onto over through toward towards under upon using via with without""")
# Adjectives that a thing has or has not.
COLOURS = _set("""
    black blue brown golden gray green grey orange pink purple red silver white yellow""")
