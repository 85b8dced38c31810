"""Text that would do harm if a page ran it or gave it room, put wherever data can put any."""

from __future__ import annotations

import copy

HOSTILE = [
    "<script>alert(1)</script>",
    "[red]x[/red]",
    "\x1b[31mred",
    "n" * 10_000,
    "שלום \u202eabc",
    '"><img src=x onerror=alert(1)>',
    "</script>",
    "{{ 7 * 7 }}",
]


def with_text(found, texts):
    """The summary with text from hostile data wherever data can put any."""
    found = copy.deepcopy(found)
    found["views"] = {
        f"{name} {text}": view for (name, view), text in zip(found["views"].items(), texts, strict=False)
    }
    names = list(found["views"])
    for number, cluster in enumerate(found["clusters"]):
        cluster["name"] = texts[number % len(texts)]
        cluster["apart"]["views"] = dict(zip(names, cluster["apart"]["views"].values(), strict=True))
        cluster["patterns"] = dict.fromkeys(texts, 3)
    rows = [row for cluster in found["clusters"] for row in cluster["typical"] + cluster["doubtful"]] + found[
        "sample"
    ]
    for number, row in enumerate(rows):
        row["shown"] = {text: texts[(number + i) % len(texts)] for i, text in enumerate(texts)}
    found["patterns"][0]["views"] = " + ".join(texts)
    found["settings"] = {text: text for text in texts}
    found["choices"] = [
        {"what": texts[0], "chosen": texts[1], "scores": {texts[5]: 1.0}, "error": None, "reason": texts[6]}
    ]
    return found
