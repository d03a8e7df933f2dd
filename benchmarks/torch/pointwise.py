"""W7, twin of ../pointwise.lua."""
import measure

torch = measure.torch()
F = torch.nn.functional

COUNT = 16 * 1024 * 1024
x, y, out = torch.randn(COUNT), torch.randn(COUNT), torch.empty(COUNT)
square = x.view(4096, 4096)

with torch.no_grad():
    measure.case("add", lambda: x + y)
    measure.case("exp", lambda: x.exp())
    measure.case("gelu_tanh", lambda: F.gelu(x, approximate="tanh"))
    measure.case("gelu_erf", lambda: F.gelu(x))
    measure.case("sum", lambda: x.sum())
    measure.case("copy", lambda: out.copy_(x))
    measure.case("add_into", lambda: out.add_(y))
    measure.case("dropout", lambda: F.dropout(x, 0.1))
    measure.case("transposed_copy", lambda: square.t().contiguous())
