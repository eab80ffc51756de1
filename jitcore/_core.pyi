"""The C part of jitcore (csrc/): interception, regions, guards, and what native code calls.

Used by ``runtime`` and ``pipeline``; nobody else marks functions or adds regions.
"""
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final, final

@final
class Unbound:
    """The type of ``UNBOUND``, which stands for NULL where Python code sees the slots of a frame."""

UNBOUND: Final[Unbound]
SITES: Final[tuple[str, ...]]
EVENTS: Final[int]
"""The names of the operations that a ``call`` exit can ask for."""

@final
class Region:
    """Native code with its guards and exits.

    ``address``: of a function ``int32 f(jc_ctx *)``; 0 makes a region that runs calls plain.
    ``guards``: a program of ``guards.pack``, or None for one that fits always.
    ``exits``: tuples ``(kind, recipes, n_locals, n_stack, n_operands, unit, next_unit, site, site_arg, reason, line)``.
    ``n_out``, ``n_own``: the sizes of the arrays that native code fills.
    ``work``: how much it does natively; a call counts as native only if a region with work ran.
    ``keep``: anything that must live as long.  ValueError and TypeError for what does not fit together.
    """

    def __new__(cls, address: int, guards: tuple[Any, ...] | None, exits: tuple[tuple[Any, ...], ...], n_out: int,
                n_own: int, work: int, keep: object, label: object) -> Region: ...
    @property
    def address(self) -> int: ...
    @property
    def exits(self) -> tuple[tuple[Any, ...], ...]: ...
    @property
    def work(self) -> int: ...
    @property
    def keep(self) -> Any: ...
    @property
    def label(self) -> Any: ...
    @property
    def runs(self) -> int:
        """How often it was entered."""
    @property
    def exit_counts(self) -> tuple[int, ...]:
        """How often native code ended at each exit."""
    @property
    def exit_left(self) -> tuple[int, ...]:
        """How often the interpreter went on from each exit (behind the operation, for a ``call``)."""
    @property
    def thrashing(self) -> bool:
        """More than half of the last 64 runs were left or restarted: it is not entered any more."""
    def run(self, func: FunctionType, slots: tuple[Any, ...]) -> tuple[bool, Any]:
        """(True, the result), or (False, None) where a guard fails or the region ends in another exit than a return."""
    def check(self, func: FunctionType, slots: tuple[Any, ...]) -> int:
        """Which guard fails for these slots (locals, then stack): 0 for none, else 1 + its index."""

SettleHandler = Callable[[CodeType], None]
MissHandler = Callable[[FunctionType, CodeType, int, tuple[Any, ...], tuple[Any, ...]], bool]

def mark(func: FunctionType) -> None:
    """Calls of ``func`` enter jitcore.  TypeError for what is no Python function, ValueError for generator and
    coroutine functions and for functions with a vectorcall of their own."""
def unmark(func: FunctionType) -> None: ...
def is_marked(func: object) -> bool: ...
def set_miss_handler(handler: MissHandler | None) -> MissHandler | None:
    """``handler(func, code, unit, locals, stack)`` answers whether it installed a region for that state.

    Returns the handler before.  While it runs for a code object, other misses of that code run plain.  What it raises
    is raised by the call.
    """

def add_region(code: CodeType, unit: int, region: Region) -> None:
    """Puts the region in front of the others of that unit.  ValueError if the code has no such unit."""
def remove_region(code: CodeType, region: Region) -> bool: ...
def remove_regions(code: CodeType) -> None: ...
def regions(code: CodeType) -> list[tuple[int, Region]]:
    """All regions with their units, most recently used first."""
def set_active(code: CodeType, active: bool) -> None:
    """False leaves the code alone: marked functions with it run plain."""
def is_active(code: CodeType) -> bool: ...
def counters(code: CodeType) -> dict[str, int]:
    """calls, native_calls, site_calls, helper_calls, kernels, compiles, guard_misses, leaves, restarts."""
def totals() -> dict[str, int]:
    """The sums over all code objects, dead ones included."""
def reset_counters(code: CodeType | None) -> None:
    """To zero; of one code object (the totals keep what it had), or for None all and the totals."""
def count(code: CodeType, name: str, n: int = 1) -> None:
    """Adds to a counter."""
def symbols() -> dict[str, int]:
    """The addresses of the helpers that native code calls by name."""
def ufunc_loop(ufunc: Any, signature: str) -> tuple[int, int]:
    """The address of a ufunc's inner loop for types like ``'dd->d'``, and of its data."""
def set_loop_handler(handler: Callable[[Any, tuple[int, ...], int, int], None]) -> bool:
    """The handler is told of each inner loop of a ufunc that an extension replaces: its type numbers, the addresses of
    the loops before and after.  False if that cannot be seen."""
def strictly(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, where floating-point reports are exceptions (underflow unless it is ignored)."""
def changed(function: Any, position: int, /, *args: Any, **kwargs: Any) -> Any:
    """Calls ``function(*args, **kwargs)`` with a copy of the array at ``position``; gives the copy."""
def pool_stats() -> dict[str, int]: ...
def pool_trim(*args: Any) -> Any: ...
def pool_limit(*args: Any) -> Any: ...

def set_settle_handler(handler: SettleHandler | None) -> SettleHandler | None:
    """The handler is told of a code object that has met nothing but negative regions in many calls; gives the one
    before."""

def watch_loops(code: CodeType) -> bool:
    """Frames of the code that run now get native code at their next back edge; False where nothing can be watched."""
def is_watched(code: CodeType) -> bool: ...

DiscoveryHandler = Callable[[FunctionType, int], int]

def start_discovery(ufuncs: tuple[Any, ...], limit: int) -> None:
    """Counts the operations of NumPy for the functions they run in, from zero; ``limit``: when one is hot."""
def stop_discovery() -> None:
    """NumPy's tables are what they were, and no counter is left."""
def pause_discovery(pause: bool) -> None:
    """Counts nothing, or goes on if it was started."""
def set_discovery_handlers(judge: DiscoveryHandler, hot: DiscoveryHandler) -> None:
    """``judge(func, 0)``: what is done with a code object that is met first; 0 counted, 2 left to its caller, 3 never.
    ``hot(func, n)``: 0 not to be marked, -1 it is marked, else after so many more operations."""
def heat(code: CodeType) -> tuple[str, int, int] | None:
    """What is counted for it: 'counted', 'marked', 'through' or 'never', operations, and how many make it hot."""
def _testing_heats() -> int: ...
def _testing_entries(ufuncs: tuple[Any, ...]) -> dict[Any, int]: ...
def _testing_set_entry(name: str, address: int) -> int: ...
