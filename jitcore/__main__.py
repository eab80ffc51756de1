"""``python -m jitcore script.py args``: a whole program under ``jitcore.enable()``.

Job: what ``python script.py args``, ``python -m module args`` and ``python -c code args`` do, with hot functions found.
Invariants: the program sees the ``sys.argv``, ``sys.path[0]`` and ``__main__`` that it would have.
"""
from __future__ import annotations

import os
import runpy
import sys
import types

import jitcore

USAGE = "usage: python -m jitcore [script.py | -m module | -c code] [args...]"


def main() -> None:
    """Run the program that the command line names."""
    args = sys.argv[1:]
    if not args or (args[0] in ("-m", "-c") and len(args) < 2) or args[0] in ("-h", "--help"):
        print(USAGE, file=sys.stderr)
        raise SystemExit(0 if args[:1] in (["-h"], ["--help"]) else 2)
    jitcore.enable()
    if args[0] == "-m":
        sys.argv = args[1:]
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
    elif args[0] == "-c":
        sys.argv = ["-c", *args[2:]]
        _first_on_path("")
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(args[1], "<string>", "exec"), module.__dict__)
    else:
        sys.argv = args
        _first_on_path(os.path.dirname(os.path.realpath(args[0])))
        runpy.run_path(args[0], run_name="__main__")


def _first_on_path(folder: str) -> None:
    if not sys.flags.safe_path:         # then the current folder is there, for this module
        sys.path[0] = folder


if __name__ == "__main__":
    main()
