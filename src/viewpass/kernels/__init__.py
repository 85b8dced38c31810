"""The hot loops on plain arrays: reference.py is the specification, dense.py and sparse.py the speed."""
