"""Checks what the paper says about Figure 1 against the measured curves."""

from __future__ import annotations

import numpy as np

from viewpass.evaluate.harness.page import CANNOT, Claim
from viewpass.paper.settings import SETS

Curves = dict[tuple[str, float, str, str], dict[str, np.ndarray]]  # set, rate, method, "best" or "default"
PAPERS_OWN = (("digit", 0.3), ("digit", 0.4), ("webkb", 0.3), ("webkb", 0.4))
SUBSTITUTES = {"reuters1200": 0.4, "debian_l10n": 0.0}  # for Reuters


class Orderings:
    """The curves at the best settings, and the claims about the data sets they cover."""

    def __init__(self, curves: Curves) -> None:
        self.curves = curves
        self.last = max(len(curve["acc"]) for curve in curves.values())

    def claims(self) -> list[Claim]:
        """All claims about the data sets that were measured."""
        own = [setting for setting in PAPERS_OWN if self.has(*setting)]
        claims = [claim for setting in own for claim in self._two_passes(*setting)]
        if self.has("webkb", 0.4):
            claims.append(self._recovers())
        claims += [self._reuters(data, rate) for data, rate in SUBSTITUTES.items() if self.has(data, rate)]
        if self.has("mnist70k_3v", 0.4):
            claims.append(self._youtube())
        if own:
            claims.append(self._omvc_and_onmf(own))
        return claims

    def has(self, data: str, rate: float) -> bool:
        """Whether this setting was measured."""
        return (data, rate, "OPIMC", "best") in self.curves

    def nmi(self, data: str, rate: float, method: str, number: int) -> float:
        """NMI after a pass (after the fit, for methods without passes)."""
        values = self.curves[data, rate, method, "best"]["nmi"]
        return float(values[min(number, len(values)) - 1])

    def _two_passes(self, data: str, rate: float) -> list[Claim]:
        ours = self.nmi(data, rate, "OPIMC", 2)
        theirs = {m: self.nmi(data, rate, m, 2) for m in ("OMVC", "ONMF-I", "ONMF-DA", "MultiNMF")}
        said = (data, rate) != ("webkb", 0.4)
        where = f"{SETS[data].title} .{rate * 10:.0f}"
        above = Claim.judged(
            f"{where}: OPIMC is above OMVC, ONMF-I, ONMF-DA and MultiNMF after two passes"
            f"{'' if said else ' (the paper does not say so here)'}.",
            ours > max(theirs.values()),
            f"NMI after pass 2: OPIMC {ours:.3f}; "
            + ", ".join(f"{method} {value:.3f}" for method, value in theirs.items()),
        )
        if not said:
            return [above]
        offline = self.nmi(data, rate, "IMC", 1)
        close = Claim.judged(
            f"{where}: OPIMC comes close to IMC after two passes.",
            ours > offline - 0.05,
            f"NMI: OPIMC {ours:.3f} after pass 2, {self.nmi(data, rate, 'OPIMC', self.last):.3f} after pass "
            f"{self.last}; IMC {offline:.3f} (close: within .05)",
        )
        return [above, close]

    def _recovers(self) -> Claim:
        first, end = (self.nmi("webkb", 0.4, "OPIMC", number) for number in (1, self.last))
        return Claim.judged(
            "WebKB .4: OPIMC is bad in the first passes, then recovers rapidly.",
            end > first + 0.1,
            f"NMI {first:.3f} after pass 1, {end:.3f} after pass {self.last}; IMC "
            f"{self.nmi('webkb', 0.4, 'IMC', 1):.3f}",
        )

    def _reuters(self, data: str, rate: float) -> Claim:
        values = [self.nmi(data, rate, "OPIMC", number) for number in (1, 2, self.last)]
        return Claim(
            f"Reuters: best after one pass, falls with more. (In its place: {SETS[data].title})",
            CANNOT,
            f"The full set is not available. NMI of OPIMC after passes 1, 2, {self.last}: "
            + ", ".join(f"{value:.3f}" for value in values),
        )

    def _youtube(self) -> Claim:
        methods = ("OPIMC", "OMVC", "ONMF-I", "ONMF-DA")
        found = (f"{method} {self.nmi('mnist70k_3v', 0.4, method, self.last):.3f}" for method in methods)
        return Claim(
            f"YouTube: OPIMC is far ahead. (In its place: {SETS['mnist70k_3v'].title})",
            CANNOT,
            f"The set is not available. NMI after pass {self.last}: " + ", ".join(found),
        )

    def _omvc_and_onmf(self, own: list[tuple[str, float]]) -> Claim:
        pairs = {
            setting: (
                self.nmi(*setting, "OMVC", self.last),
                max(self.nmi(*setting, method, self.last) for method in ("ONMF-I", "ONMF-DA")),
            )
            for setting in own
        }
        return Claim.judged(
            "OMVC gets better results than ONMF-I and ONMF-DA.",
            all(omvc > onmf for omvc, onmf in pairs.values()),
            f"NMI after pass {self.last}, OMVC / better ONMF: "
            + "; ".join(
                f"{data} .{rate * 10:.0f} {omvc:.3f} / {onmf:.3f}"
                for (data, rate), (omvc, onmf) in pairs.items()
            ),
        )
