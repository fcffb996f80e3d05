"""What the watermark says, and the code that carries it through damage.

The payload names no person, machine or time: it only says that a picture was modified by AI. 48 bits and a CRC-16, protected by the
convolutional code of constraint length 7 and rate 1/2 with the generators 171 and 133 (octal) that GSM, Wi-Fi and DVB also use.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

MAGIC = 0x4149
"""The letters AI."""
VERSION = 1
_AI_MODIFIED = 1

PAYLOAD_BITS = 48
_MESSAGE_BITS = PAYLOAD_BITS + 16
_MEMORY = 6
_STATES = 1 << _MEMORY
_GENERATORS = (0o171, 0o133)
CODED_BITS = 2 * (_MESSAGE_BITS + _MEMORY)


@dataclass(frozen=True, slots=True)
class Payload:
    """The content of a mark."""

    ai_modified: bool = True
    version: int = VERSION

    def to_int(self) -> int:
        """48 bits: magic (16), version (8), flags (8), 16 that are zero in this version."""
        return MAGIC << 32 | self.version << 24 | (_AI_MODIFIED if self.ai_modified else 0) << 16

    @classmethod
    def from_int(cls, value: int) -> Self | None:
        """None when the value is nobody's mark, or that of another program."""
        if value >> 32 != MAGIC or value & 0xFFFF:
            return None
        return cls(bool(value >> 16 & _AI_MODIFIED), value >> 24 & 0xFF)


def encode(value: int) -> NDArray[np.int8]:
    """(CODED_BITS,) of -1 and +1 for a 48-bit value, its CRC and the tail that brings the encoder back to its first state."""
    message = value << 16 | _crc(value)
    bits = [message >> place & 1 for place in reversed(range(_MESSAGE_BITS))] + [0] * _MEMORY
    register, coded = 0, []
    for bit in bits:
        register = (register << 1 | bit) & (2 * _STATES - 1)
        coded += [_parity(register & generator) for generator in _GENERATORS]
    return np.array(coded, np.int8) * 2 - 1


def decode(soft: NDArray[Any]) -> int | None:
    """The value most likely behind (CODED_BITS,) soft bits, positive for 1; None when its CRC is wrong."""
    message = _viterbi(soft)
    value, crc = message >> 16, message & 0xFFFF
    return value if crc == _crc(value) else None


def _crc(value: int) -> int:
    """CRC-16/CCITT (polynomial 1021, start FFFF)."""
    return binascii.crc_hqx(value.to_bytes(PAYLOAD_BITS // 8, "big"), 0xFFFF)


def _parity(value: int) -> int:
    return value.bit_count() & 1


def _viterbi(soft: NDArray[Any]) -> int:
    """Maximum-likelihood path through the trellis from state 0 to state 0; returns the message bits as a number."""
    states = np.arange(_STATES)
    before = np.stack([states >> 1, states >> 1 | _STATES >> 1])  # the two states that each may follow
    expected = np.array([[_outputs(int(state), number & 1) for number, state in enumerate(row)] for row in before])
    score = np.full(_STATES, -np.inf)
    score[0] = 0
    choices = []
    for pair in soft.reshape(-1, 2):
        candidates = score[before] + expected @ pair
        choices.append(candidates.argmax(0))
        score = candidates.max(0)
    return _trace(choices, before)


def _outputs(state: int, bit: int) -> list[int]:
    """The two coded bits, as -1 or +1, of the step that leaves `state` with `bit`."""
    return [2 * _parity((state << 1 | bit) & generator) - 1 for generator in _GENERATORS]


def _trace(choices: list[NDArray[np.int64]], before: NDArray[np.int64]) -> int:
    state, bits = 0, []
    for choice in reversed(choices):
        bits.append(state & 1)
        state = int(before[choice[state], state])
    message = 0
    for bit in reversed(bits):
        message = message << 1 | bit
    return message >> _MEMORY
