from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewpass.errors import DataError, SettingError
from viewpass.evaluate import accuracy, ari, nmi, pair_f, purity, scores

EVERY_SCORE = [accuracy, nmi, ari, purity, scores]
law = settings(max_examples=25, deadline=None)
NMI_KEYS = ("nmi_max", "nmi_arithmetic", "nmi")


@st.composite
def labelings(draw, lowest_predicted=0, most=5):
    size = draw(st.integers(1, 30))
    true = draw(st.lists(st.integers(0, most - 1), min_size=size, max_size=size))
    predicted = draw(st.lists(st.integers(lowest_predicted, most - 1), min_size=size, max_size=size))
    return np.array(true), np.array(predicted)


def brute_force_accuracy(true, predicted):
    """Try every one-to-one match of clusters to classes, some of which may be left over."""
    classes = sorted(set(true.tolist()))
    clusters = sorted(set(predicted.tolist()) - {-1})
    classes += [None] * len(clusters)
    matches = {tuple(zip(clusters, to, strict=True)) for to in permutations(classes, len(clusters))}
    rows = list(zip(true.tolist(), predicted.tolist(), strict=True))
    return max(sum(dict(match).get(p) == t for t, p in rows) for match in matches) / len(rows)


@law
@given(labelings(lowest_predicted=-1, most=4))
def test_accuracy_is_the_best_of_all_matches(pair):
    true, predicted = pair
    assert accuracy(true, predicted) == pytest.approx(brute_force_accuracy(true, predicted))


@law
@given(labelings(lowest_predicted=-1), st.permutations(range(5)), st.permutations(range(5)))
def test_names_of_classes_and_clusters_do_not_matter(pair, class_names, cluster_names):
    true, predicted = pair
    renamed_true = np.array(class_names)[true]
    renamed = np.where(predicted == -1, -1, np.array(cluster_names)[predicted])
    assert scores(renamed_true, renamed) == pytest.approx(scores(true, predicted))


@law
@given(labelings(lowest_predicted=-1), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(pair, random):
    true, predicted = pair
    order = list(range(true.size))
    random.shuffle(order)
    assert scores(true[order], predicted[order]) == pytest.approx(scores(true, predicted))


@law
@given(labelings(), st.permutations(range(5)))
def test_the_right_clusters_score_one(pair, names):
    true = pair[0]
    assert scores(true, np.array(names)[true]) == pytest.approx(dict.fromkeys(scores(true, true), 1))


@law
@given(labelings(lowest_predicted=-1))
def test_scores_stay_in_their_ranges(pair):
    found = scores(*pair)
    assert -0.5 <= found.pop("ari") <= 1
    assert all(0 <= value <= 1 for value in found.values())
    assert found["purity"] > 0


@law
@given(labelings(lowest_predicted=-1))
def test_nmi_is_ordered_by_its_average(pair):
    lowest, middle, highest = (scores(*pair)[key] for key in NMI_KEYS)
    assert lowest <= middle + 1e-12
    assert middle <= highest + 1e-12


@law
@given(labelings(lowest_predicted=-1))
def test_accuracy_is_at_most_purity(pair):
    assert accuracy(*pair) <= purity(*pair) + 1e-12


@law
@given(labelings())
def test_accuracy_nmi_and_ari_are_symmetric(pair):
    true, predicted = pair
    for score in (accuracy, nmi, ari):
        assert score(true, predicted) == pytest.approx(score(predicted, true))


@law
@given(labelings(lowest_predicted=-1))
def test_scores_gathers_the_single_functions(pair):
    assert scores(*pair) == {
        "acc": accuracy(*pair),
        "nmi": nmi(*pair),
        "nmi_max": nmi(*pair, average="max"),
        "nmi_arithmetic": nmi(*pair, average="arithmetic"),
        "ari": ari(*pair),
        "purity": purity(*pair),
        "f": pair_f(*pair),
    }


@law
@given(labelings())
def test_the_kind_of_label_does_not_matter(pair):
    true, predicted = pair
    expected = scores(true, predicted)
    words = np.array(["ant", "bee", "cow", "dog", "elk"])
    assert scores(words[true], words[predicted]) == expected
    assert scores(words.astype(object)[true], predicted.astype(object)) == expected
    assert scores(true.astype(np.float32), predicted.astype(np.uint8)) == expected
    assert scores(true.tolist(), predicted.tolist()) == expected


@law
@given(labelings(lowest_predicted=-1))
def test_minus_one_is_an_ordinary_cluster_except_for_accuracy(pair):
    true, predicted = pair
    as_cluster = np.where(predicted == -1, 99, predicted)
    for score in (nmi, ari, purity):
        assert score(true, predicted) == pytest.approx(score(true, as_cluster))
    assert accuracy(true, predicted) <= accuracy(true, as_cluster)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.float64, object])
def test_rows_without_a_view_are_never_right(kind):
    assert accuracy([0, 0, 1, 1], np.array([-1, -1, -1, -1], dtype=kind)) == 0
    assert accuracy([0, 0, 1, 1], np.array([-1, -1, 0, 0], dtype=kind)) == 0.5


def test_minus_one_in_true_is_a_class():
    assert accuracy([-1, -1, 0, 0], [0, 0, 1, 1]) == 1


def test_one_cluster_for_all_on_webkb_shows_why_nmi_is_reported():
    found = scores([0] * 230 + [1] * 821, [0] * 1051)
    assert found["acc"] == pytest.approx(0.781, abs=5e-4)
    assert found["nmi"] == found["nmi_max"] == found["nmi_arithmetic"] == found["ari"] == 0


def test_the_labels_given_are_left_alone():
    true, predicted = np.array([0, 1, 1]), np.array([4, -1, 4])
    true.setflags(write=False)
    predicted.setflags(write=False)
    scores(true, predicted)


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([0, 1, 1], [0, 1], r"true has 3 labels and predicted has 2.*same rows"),
        ([], [], r"true is empty"),
        ([0], [], r"predicted is empty"),
        ([[0], [1]], [0, 1], r"true has shape \(2, 1\)"),
        ([0, 1], 3, r"predicted has shape \(\)"),
        ([[0], [1, 2]], [0, 1], r"true is not a flat list"),
        ([0, 1, 1], [0, 1, np.nan], r"predicted, row 2: nan is not a label"),
        ([0, 0.5], [0, 1], r"true, row 1: 0\.5 is not a label"),
        ([0, np.inf], [0, 1], r"true, row 1: inf"),
        ([0, None], [0, 1], r"true, row 1: None"),
        (["a", None], [0, 1], r"true, row 1: None"),
        ([0j, 1j], [0, 1], r"true, row 0: 0j"),
    ],
)
def test_unusable_labels_are_refused_saying_where(score, true, predicted, message):
    with pytest.raises(DataError, match=message):
        score(true, predicted)


def test_an_unknown_average_is_refused_with_the_known_ones():
    with pytest.raises(SettingError, match=r"'min'.*'geometric', 'max', 'arithmetic'"):
        nmi([0, 1], [0, 1], average="min")


@law
@given(labelings())
def test_pair_f_is_the_harmonic_mean_over_all_pairs(pair):
    true, predicted = pair
    pairs = list(combinations(range(len(true)), 2))
    same_class = sum(true[i] == true[j] for i, j in pairs)
    same_cluster = sum(predicted[i] == predicted[j] for i, j in pairs)
    both = sum(true[i] == true[j] and predicted[i] == predicted[j] for i, j in pairs)
    expected = 2 * both / (same_class + same_cluster) if same_class + same_cluster else 1.0
    assert pair_f(true, predicted) == pytest.approx(expected)
