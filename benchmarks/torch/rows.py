"""W7, twin of ../rows.lua."""
import measure

torch = measure.torch()
F = torch.nn.functional

x = torch.randn(16384, 1024, requires_grad=True)
w = torch.ones(1024, requires_grad=True)
b = torch.zeros(1024, requires_grad=True)
dy = torch.randn(16384, 1024)


def both(name, forward):
    def call():
        forward().backward(dy)
        x.grad = w.grad = b.grad = None
    measure.case(name, call)


def softmax():
    return F.softmax(x, -1)


def layer_norm():
    return F.layer_norm(x, (1024,), w, b)


with torch.no_grad():
    measure.case("softmax", softmax)
    measure.case("layer_norm", layer_norm)
both("softmax_both", softmax)
both("layer_norm_both", layer_norm)

target = torch.randint(0, 50257, (2048,))


def cross_entropy(name, dtype):
    logits = torch.randn(2048, 50257, dtype=dtype, requires_grad=True)

    def call():
        F.cross_entropy(logits, target).backward()
        logits.grad = None

    measure.case(name, call)


cross_entropy("cross_entropy_both", torch.float32)
cross_entropy("cross_entropy_bf16", torch.bfloat16)
