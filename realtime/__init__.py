"""Real-time face swap: a camera in, a virtual camera out, the main face replaced by that of a source photo."""

__version__ = "0.1.0"
DISTRIBUTION = "realtime-faceswap"
"""What we are called in the package index; `guard` tells by it that this file is ours."""
