"""W13, twin of ../attention.lua."""
import measure

torch = measure.torch()


def case(name, time, dtype):
    draw = lambda graph: torch.randn(8, 6, time, 64, dtype=dtype, requires_grad=graph)
    q, k, v, dy = draw(True), draw(True), draw(True), draw(False)

    def call():
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y.backward(dy)
        q.grad = k.grad = v.grad = None

    measure.case(name, call)


for time in (256, 1024):
    case(f"time{time}", time, torch.float32)
for time in (256, 1024):
    case(f"time{time}_bf16", time, torch.bfloat16)
