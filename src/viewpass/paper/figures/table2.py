"""Table 2: seconds per pass, or per run; all cells on one machine, one after the other."""

from __future__ import annotations

from typing import Any

from viewpass.evaluate.harness.cells import Cell
from viewpass.evaluate.harness.page import Claim, Section
from viewpass.evaluate.harness.tables import write_csv
from viewpass.paper.settings import BEST_ALPHA, SETS, PaperRun, published

PAPER = {
    "OPIMC": (0.25, 0.56, 27.89, 26.76),
    "OMVC": (23.37, 34.76, 3753.02, 2064.83),
    "ONMF-I": (18.69, 31.16, 2887.12, 1657.22),
    "ONMF-DA": (20.09, 30.63, 2224.44, 1307.14),
    "IMC": (2.91, 6.31, None, None),
    "MultiNMF": (149.7, 647.2, None, None),
}
QUICK_STEPS = 50  # of MultiNMF, of 200
COLUMNS = ("webkb", "digit", "made reuters", "made youtube")
LINES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("OPIMC", "OPIMC", {}),
    ("OMVC, tested by the sums", "OMVC", {"accept": "sums"}),
    ("OMVC, tested on all rows read (published)", "OMVC", {"accept": "scanned"}),
    ("ONMF-I", "ONMF-I", {}),
    ("ONMF-DA", "ONMF-DA", {}),
    ("IMC, one run", "IMC", {}),
    ("MultiNMF, one run", "MultiNMF", {}),
)
PROCESSOR = ", processor time"
PART_ROWS = {"made reuters": 6000, "made youtube": 6000}
ALPHA = {"made reuters": 0.01, "made youtube": 1.0}


def cell(plan: PaperRun, data: str, title: str, more: dict[str, Any]) -> Cell:
    """One entry: 0.4 missing, one pass, the paper's chunks and alpha."""
    large = data.startswith("made ")
    extra = dict(more)
    if title in ("OPIMC", "IMC"):
        extra["alpha"] = ALPHA[data] if large else BEST_ALPHA[data]
    if plan.quick and title == "MultiNMF":
        extra["max_iter"] = QUICK_STEPS
    n_rows = PART_ROWS.get(data, 0) if plan.in_parts else 0
    own = published(title, chunk_size=2000 if large else SETS[data].chunk_size, **extra)
    return Cell(f"{data} {n_rows}" if n_rows else data, "paper", 0.4, 0, own, n_passes=1, n_timings=3)


def run(plan: PaperRun) -> Section:
    """Measure each cell alone, with all processors."""
    seconds: dict[tuple[str, str], float] = {}
    processor: dict[tuple[str, str], float] = {}
    rows: list[list[Any]] = []
    kmeans: dict[tuple[str, str], float] = {}
    for title, method, more in LINES:
        row: list[Any] = [title]
        for place, data in enumerate(COLUMNS):
            if data.startswith("made ") and method in ("IMC", "MultiNMF"):
                row.append("/")
            else:
                (result,) = plan.results([cell(plan, data, method, more)], alone=True)
                seconds[title, data], kmeans[title, data] = result["seconds"][0], result["label_seconds"][0]
                processor[title, data] = result["processor"][0]
                row.append(round(seconds[title, data], 4))
            paper = PAPER[method][place]
            row.append("/" if paper is None else paper)
        rows.append(row)
    for title, method, _ in LINES:
        row = [f"{title}{PROCESSOR}"]
        for place, data in enumerate(COLUMNS):
            paper = PAPER[method][place]
            row += [processor.get((title, data), "/"), "/" if paper is None else paper]
        rows.append(row)
    for title in (LINES[1][0], LINES[2][0]):
        for found, by in ((seconds, ""), (processor, PROCESSOR)):
            row = [f"OPIMC's share of {title}{by}"]
            for place, data in enumerate(COLUMNS):
                row += [
                    f"{found['OPIMC', data] / found[title, data]:.2%}",
                    f"{(PAPER['OPIMC'][place] or 0) / (PAPER['OMVC'][place] or 1):.2%}",
                ]
            rows.append(row)
    header = ["seconds"]
    for data in COLUMNS:
        header += [data, "paper"]
    write_csv(plan.out / "table2.csv", header, rows)
    short = f"{PART_ROWS['made reuters']:,} rows of the large shapes. " if plan.in_parts else ""
    if plan.quick:
        short += "A quick run: MultiNMF with a quarter of its steps. "
    return Section(
        "table2",
        "Table 2: run time",
        "Seconds of processor time per pass (per run for IMC and MultiNMF), 0.4 missing, chunks of 50 and "
        "2,000 rows, all on this machine, one after the other; k-means on the coefficients is not counted. "
        f"Reuters and YouTube are generated data of their shape. {short}Short runs are the best of three. "
        "table2.csv has wall-clock time too, which depends more on other work on the machine.",
        header,
        [[row[0].removesuffix(PROCESSOR), *row[1:]] for row in rows if row[0].endswith(PROCESSOR)],
        over_seeds=False,
        claims=_claims(plan, seconds, processor, kmeans),
    )


