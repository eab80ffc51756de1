"""Sample calls of ``np.linalg``, ``np.fft`` and ``np.random``, and how tables become samples."""

from __future__ import annotations

from collections.abc import Iterable

from .worlds import Sample, has_worlds

LINALG: dict[str, tuple[str, ...]] = {
    **{
        name: (f"np.linalg.{name}(s)",)
        for name in (
            "inv",
            "cholesky",
            "eigvals",
            "eigvalsh",
            "pinv",
            "slogdet",
            "det",
            "svd",
            "svdvals",
            "eig",
            "eigh",
            "qr",
            "cond",
            "matrix_rank",
            "matrix_transpose",
            "matrix_norm",
            "trace",
            "diagonal",
        )
    },
    "norm": (
        "np.linalg.norm(a)",
        "np.linalg.norm(m)",
        "np.linalg.norm(m, axis=0)",
        "np.linalg.norm(a, 1)",
        "np.linalg.norm(m, np.inf, axis=1, keepdims=True)",
        "np.linalg.norm(m, 'nuc')",
    ),
    "matrix_power": ("np.linalg.matrix_power(s, 3)",),
    "solve": ("np.linalg.solve(s, v3)", "np.linalg.solve(s, m)"),
    "tensorsolve": ("np.linalg.tensorsolve(s, v3)",),
    "tensorinv": ("np.linalg.tensorinv(s, 1)",),
    "lstsq": ("np.linalg.lstsq(m, v3)",),
    "multi_dot": ("np.linalg.multi_dot([s, s, m])", "np.linalg.multi_dot([s, m])"),
    "cross": ("np.linalg.cross(v3, w3)",),
    "outer": ("np.linalg.outer(a, v3)",),
    "tensordot": ("np.linalg.tensordot(s, m, axes=1)",),
    "matmul": ("np.linalg.matmul(s, m)",),
    "vector_norm": ("np.linalg.vector_norm(a)", "np.linalg.vector_norm(m, axis=1)"),
    "vecdot": ("np.linalg.vecdot(a, b)",),
}

FFT: dict[str, tuple[str, ...]] = {
    **{
        name: (f"np.fft.{name}(a)", f"np.fft.{name}(m, axis=0)", f"np.fft.{name}(a, 4, norm='ortho')")
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        name: (f"np.fft.{name}(m)",)
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    **{name: (f"np.fft.{name}(a)", f"np.fft.{name}(m, axes=0)") for name in ("fftshift", "ifftshift")},
    "fftfreq": ("np.fft.fftfreq(8)", "np.fft.fftfreq(three, real)"),
    "rfftfreq": ("np.fft.rfftfreq(8, 0.5)",),
}

_PARAMETERS = {
    "beta": "2.0, 3.0",
    "binomial": "10, 0.3",
    "chisquare": "3.0",
    "dirichlet": "[1.0, 2.0]",
    "exponential": "1.5",
    "f": "2.0, 5.0",
    "gamma": "2.0, 1.5",
    "geometric": "0.3",
    "gumbel": "0.5, 1.5",
    "hypergeometric": "10, 8, 6",
    "laplace": "0.5, 1.5",
    "logistic": "0.5, 1.5",
    "lognormal": "0.5, 0.25",
    "logseries": "0.6",
    "multinomial": "8, [0.2, 0.3, 0.5]",
    "multivariate_normal": "[0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]",
    "negative_binomial": "4, 0.4",
    "noncentral_chisquare": "3.0, 1.0",
    "noncentral_f": "3.0, 5.0, 1.0",
    "normal": "0.5, 1.5",
    "pareto": "3.0",
    "poisson": "4.0",
    "power": "2.5",
    "rayleigh": "1.5",
    "standard_gamma": "2.0",
    "standard_t": "4.0",
    "triangular": "-1.0, 0.5, 2.0",
    "uniform": "-1.0, 2.0",
    "vonmises": "0.5, 2.0",
    "wald": "1.0, 2.0",
    "weibull": "1.5",
    "zipf": "2.5",
}
_PLAIN = ("standard_cauchy", "standard_exponential", "standard_normal")


def _draws(prefix: str) -> dict[str, tuple[str, ...]]:
    found = {
        name: (f"{prefix}.{name}({given})", f"{prefix}.{name}({given}, size=5)") for name, given in _PARAMETERS.items()
    }
    found |= {name: (f"{prefix}.{name}()", f"{prefix}.{name}((2, 3))") for name in _PLAIN}
    found["permutation"] = (f"{prefix}.permutation(6)", f"{prefix}.permutation(a)")
    found["shuffle"] = (f"{prefix}.shuffle(a)", f"{prefix}.shuffle(m)")
    found["choice"] = (f"{prefix}.choice(5, 3)", f"{prefix}.choice(a)", f"{prefix}.choice(a, 3, replace=False)")
    found["bytes"] = (f"{prefix}.bytes(5)",)
    return found


RANDOM: dict[str, tuple[str, ...]] = {
    **_draws("np.random"),
    "get_state": ("np.random.get_state()[0]",),
    "set_state": ("np.random.set_state(seq)",),
    "seed": ("np.random.seed(3)",),
    "rand": ("np.random.rand()", "np.random.rand(2, 3)"),
    "randn": ("np.random.randn()", "np.random.randn(4)"),
    "randint": ("np.random.randint(10)", "np.random.randint(2, 9, size=4)"),
    **{name: (f"np.random.{name}()", f"np.random.{name}(4)") for name in ("random", "random_sample", "ranf", "sample")},
    "random_integers": ("np.random.random_integers(5)",),
    "default_rng": ("np.random.default_rng(3).random()",),
}

GENERATOR: dict[str, tuple[str, ...]] = {
    **_draws("rng"),
    "bit_generator": ("type(rng.bit_generator)",),
    "integers": (
        "rng.integers(10)",
        "rng.integers(2, 9, size=4)",
        "rng.integers(0, 255, 5, dtype=np.uint8, endpoint=True)",
    ),
    "multivariate_hypergeometric": ("rng.multivariate_hypergeometric([3, 5, 7], 6)",),
    "permuted": ("rng.permuted(m, axis=1)",),
    "random": ("rng.random()", "rng.random(4)", "rng.random((2, 3), dtype='f4')"),
    "spawn": ("len(rng.spawn(2))",),
}

_WORLDS = {
    "functions": ("float64", "float32 strided", "int64", "complex128", "bool", "longdouble"),
    "linalg": ("float64", "float32 strided", "int64", "complex128"),
    "fft": ("float64", "float32 strided", "int64", "complex128"),
    "random": ("float64",),
    "Generator": ("float64", "int64"),
    "ndarray": ("float64", "float32 strided", "int64", "complex128", "bool", "longdouble"),
    "ufunc methods": ("float64", "float32 strided", "int64", "complex128", "bool"),
}
#: The worlds of all expressions of a name but the first.
_FEWER = ("float64", "uint8 Fortran", "float64 special")


def expand(group: str, name: str, calls: Iterable[str]) -> list[Sample]:
    """The first call in all worlds of its group, the others in some; calls without such arguments are made once."""
    state = {"random": "np.random.get_state()", "Generator": "rng.bit_generator.state"}.get(group, "")
    return [
        Sample(group, name, text, world, world != "longdouble", state)
        for k, text in enumerate(calls)
        for world in ((_FEWER if k else _WORLDS[group]) if has_worlds(text) else ("",))
    ]
