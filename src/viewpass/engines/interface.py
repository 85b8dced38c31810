"""What an engine is: anything that can sample, tally and label rows can run a fit.

An engine has the rows: in this process, or divided into partitions among many machines. The rest of a fit
(what is solved when, and when it is enough) is the same for all of them: `tally/fitting.py`. What an engine
has to do with the rows of one partition is in `engines/partitions.py`.

    sample   the union of the partitions' samples
    tally    the sum of the partitions' tallies: whole numbers, in any order
    label    the same by label, and the labels in the order of the rows
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from viewpass.kernels.grid import Labels
from viewpass.model.model import Model
from viewpass.sample.sample import Sample, Size
from viewpass.sums.workspace import Workspace
from viewpass.tally.fitting import Fitting
from viewpass.tally.tally import Tally
from viewpass.views.chunk import Schema


class Drawn(NamedTuple):
    """The first reading of the data: its sample, its views and its number of rows."""

    sample: Sample
    schema: Schema
    n_rows: int


class Engine(Protocol):
    """Reads all rows of some data, as often as it is asked to."""

    def sample(self, size: Size) -> Drawn:
        """The rows with the lowest keys (sample/keys.py), numbered as in the data."""

    def tally(self, model: Model) -> Tally:
        """What all rows add up to under a model (`tally_by_centre`)."""

    def label(self, model: Model) -> tuple[Tally, Labels]:
        """What all rows add up to by their labels (`tally_by_label`), and the labels."""


def fit(engine: Engine, fitting: Fitting, workspace: Workspace) -> Labels:
    """Take a fit from its beginning to its end; gives the labels of all rows.

    `workspace` is that of this process, which solves the sample.
    """
    fitting.start(*engine.sample(fitting.sample.size))
    fitting.end_stage(workspace)
    while not fitting.labelling:
        assert fitting.model is not None
        fitting.add(engine.tally(fitting.model))
        fitting.end_stage(workspace)
    assert fitting.model is not None
    tally, labels = engine.label(fitting.model)
    fitting.add(tally)
    fitting.end_stage(workspace)
    workspace.release()
    return labels
