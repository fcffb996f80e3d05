from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import realtime

CODE = """
import sys
import numpy as np
from realtime.models.swappers.mesh import MeshSwapper
from realtime.starting.kernels import jobs
from realtime.types import Box, Face, Landmarks, SourcePhoto
from realtime.vision.blend import paste

for job in jobs("mesh").values():
    job()

swapper = MeshSwapper(glasses=True)
image = np.random.default_rng(0).integers(0, 255, (360, 640, 3), np.uint8)
points = np.ascontiguousarray(swapper._topology.xyz * np.float32([9, -9, -9]) + np.float32([320, 180, 0]))
swapper.use(swapper.fit([SourcePhoto(image, None, Landmarks(points, 1.0))]))
for _ in range(14):
    patch = swapper.swap(image, Face(Landmarks(points, 1.0), Box(200, 60, 440, 300), 0))
    paste(image, patch.x, patch.y, patch.colour, patch.alpha)
swapper._glasses.worn = True
swapper._glasses.warm_up(image, points, patch)

for module in [module for name, module in sorted(sys.modules.items()) if name.startswith("realtime.")]:
    for name, value in vars(module).items():
        if hasattr(value, "signatures") and getattr(value, "__module__", "") == module.__name__ and hasattr(value._cache, "_cache_path"):
            print(module.__name__, name, len(value.signatures))
"""


def test_a_swap_calls_each_kernel_with_the_kinds_of_arguments_that_its_job_compiled_it_for() -> None:
    """Else a first frame would wait for the compiler; and two processes that compile one for two kinds overwrite each other's."""
    own = {**os.environ, "PYTHONPATH": str(Path(realtime.__file__).parents[1])}
    shown = subprocess.run([sys.executable, "-c", CODE], env=own, capture_output=True, text=True, check=True, timeout=300).stdout
    kinds = {tuple(line.split()[:2]): int(line.split()[2]) for line in shown.splitlines()}
    assert kinds[("realtime.vision.mesh.shade", "look")] == 1
    assert {kernel: count for kernel, count in kinds.items() if count > 1} == {}
