"""What was learnt from different rows, merged: the union of the samples, solved.

Nothing depends on the order of the parts, nor on how they were merged before: samples and counts of rows add
up, and the model, its sums and its clusters follow from the sample of all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from viewpass.sample.sample import united
from viewpass.solve.solve import solve
from viewpass.streams.identities import Identities
from viewpass.sums.row_counts import MOST_PATTERNS, Census, RowCounts
from viewpass.sums.rules import Workspace
from viewpass.tally.learning import Learning, whole_segment
from viewpass.tally.tally import estimated
from viewpass.views.chunk import Schema


def merged(parts: Sequence[Learning], workspace: Workspace) -> Learning:
    """What was learnt from the rows of all parts, which have the same plan and views."""
    first = min(parts, key=lambda part: part.seed)
    models = [part.model(workspace) for part in parts]
    found = Learning(first.plan, first.seed, united([part.sample for part in parts]))
    schema = reduce(Schema.merged, [model.schema for model in models])
    found.schema, found.n_rows = schema, sum(part.n_rows for part in parts)
    found.solved_at = found.n_rows
    each = Workspace(workspace.n_threads)
    model = solve(found.sample, schema, found.plan, found.seed, each, found.n_rows)
    read = sum((part.read for part in models), start=RowCounts())
    total, census, read = estimated(model, found.sample, read, workspace)
    census = _with_patterns(census, [part.census for part in models])
    found.solved = replace(model, labelled=total, census=census, read=read)
    found.identities = Identities.first(found.solved.n_clusters)
    found.segments = whole_segment(found.solved, found.identities.ids)
    return found


def _with_patterns(census: Census, parts: Sequence[Census | None]) -> Census:
    """The census with the presence patterns of all parts; of more than it counts, those of lowest number."""
    counts, n_other = Counter[int](), 0
    for part in parts:
        if part is not None:
            counts.update(part.patterns)
            n_other += part.n_other
    order = sorted(counts)
    n_other += sum(counts[pattern] for pattern in order[MOST_PATTERNS:])
    return replace(census, patterns={each: counts[each] for each in order[:MOST_PATTERNS]}, n_other=n_other)
