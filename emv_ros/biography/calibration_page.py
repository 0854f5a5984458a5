"""Pairs of observations side by side: one HTML page with all crops in it, or one PNG sheet.

A crop that cannot be read is told in its place.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import tzinfo

import numpy as np

from emv_ros.biography.calibration import Pair
from emv_ros.errors import EmvError
from emv_ros.memory.cutting import Shown, shown_in
from emv_ros.memory.store import MemoryStore
from emv_ros.quoting import plain_line
from emv_ros.timeline import format_stamp

EDGE_PX = 180
CROPS = 2
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = ('body{font:16px sans-serif;max-width:60em;margin:1em auto}article{border-top:1px solid '
         '#aaa;padding:.6em 0}figure{display:inline-block;margin:0 1em 0 0}img{max-height:11em}')

Crops = Mapping[int, Sequence[bytes]]


def crops_of(store: MemoryStore, pairs: Sequence[Pair]) -> dict[int, list[bytes]]:
    """Return the best crops of the observations of pairs as JPEG, as far as they can be read."""
    ids = {key for pair in pairs for key in (pair.first_id, pair.second_id)}
    found: dict[int, list[bytes]] = {}
    for key, pictures in shown_in(store, ids).items():
        for one in [item for item in pictures
                    if item.bbox is not None and not item.image.gone][:CROPS]:
            data = _read(store, one)
            if data:
                found.setdefault(key, []).append(data)
    return found


def _read(store: MemoryStore, one: Shown) -> bytes:
    try:
        return one.read(store, EDGE_PX)
    except EmvError:  # gone or damaged: the other crops are shown
        return b''


def page(store: MemoryStore, pairs: Sequence[Pair], crops: Crops, limits: tuple[float, float],
         zone: tzinfo) -> str:
    """Return the page; times are local to the zone."""
    from html import escape

    def figure(key: int) -> str:
        seen = store.get('observation', key)
        told = f'o{key} {plain_line(seen.name)}, {format_stamp(seen.stamp_ns, zone)}'
        shown = ''.join(f'<img alt="" src="data:image/jpeg;base64,{b64encode(data).decode()}">'
                        for data in crops.get(key, ())) or 'no picture can be read'
        return f'<figure>{shown}<figcaption>{escape(told)}</figcaption></figure>'

    articles = [f'<article><h2>{number} <small>{pair.cosine:.3f}</small></h2>'
                f'{figure(pair.first_id)}{figure(pair.second_id)}</article>'
                for number, pair in enumerate(pairs, 1)]
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            f'<title>Same or different?</title><style>{STYLE}</style></head><body>'
            '<h1>Same or different?</h1><p>Pairs of observations by how much alike they look. '
            f'Now match is {limits[0]:.3f} and consistent {limits[1]:.3f}. Then: '
            '<code>emv entities calibrate --same 1,2 --different 3 --write</code></p>'
            + '\n'.join(articles) + '</body></html>\n')


def sheet(pairs: Sequence[Pair], crops: Crops) -> bytes:
    """Return a PNG with a row a pair: its number, its cosine and the best crop of each."""
    import cv2

    rows = []
    for number, pair in enumerate(pairs, 1):
        row = np.full((EDGE_PX, 3 * EDGE_PX, 3), 255, np.uint8)
        cv2.putText(row, f'{number}: {pair.cosine:.3f}', (8, EDGE_PX // 2),
                    cv2.FONT_HERSHEY_SIMPLEX, 0.7, (0, 0, 0), 2, cv2.LINE_AA)
        for place, key in ((1, pair.first_id), (2, pair.second_id)):
            pictures = [np.frombuffer(data, np.uint8) for data in crops.get(key, ())[:1]]
            for data in pictures:
                pixels = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
                height, width = pixels.shape[:2]
                row[:height, place * EDGE_PX:place * EDGE_PX + width] = pixels
        rows.append(row)
    return bytes(cv2.imencode('.png', np.vstack(rows))[1])
