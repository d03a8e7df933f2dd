"""What the PyTorch twins share; the rule is that of ../measure.lua."""
import argparse
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--folder", default=".")
parser.add_argument("--case", default="")
args = parser.parse_args()

LEAST, SECONDS, LIMIT, WARM_UP = (3, 0.0, 1.0, 1) if args.quick else (10, 0.5, 5.0, 3)
name = os.path.basename(sys.argv[0]).removesuffix(".py")
peer = os.environ.get("BENCH_PEER", "torch")


def torch():
    """PyTorch with the number of threads set; imported here so that startup.py can do without."""
    import torch as module
    module.set_num_threads(args.threads)
    module.manual_seed(0)
    return module


def wants(name_of_case):
    return args.case in ("", name_of_case)


def autocast(bf16):
    """The scope of a forward pass in bf16, or one that does nothing."""
    import torch as module
    return module.autocast("cpu", module.bfloat16, enabled=bf16)


def quantile(figures, q):
    place = q * (len(figures) - 1)
    low = int(place)
    high = min(low + 1, len(figures) - 1)
    return figures[low] + (figures[high] - figures[low]) * (place - low)


def report(case, figures, unit="ms"):
    figures = sorted(figures)
    print('{"peer": "%s", "workload": "%s", "case": "%s", "threads": %d, "unit": "%s", '
          '"median": %.6g, "p10": %.6g, "p90": %.6g, "n": %d}'
          % (peer, name, case, args.threads, unit, quantile(figures, 0.5), quantile(figures, 0.1),
             quantile(figures, 0.9), len(figures)), flush=True)


def case(name_of_case, fn, inner=1):
    for _ in range(WARM_UP):
        fn()
    figures = []
    start = now = time.perf_counter()
    while True:
        before = now
        fn()
        now = time.perf_counter()
        figures.append((now - before) * 1e3 / inner)
        enough = len(figures) >= LEAST and now - start >= SECONDS
        if enough or now - start >= LIMIT:
            break
    report(name_of_case, figures)


def classifier(name_of_case, model, optimizer, x, y, bf16):
    from torch.nn.functional import cross_entropy

    def step():
        optimizer.zero_grad()
        with autocast(bf16):
            loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    case(name_of_case, step)


def in_turn(cases, functions):
    figures = [[] for _ in functions]
    for fn in functions:
        for _ in range(WARM_UP):
            fn()
    start = time.perf_counter()
    while len(figures[0]) < LEAST or time.perf_counter() - start < len(functions) * LIMIT:
        for mine, fn in zip(figures, functions):
            before = time.perf_counter()
            fn()
            mine.append((time.perf_counter() - before) * 1e3)
    for case_name, mine in zip(cases, figures):
        report(case_name, mine)


def peak_mb():
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
