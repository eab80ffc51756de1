"""Tests run strictly: a failure inside the compiler raises, and graphs are verified after every pass."""
import os

os.environ.setdefault("JITCORE_STRICT", "1")
