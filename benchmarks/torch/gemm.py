"""W11, twin of ../gemm.lua."""
import measure

torch = measure.torch()

SHAPES = [
    (1, 768, 768, "b"), (64, 64, 64, ""), (64, 64, 64, "b"), (256, 256, 256, ""),
    (1024, 1024, 1024, ""), (1024, 1024, 1024, "a"), (1024, 1024, 1024, "b"),
    (768, 512, 128, "b"), (768, 128, 512, ""), (512, 128, 768, "a"),
    (2048, 1536, 384, "b"), (2048, 384, 1536, ""), (1536, 384, 2048, "a"),
]

with torch.no_grad():
    for m, n, k, transposed in SHAPES:
        a = torch.randn(k, m).t() if transposed == "a" else torch.randn(m, k)
        b = torch.randn(n, k).t() if transposed == "b" else torch.randn(k, n)
        calls = max(1, 200000000 // (2 * m * n * k))

        def products():
            for _ in range(calls):
                a @ b

        name = f"{m}x{n}x{k}" + (transposed and "_" + transposed)
        measure.case(name, products, calls)