def _claims(
    plan: PaperRun,
    seconds: dict[tuple[str, str], float],
    took: dict[tuple[str, str], float],
    kmeans: dict[tuple[str, str], float],
) -> list[Claim]:
    """Judged by processor time (`took`); k-means is compared with the seconds of its pass."""
    sums, scanned = LINES[1][0], LINES[2][0]
    shares = {data: took["OPIMC", data] / took[scanned, data] for data in COLUMNS}
    fast = {data: took["OPIMC", data] / took[sums, data] for data in COLUMNS}
    text = "; ".join(f"{data} {shares[data]:.2%} / {fast[data]:.2%}" for data in COLUMNS)
    small = ("webkb", "digit")
    imc = {data: took["IMC, one run", data] for data in small}
    others = {
        data: min(
            value
            for (title, there), value in took.items()
            if there == data and title[:3] not in ("OPI", "IMC")
        )
        for data in small
    }
    slower = {data: took[scanned, data] > took["ONMF-I", data] for data in COLUMNS}
    rows_read = "parts of the large sets" if plan.in_parts else "full sizes"
    return [
        Claim.judged(
            "OPIMC takes only 1 to 2 % of OMVC's time.",
            max(shares.values()) <= 0.02,
            f"share of the processor time with the published test / with the sums ({rows_read}): {text}",
        ),
        Claim.judged(
            "OMVC is slower than ONMF.",
            all(slower.values()),
            "; ".join(
                f"{data}: OMVC {took[scanned, data]:.2f} s (published test), {took[sums, data]:.2f} s "
                f"(sums), ONMF-I {took['ONMF-I', data]:.2f} s, ONMF-DA {took['ONMF-DA', data]:.2f} s"
                for data in COLUMNS
            ),
        ),
        Claim.judged(
            "IMC runs faster than the other methods except OPIMC.",
            all(imc[data] < others[data] for data in small),
            "; ".join(f"{data}: IMC {imc[data]:.3f} s, fastest other {others[data]:.3f} s" for data in small),
        ),
        Claim.judged(
            "OMVC's fault 3: k-means on its coefficients costs much.",
            max(kmeans[sums, data] / seconds[sums, data] for data in COLUMNS) > 0.1,
            "seconds of k-means (20 starts) / of the pass: "
            + "; ".join(f"{data} {kmeans[sums, data]:.2f} / {seconds[sums, data]:.2f}" for data in COLUMNS),
        ),
        Claim.judged(
            "OMVC's fault 4: it ends its loops by a test on all scanned rows, which takes long.",
            all(took[scanned, data] > 1.2 * took[sums, data] for data in COLUMNS),
            "published test / the same from the sums: "
            + "; ".join(f"{data} {took[scanned, data] / took[sums, data]:.1f} times" for data in COLUMNS),
        ),
    ]
