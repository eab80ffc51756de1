"""All instruction handlers: importing this module fills ``registry.HANDLERS``."""
from jitcore.frontend import (  # noqa: F401
    builtin_truths,
    handlers_build,
    handlers_calls,
    handlers_exceptions,
    handlers_flow,
    handlers_match,
    handlers_names,
    handlers_ops,
    handlers_stack,
    list_items,
)
