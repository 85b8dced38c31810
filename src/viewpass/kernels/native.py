try:
    from viewpass import _native as native
except ImportError:
    native = None
