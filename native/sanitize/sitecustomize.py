"""Makes viewpass._native the sanitized build: Python runs this at its start, found by PYTHONPATH."""

import os
import sys
from importlib.machinery import PathFinder


class SanitizedFinder:
    """Finds viewpass._native in the folder that VIEWPASS_SANITIZED names, ahead of the installed one."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "viewpass._native":
            return None
        return PathFinder.find_spec(name, [os.environ["VIEWPASS_SANITIZED"]])


sys.meta_path.insert(0, SanitizedFinder)
