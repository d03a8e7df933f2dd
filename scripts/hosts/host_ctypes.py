"""Recipes from Python, with nothing but ctypes: python3 host_ctypes.py path/to/librille.so"""
import array
import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p

lib = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "librille.so.0")
CALLBACK = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(c_void_p), c_size_t, c_void_p,
                            POINTER(c_void_p))


def declare(result, **functions):
    for name, arguments in functions.items():
        function = getattr(lib, "rille_" + name)
        function.restype, function.argtypes = result, arguments


P = POINTER(c_void_p)
declare(ctypes.c_uint32, abi_version=[])
declare(c_char_p, version=[], error_code=[c_void_p], error_message=[c_void_p],
        error_report=[c_void_p], error_where=[c_void_p])
declare(None, error_delete=[c_void_p], value_delete=[c_void_p], tensor_delete=[c_void_p],
        interpreter_delete=[c_void_p])
declare(c_void_p, value_tensor=[c_void_p], value_number=[c_double], error_new=[c_char_p, c_char_p])
declare(c_int32, open=[c_void_p, P, P],
        run_string=[c_void_p, c_char_p, c_size_t, c_char_p, P],
        get=[c_void_p, c_char_p, P, P], set=[c_void_p, c_char_p, c_void_p, P],
        call=[c_void_p, c_char_p, P, c_size_t, P, P],
        bind=[c_void_p, c_char_p, CALLBACK, c_void_p, c_void_p, P],
        value_get_number=[c_void_p, POINTER(c_double), P], results_add=[c_void_p, c_void_p, P],
        tensor_from_host=[c_void_p, c_size_t, POINTER(c_int64), c_void_p, c_int32, c_int, c_void_p,
                          c_void_p, P, P])
F64 = 0


class RilleError(Exception):
    def __init__(self, error):
        self.code = lib.rille_error_code(error).decode()
        self.where = lib.rille_error_where(error).decode()
        super().__init__(lib.rille_error_message(error).decode())
        lib.rille_error_delete(error)


def call(name, *arguments):
    """Calls rille_NAME, whose last argument is the place for the error."""
    error = c_void_p()
    if getattr(lib, "rille_" + name)(*arguments, byref(error)) != 0:
        raise RilleError(error)


def number_of(value):
    out = c_double()
    call("value_get_number", value, byref(out))
    return out.value


class Interpreter:
    def __init__(self):
        self.handle, self.kept = c_void_p(), []
        call("open", None, byref(self.handle))

    def run(self, code):
        text = code.encode()
        call("run_string", self.handle, text, len(text), b"python")

    def number(self, name):
        value = c_void_p()
        call("get", self.handle, name.encode(), byref(value))
        try:
            return number_of(value)
        finally:
            lib.rille_value_delete(value)

    def borrow(self, name, memory):
        """The script's tensor and the array are the same memory."""
        address, count = memory.buffer_info()
        tensor = c_void_p()
        call("tensor_from_host", address, 1, (c_int64 * 1)(count), None, F64, 0, None, None,
             byref(tensor))
        value = c_void_p(lib.rille_value_tensor(tensor))
        lib.rille_tensor_delete(tensor)
        try:
            call("set", self.handle, name.encode(), value)
        finally:
            lib.rille_value_delete(value)
        self.kept.append(memory)

    def bind(self, name, function):
        """A Python function of numbers, for scripts."""
        def called(_, arguments, count, results, error):
            try:
                result = function(*(number_of(arguments[i]) for i in range(count)))
                value = c_void_p(lib.rille_value_number(result))
                call("results_add", results, value)
                lib.rille_value_delete(value)
                return 0
            except Exception as e:
                error[0] = lib.rille_error_new(b"E_HOST", repr(e).encode())
                return 5
        self.kept.append(CALLBACK(called))
        call("bind", self.handle, name.encode(), self.kept[-1], None, None)

    def close(self):
        lib.rille_interpreter_delete(self.handle)
        self.handle = None


assert lib.rille_abi_version() >> 16 == 1
lua = Interpreter()
samples = array.array("d", [1, 2, 3, 4])
lua.borrow("samples", samples)
lua.bind("halve", lambda x: x / 2)
lua.bind("fail", lambda: {}["missing"])
lua.run("total = halve(samples:sum():item()) samples:mul_(10)")
print("total   ", lua.number("total"))
print("memory  ", samples.tolist())
try:
    lua.run("local x = 1\nfail()")
except RilleError as e:
    print("error   ", e.code, e.where, e)
try:
    lua.run("samples:reshape(3)")
except RilleError as e:
    print("error   ", e.code)
lua.close()
