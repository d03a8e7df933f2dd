"""W7 where memory alone decides: sum, copy and add into given memory, by Rille and by PyTorch in turn
on the very same tensors, in one process:

    python benchmarks/torch/same_memory.py build/release/lib/librille.so.0 [threads]

Two programs get different pages, and some pages are slower than others by a factor of two (how huge
they are, and where); here both sides have the same ones. Needs PyTorch, as the other twins do.
"""
import ctypes
import statistics
import sys
import time
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p

import torch

COUNT, ROUNDS, SAMPLES, WARM_UP, CALLS = 16 * 1024 * 1024, 15, 6, 1, 4
F32 = 1

lib = ctypes.CDLL(sys.argv[1])
threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
torch.set_num_threads(threads)


def call(name, *arguments):
    error = c_void_p()
    if getattr(lib, "rille_" + name)(*arguments, byref(error)) != 0:
        sys.exit(lib.rille_error_report(error).decode())


P = POINTER(c_void_p)
for name, types in {
        "open": [c_void_p, P, P], "set": [c_void_p, c_char_p, c_void_p, P],
        "run_string": [c_void_p, c_char_p, c_size_t, c_char_p, P],
        "tensor_from_host": [c_void_p, c_size_t, POINTER(c_int64), c_void_p, c_int32, c_int, c_void_p,
                             c_void_p, P, P]}.items():
    getattr(lib, "rille_" + name).argtypes = types
lib.rille_error_report.restype, lib.rille_error_report.argtypes = c_char_p, [c_void_p]
lib.rille_value_tensor.restype, lib.rille_value_tensor.argtypes = c_void_p, [c_void_p]

lua = c_void_p()
call("open", None, byref(lua))


def run(code):
    text = code.encode()
    call("run_string", lua, text, len(text), b"same_memory")


def share(name, tensor):
    """A global of the script's over PyTorch's memory."""
    shared = c_void_p()
    call("tensor_from_host", tensor.data_ptr(), 1, (c_int64 * 1)(tensor.numel()), None, F32, 0, None,
         None, byref(shared))
    call("set", lua, name.encode(), lib.rille_value_tensor(shared))


def times(calls):
    """Milliseconds of a call, for each run of CALLS of them."""
    out = []
    for _ in range(SAMPLES):
        before = time.perf_counter()
        calls()
        out.append((time.perf_counter() - before) * 1e3 / CALLS)
    return out[WARM_UP:]


def repeat(function):
    for _ in range(CALLS):
        function()


x, y = torch.randn(COUNT), torch.randn(COUNT)
share("x", x)
share("y", y)
run(f"local rille = require 'rille' rille.threads({threads})")
cases = {"sum": ("x:sum()", x.sum), "copy": ("y:copy_(x)", lambda: y.copy_(x)),
         "add_into": ("y:add_(x)", lambda: y.add_(x))}
for name, (ours, theirs) in cases.items():
    mine, others = [], []
    for _ in range(ROUNDS):
        mine += times(lambda: run(f"for _ = 1, {CALLS} do {ours} end"))
        others += times(lambda: repeat(theirs))
    a, b = statistics.median(mine), statistics.median(others)
    print(f"{name:10} {a:8.3f} ms, PyTorch {b:8.3f} ms, {a / b:.2f}, {threads} threads", flush=True)
