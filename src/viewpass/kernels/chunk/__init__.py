"""The chunk step in compiled phases: a whole chunk, or a thread's share of it, in one call.

Every view of the chunk must be of one kind (dense, or CSR, of one type of numbers). What the phases
do is what `core/step.py` does view by view; the laws hold them equal, bit for bit.
"""
