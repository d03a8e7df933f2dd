"""W13, twin of ../attention.lua."""
import measure

torch = measure.torch()

for time in (256, 1024):
    q, k, v = (torch.randn(8, 6, time, 64, requires_grad=True) for _ in range(3))
    dy = torch.randn(8, 6, time, 64)

    def call():
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y.backward(dy)
        q.grad = k.grad = v.grad = None

    measure.case(f"time{time}", call)
