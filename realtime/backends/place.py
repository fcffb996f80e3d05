"""Where networks run: on which GPU or none, how much of it they may take, and what drives it."""

from __future__ import annotations

from dataclasses import dataclass, field

from realtime.backends.base import UnavailableError
from realtime.backends.device import Budget, Device
from realtime.backends.gpus import Gpu, gpus
from realtime.errors import BackendError, UsageError


@dataclass(frozen=True, slots=True)
class Place:
    """Where networks may run, and how much of it they may take."""

    gpu: int | None = None
    """The GPU's number, which then must be one; None: the first, or the processor."""
    processor_only: bool = False
    budget: Budget = field(default_factory=Budget)
    """Shared by all sessions on the GPU."""
    sessions: int = 1
    """How many there will be: backends that can only limit each by itself divide the budget."""

    def allows(self, *, on_gpu: bool) -> bool:
        """Whether a backend may be used here, which runs on GPUs or does not."""
        return not on_gpu if self.processor_only else on_gpu or self.gpu is None

    @property
    def share(self) -> int | None:
        """Bytes for one session."""
        return None if self.budget.limit is None else self.budget.limit // max(self.sessions, 1)


ANYWHERE = Place()


def gpu_of(place: Place = ANYWHERE) -> Gpu:
    """The NVIDIA GPU of a place; found without loading any library. Raises BackendError when it is not there."""
    found = gpus()
    if not found:
        raise UnavailableError("there is no NVIDIA GPU here, or no driver for it: see whether nvidia-smi shows one")
    if (place.gpu or 0) >= len(found):
        raise BackendError(f"there is no GPU {place.gpu}: this machine has {len(found)}, counted from 0; name one with --device")
    return found[place.gpu or 0]


def numbered(device: str) -> list[int]:
    """The GPUs that `--device` names by number; none for "auto" and "cpu". Raises UsageError for one that is not beside others."""
    numbers = [int(number) for number in device.split(",") if number.isdecimal()]
    found = gpus()
    missing = [number for number in numbers if found and number >= len(found)]
    if missing:
        names = ", ".join(f"{index}: {gpu.name}" for index, gpu in enumerate(found))
        raise UsageError(f"there is no GPU {missing[0]} for --device: this machine has {names}")
    return numbers


def device(place: Place = ANYWHERE) -> Device:
    """A GPU by `cuda-bindings`, or by PyCUDA where only that is installed. Raises BackendError."""
    from realtime.backends import cuda, pycuda

    try:
        return cuda.CudaDevice(cuda.load(), place.gpu or 0, place.budget)
    except UnavailableError as error:
        try:
            driver = pycuda.load()
        except BackendError:
            raise error from None
    return pycuda.PyCudaDevice(driver, place.gpu or 0, place.budget)


def device_layer() -> tuple[str, str]:
    """What drives GPUs here, with its version, and a note on what it lacks. Raises BackendError when nothing does."""
    from realtime.backends import cuda, pycuda

    try:
        return f"cuda-bindings {cuda.version()}", ""
    except UnavailableError as error:
        try:
            return f"PyCUDA {pycuda.version()}", pycuda.NO_GRAPHS
        except BackendError:
            raise error from None
