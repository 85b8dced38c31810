"""The comparison of two runs in words, for `viewpass diff`."""

from __future__ import annotations

from viewpass.errors import printable
from viewpass.runs.diff import SAME, Change, Comparison, Pair

SHOWN = 20  # pairs and moves in the text; --json has all


def diff_lines(found: Comparison) -> list[str]:
    """The comparison in words."""
    rows = max(found["rows"], 1)
    lines = [
        f"{found['rows']:,} rows in both runs; {found['moved']:,} ({found['moved'] / rows:.1%}) are not in "
        f"the counterpart of their cluster (NMI {found['nmi']:.3f}, ARI {found['ari']:.3f}).",
    ]
    for which, number in (("first", found["only_first"]), ("second", found["only_second"])):
        if number:
            lines.append(f"{number:,} rows are only in the {which} run.")
    names = _names(found)
    same = sum(pair["share"] >= SAME for pair in found["pairs"])
    others = [pair for pair in found["pairs"] if pair["rows"] and pair["share"] < SAME]
    lines.append(f"{same} clusters are the same in {SAME:.0%} of their rows or more; less alike:")
    lines += _few([_pair(pair, names) for pair in others])
    lines += ["what became of the others:"] if found["changes"] else []
    lines += _few([_change(change, names) for change in found["changes"]])
    if found["moves"]:
        lines.append("most rows moved")
        lines += [
            f"  {move['rows']:>9,}  ({move['share']:.0%}) "
            f"from {names[0][move['first']]} to {names[1][move['second']]}"
            for move in found["moves"][:SHOWN]
        ]
    return lines


def _few(lines: list[str]) -> list[str]:
    more = [f"and {len(lines) - SHOWN} more (--json has all)"] if len(lines) > SHOWN else []
    return [f"  {line}" for line in [*lines[:SHOWN], *more]]


Names = tuple[dict[int | None, str], dict[int | None, str]]


def _names(found: Comparison) -> Names:
    pairs = found["pairs"]
    return (
        {pair["first"]: _named(pair["first"], pair["first_name"]) for pair in pairs},
        {pair["second"]: _named(pair["second"], pair["second_name"]) for pair in pairs},
    )


def _change(change: Change, names: Names) -> str:
    """What became of clusters, in a line."""
    first = " and ".join(names[0][k] for k in change["first"])
    second = " and ".join(names[1][k] for k in change["second"])
    rows = f"{change['rows']:,} rows"
    return {
        "merged": f"merged: {first} into {second}, {rows}",
        "split": f"split: {first} into {second}, {rows}",
        "died": f"died: {first}, whose {rows} are scattered",
        "born": f"born: {second}, whose {rows} are from several",
    }[change["what"]]


def _named(cluster: int | None, name: str | None) -> str:
    return f"{cluster} ({printable(name[:40])})" if name else str(cluster)


def _pair(pair: Pair, names: Names) -> str:
    both = f"{names[0][pair['first']]} -> {names[1][pair['second']]}"
    return f"{both}: {pair['rows']:,} rows in both, {pair['share']:.0%} of theirs together"
