"""W1, twin of ../startup.lua."""
import subprocess
import sys
import time

import measure

SCRIPT = """
import torch
assert (torch.ones(1) + 1).item() == 2
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"): print(line.split()[1])
"""

times, memory = [], []
for i in range(4 if measure.args.quick else 7):
    start = time.perf_counter()
    kb = int(subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True).stdout)
    if i > 0:
        times.append((time.perf_counter() - start) * 1e3)
        memory.append(kb / 1024)
measure.report("start", times)
measure.report("memory", memory, "MB")
