"""W2, twin of ../dispatch.lua."""
import measure

torch = measure.torch()
CALLS = 2000


def case(name, call):
    def calls():
        for _ in range(CALLS):
            call()
    measure.case(name, calls, CALLS)


u, v = torch.ones(1), torch.ones(1)
ug, vg = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
m, n = torch.randn(64, 64), torch.randn(64, 64)

with torch.no_grad():
    case("add", lambda: u + v)
case("add_graph", lambda: ug + vg)
with torch.no_grad():
    case("view", lambda: m.view(4096))
    case("slice", lambda: m[3:7])
    case("item", lambda: u.item())
    case("matmul64", lambda: m @ n)
