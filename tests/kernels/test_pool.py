import gc

import numpy as np

from viewpass.kernels.pool import MOST_KEPT, Pool


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_comes_back_when_nobody_holds_it():
    pool = Pool()
    first = pool.lend(1000, np.float64)
    where = address(first)
    del first
    gc.collect()
    assert address(pool.lend(1000, np.float64)) == where


def test_a_view_keeps_the_memory():
    pool = Pool()
    lent = pool.lend(1000, np.float64)
    lent[:] = 7.0
    part = lent.reshape(10, 100)[3:5]
    del lent
    gc.collect()
    others = [pool.lend(1000, np.float64) for _ in range(4)]
    for other in others:
        other[:] = 0.0
    assert (part == 7.0).all()


def test_no_more_than_a_few_wait():
    pool = Pool()
    lent = [pool.lend(100, np.int64) for _ in range(10)]
    del lent
    gc.collect()
    assert sum(map(len, pool._free.values())) == MOST_KEPT
    pool.clear()
    assert not pool._free
